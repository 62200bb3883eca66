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

  Verdict run() {
    if (!is_load_balancer(service_)) return clear(), Verdict::done;
    if (allocator_.pools().empty()) return clear(), Verdict::failed;
    if (cluster_ips_of(service_).empty()) return clear(), Verdict::failed;
    if (requires_dual(service_) && cluster_ips_of(service_).size() < 2) {
      tell_("Warning", "not enough clusterips",
            fmt::format("Service requires dual stack but not enough clusterips {}",
                        quoted_list(cluster_ips_of(service_))));
      return clear(), Verdict::failed;
    }
    ips_ = ingress_of(service_);
    if (ips_.empty()) clear();
    check_families();
    if (const Verdict verdict = check_held(); verdict != Verdict::done) return verdict;
    add_second_family();
    if (ips_.empty()) {
      if (!allocate()) return Verdict::failed;
    }
    const Allocator::Entry* entry = allocator_.entry(asker_.name);
    if (entry == nullptr || entry->pool.empty()) {
      tell_("Warning", "InternalError", "allocated an IP that has no pool");
      return clear(), Verdict::failed;
    }
    show(entry->pool);
    return Verdict::done;
  }

 private:
  void clear() {
    allocator_.release(asker_.name);
    ips_.clear();
    if (json::object* annotations = object_at(service_, {"metadata", "annotations"})) annotations->erase(pool_output);
    make_object(service_, {"status"})["loadBalancer"] = json::object();
  }

  void show(const std::string& pool) {
    json::array ingress;
    for (const base::IpAddress& ip : ips_) ingress.push_back(json::object{{"ip", ip.to_string()}});
    make_object(service_, {"status"})["loadBalancer"] = json::object{{"ingress", std::move(ingress)}};
    make_object(service_, {"metadata", "annotations"})[pool_output] = pool;
  }

  // An ingress of other families than the cluster IPs' is dropped; one of two is fine where two are only preferred.
  void check_families() {
    if (ips_.empty()) return;
    const auto held = families_of(ips_);
    const auto wanted = families_of(cluster_ips_of(service_));
    if (!held) {
      tell_("Warning", "nolbIPsIPFamily", fmt::format("Failed to retrieve lbIPs family: {}", held.error().message));
      return clear();
    }
    if (!wanted) {
      tell_("Warning", "noclusterIPsIPFamily",
            fmt::format("Failed to retrieve clusterIPs family: {}", wanted.error().message));
      return;
    }
    const bool fits = *held == *wanted || (*wanted == Families::dual && prefers_dual(service_));
    if (!fits) clear();
  }

  // Is what it shows still legal, in the pool it asks for, and the pin?
  Verdict check_held() {
    if (ips_.empty()) return Verdict::done;
    if (auto assigned = allocator_.assign(asker_, ips_); !assigned) {
      tell_("Normal", "ClearAssignment",
            fmt::format("current IP for \"{}\" not allowed by config, will attempt for new IP assignment: {}",
                        asker_.name, assigned.error().message));
      clear();
      return Verdict::done;
    }
    const std::string pool = input(service_, "address-pool");
    if (!pool.empty() && allocator_.entry(asker_.name)->pool != pool) clear();
    auto desired = desired_of(service_);
    if (!desired) {
      tell_("Warning", "LoadBalancerFailed", "invalid requested loadbalancer IPs: " + desired.error().message);
      return Verdict::kept;
    }
    if (!ips_.empty() && !desired->empty()) {
      sort_by_text(ips_);  // the comparison sorts in place, so the order shown changes with it
      sort_by_text(*desired);
      if (ips_ != *desired) clear();
    }
    return Verdict::done;
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

Verdict converge(json::object& service, Allocator& allocator, const Tell& tell) {
  return Convergence(service, allocator, tell).run();
}

}  // namespace sandbox::metallb_model
