#include "sandbox/metallb_converge.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <optional>

#include "sandbox/metallb_service.h"

namespace sandbox::metallb_model {
namespace {

using Ips = std::vector<base::IpAddress>;

class Convergence {
 public:
  Convergence(json::object& service, Allocator& allocator, const Tell& tell)
      : service_(service), allocator_(allocator), tell_(tell), asker_(asker_of(service)) {
    // a copy: changing the document may move what it points to
    if (asker_.labels != nullptr) asker_.labels = &labels_.emplace(*asker_.labels);
  }

  void run() {
    if (!is_load_balancer(service_) || allocator_.pools().empty() || cluster_ips_of(service_).empty()) return clear();
    if (requires_dual(service_) && cluster_ips_of(service_).size() < 2) {
      tell_("Warning", "not enough clusterips",
            fmt::format("Service requires dual stack but not enough clusterips {}",
                        plain_list(cluster_ips_of(service_))));
      return clear();
    }
    ips_ = ingress_of(service_);
    if (ips_.empty()) clear();
    check_families();
    if (!check_held()) return;
    add_second_family();
    if (ips_.empty() && !allocate()) return;
    show(allocator_.entry(asker_.name)->pool);
  }

 private:
  void clear() {
    allocator_.release(asker_.name);
    ips_.clear();
    if (json::object* annotations = object_at(service_, {"metadata", "annotations"})) {
      annotations->erase(pool_output);
      drop_old_output(*annotations);
    }
    make_object(service_, {"status"})["loadBalancer"] = json::object();
  }

  void show(const std::string& pool) {
    json::array ingress;
    for (const base::IpAddress& ip : ips_) ingress.push_back(json::object{{"ip", ip.to_string()}});
    make_object(service_, {"status"})["loadBalancer"] = json::object{{"ingress", std::move(ingress)}};
    json::object& annotations = make_object(service_, {"metadata", "annotations"});
    annotations[pool_output] = pool;
    drop_old_output(annotations);
  }
  // What a MetalLB before 0.14.9 may have left behind.
  void drop_old_output(json::object& annotations) {
    if (!allocator_.is_v0_15()) annotations.erase(old_pool_output);
  }

  // An ingress of other families than the cluster IPs' is dropped; one of two is fine where two are only preferred.
  void check_families() {
    if (ips_.empty()) return;
    const auto held = families_of(ips_);
    if (!held) {
      tell_("Warning", "nolbIPsIPFamily",
            fmt::format("Failed to retrieve LBIPs IPFamily for {}: {}", quoted_list(ips_), held.error().message));
      return clear();
    }
    const bool fits = *held == asker_.families || (asker_.families == Families::dual && prefers_dual(service_));
    if (!fits) clear();
  }

  // Is what it shows still legal, in the pool it asks for, and the pin? False if the pin cannot be read: then it keeps
  // what it has, unless that was dropped for another reason.
  bool check_held() {
    if (ips_.empty()) return true;
    if (auto assigned = allocator_.assign(asker_, ips_); !assigned) {
      tell_("Normal", "ClearAssignment",
            fmt::format("current IP for \"{}\" not allowed by config, will attempt for new IP assignment: {}",
                        asker_.name, assigned.error().message));
      clear();
    }
    const std::string pool = input(service_, "address-pool");
    if (!ips_.empty() && !pool.empty() && allocator_.entry(asker_.name)->pool != pool) clear();
    auto desired = desired_of(service_);
    if (!desired) {
      tell_("Warning", "LoadBalancerFailed", "invalid requested loadbalancer IPs: " + desired.error().message);
      return false;
    }
    if (!ips_.empty() && !desired->empty()) {
      sort_by_text(ips_);  // the comparison sorts in place, so the order shown changes with it
      sort_by_text(*desired);
      if (ips_ != *desired) clear();
    }
    return true;
  }

  void add_second_family() {
    if (ips_.size() != 1 || !prefers_dual(service_)) return;
    if (auto other = allocator_.allocate_other(asker_, ips_[0]); other) {
      ips_.push_back(*other);
      tell_("Normal", "IPAllocated", fmt::format("Assigned additional IP \"{}\"", other->to_string()));
    } else {
      tell_("Normal", "AdditionalAssignFailed",
            "cannot assign additional IP in PreferDualStack: " + other.error().message);
    }
  }

  base::Result<Ips> choose() {
    const auto desired = desired_of(service_);
    if (!desired) return std::unexpected(desired.error());
    const std::string pool = input(service_, "address-pool");
    if (desired->empty()) return pool.empty() ? allocator_.allocate(asker_) : allocator_.allocate_from(asker_, pool);
    if (families_of(*desired).value_or(Families::none) != asker_.families) {
      return base::fail(fmt::format("requested loadBalancer IP(s) {} does not match the ipFamily of the service",
                                    quoted_list(*desired)));
    }
    if (auto assigned = allocator_.assign(asker_, *desired); !assigned) return std::unexpected(assigned.error());
    if (!pool.empty() && allocator_.entry(asker_.name)->pool != pool) {
      allocator_.release(asker_.name);
      return base::fail(fmt::format("requested loadBalancer IP(s) {} is not compatible with requested address pool {}",
                                    quoted_list(*desired), pool));
    }
    return *desired;
  }

  bool allocate() {
    auto chosen = choose();
    if (!chosen) {
      tell_("Warning", "AllocationFailed",
            fmt::format("Failed to allocate IP for \"{}\": {}", asker_.name, chosen.error().message));
      return false;
    }
    ips_ = std::move(*chosen);
    tell_("Normal", "IPAllocated", fmt::format("Assigned IP {}", quoted_list(ips_)));
    return true;
  }

  json::object& service_;
  Allocator& allocator_;
  const Tell& tell_;
  Asker asker_;
  std::optional<json::object> labels_;
  Ips ips_;
};

}  // namespace

void converge(json::object& service, Allocator& allocator, const Tell& tell) {
  Convergence(service, allocator, tell).run();
}

}  // namespace sandbox::metallb_model
