#include "sandbox/metallb.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sandbox/follower.h"
#include "sandbox/metadata.h"
#include "sandbox/metallb_converge.h"
#include "sandbox/metallb_service.h"

namespace sandbox {
namespace {

using namespace metallb_model;

constexpr std::string_view all_services;  // the queue's name for a full pass
constexpr base::Duration first_backoff = std::chrono::milliseconds(5);
constexpr base::Duration last_backoff = std::chrono::seconds(1000);

std::string object_path(std::string_view collection, const json::object& object) {
  return fmt::format("{}/namespaces/{}/{}/{}", collection.substr(0, collection.rfind('/')),
                     text_at(object, {"metadata", "namespace"}), collection.substr(collection.rfind('/') + 1),
                     text_at(object, {"metadata", "name"}));
}

kube::Request request_of(std::string_view method, std::string path, const json::object& body) {
  kube::Request request;
  request.method = method;
  request.path = std::move(path);
  request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  request.body = to_text(body);
  return request;
}

// What a status update of MetalLB's would change.
bool same_outcome(const json::object& a, const json::object& b) {
  const auto part = [](const json::object& from, std::initializer_list<std::string_view> path) {
    const json::value* value = find(from, path);
    return value == nullptr ? json::value(json::object()) : *value;
  };
  return same(part(a, {"status", "loadBalancer"}), part(b, {"status", "loadBalancer"})) &&
         same(part(a, {"metadata", "annotations"}), part(b, {"metadata", "annotations"}));
}

}  // namespace

class MetalLb::Controller : public std::enable_shared_from_this<Controller> {
 public:
  Controller(base::Reactor& reactor, kube::Transport& transport, MetalLbOptions options)
      : reactor_(reactor),
        transport_(transport),
        options_(std::move(options)),
        random_(options_.seed),
        allocator_(random_, options_.version == MetalLbOptions::Version::v0_15) {}

  void start() {
    const auto weak = weak_from_this();
    const auto follow = [&](std::string path, void (Controller::*changed)(const std::string&)) {
      return std::make_unique<Follower>(reactor_, transport_, std::move(path), [weak, changed](const std::string& key) {
        if (const auto self = weak.lock()) ((*self).*changed)(key);
      });
    };
    services_ = follow("/api/v1/services", &Controller::service_changed);
    namespaces_ = follow("/api/v1/namespaces", &Controller::namespace_changed);
    pools_ =
        follow("/apis/metallb.io/v1beta1/namespaces/" + options_.ns + "/ipaddresspools", &Controller::pool_changed);
  }

  bool loaded() const { return loaded_; }
  bool stale() const { return stale_; }
  bool idle() const { return queue_.empty() && !busy_ && waiting_.empty(); }
  int passes() const { return passes_; }
  void hold(bool held) {
    held_ = held;
    take_next();
  }

 private:
  struct Result {
    bool again = false;  // all Services must be looked at
    bool error = false;  // a write failed
  };
  using Done = std::move_only_function<void(Result)>;

  // --- what wakes it
  void service_changed(const std::string& key) {
    if (!key.empty()) enqueue(key);
  }

  // Of namespaces it looks at labels, of pools at what makes a new generation.
  void namespace_changed(const std::string& key) {
    const Follower::Document ns = namespaces_->get(key);
    const json::object* labels = ns == nullptr ? nullptr : object_at(*ns, {"metadata", "labels"});
    config_changed(key, ns == nullptr ? "gone" : labels == nullptr ? "" : to_text(*labels));
  }
  void pool_changed(const std::string& key) {
    const Follower::Document pool = pools_->get(key);
    config_changed(key, pool == nullptr ? "gone"
                                        : fmt::format("{} {}", text_at(*pool, {"metadata", "uid"}),
                                                      int_at(*pool, {"metadata", "generation"})));
  }

  // `what`: a namespace ("a") or a pool ("metallb-system/p"), "" when a first list is empty.
  void config_changed(const std::string& what, std::string looks) {
    std::string& before = config_looks_[what];
    if (!what.empty() && before == looks) return;
    before = std::move(looks);
    if (!pools_ || !namespaces_ || !pools_->synced() || !namespaces_->synced()) return;
    std::vector<const json::object*> pools;
    std::vector<const json::object*> namespaces;
    for (const auto& [key, pool] : pools_->documents()) pools.push_back(pool.get());
    for (const auto& [key, ns] : namespaces_->documents()) namespaces.push_back(ns.get());
    auto parsed = parse_pools(pools, namespaces);
    stale_ = !parsed;
    if (!parsed) return;
    // 0.15 takes what it has read for another configuration than the one in use when that has an IPv4 network
    const bool same = configured_ && *parsed == allocator_.pools();
    const auto has_network = [](const auto& pool) { return pool.second.has_v4_network; };
    if (same && !(allocator_.is_v0_15() && std::ranges::any_of(*parsed, has_network))) return;
    configured_ = true;
    allocator_.set_pools(std::move(*parsed));
    enqueue(std::string(all_services));
  }

  void enqueue(const std::string& key) {
    if (std::ranges::find(queue_, key) == queue_.end()) queue_.push_back(key);
    take_next();
  }

  void enqueue_later(const std::string& key) {
    base::Duration& backoff = backoff_[key];
    backoff = backoff.count() == 0 ? first_backoff : std::min(backoff * 2, last_backoff);
    if (!waiting_.insert(key).second) return;
    reactor_.at(reactor_.now() + backoff, [weak = weak_from_this(), key] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->waiting_.erase(key);
      self->enqueue(key);
    });
  }

  // --- the one worker
  void take_next() {
    if (busy_ || held_ || queue_.empty() || !services_->synced()) return;
    busy_ = true;
    const std::string key = std::move(queue_.front());
    queue_.pop_front();
    reactor_.at(reactor_.now() + options_.work, [weak = weak_from_this(), key] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      if (key.empty()) return self->full_pass();
      if (!self->loaded_) return self->finish(key, {});
      self->look_at(key, [weak, key](Result result) {
        if (const auto still = weak.lock()) still->finish(key, result);
      });
    });
  }

  void finish(const std::string& key, Result result) {
    busy_ = false;
    if (result.error) {
      enqueue_later(key);
    } else {
      backoff_.erase(key);
    }
    if (result.again) enqueue(std::string(all_services));
    take_next();
  }

  // Those that have addresses go first, so that they keep them; otherwise in no particular order.
  void full_pass() {
    if (!configured_) return finish(std::string(all_services), {});
    ++passes_;
    std::vector<std::pair<std::string, std::size_t>> order;
    for (const auto& [key, service] : services_->documents()) {
      const json::array* ingress = array_at(*service, {"status", "loadBalancer", "ingress"});
      order.emplace_back(key, ingress == nullptr ? 0 : ingress->size());
    }
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    std::ranges::stable_sort(order, std::greater<>(), &std::pair<std::string, std::size_t>::second);
    auto rest = std::make_shared<std::deque<std::string>>();
    for (auto& [key, size] : order) rest->push_back(std::move(key));
    continue_pass(rest, {});
  }

  void continue_pass(const std::shared_ptr<std::deque<std::string>>& rest, Result so_far) {
    if (rest->empty()) {
      busy_ = false;
      if (so_far.again || so_far.error) {
        enqueue_later(std::string(all_services));
      } else {
        loaded_ = true;
        backoff_.erase(std::string(all_services));
      }
      return take_next();
    }
    const std::string key = std::move(rest->front());
    rest->pop_front();
    // a write's answer, or a step of work, separates one Service from the next
    const auto next = [weak = weak_from_this(), rest, so_far](Result result) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      const Result sum{so_far.again || result.again, so_far.error || result.error};
      self->reactor_.post([weak, rest, sum] {
        if (const auto still = weak.lock()) still->continue_pass(rest, sum);
      });
    };
    if (services_->get(key) == nullptr) return next({});
    look_at(key, next);
  }

  // --- one Service
  void look_at(const std::string& key, Done done) {
    const Follower::Document cached = services_->get(key);
    if (cached == nullptr) return done({.again = allocator_.release(key)});
    if (text_at(*cached, {"spec", "loadBalancerClass"}) != options_.lb_class) return done({});
    const auto remembered = [&]() -> std::optional<Allocator::Entry> {
      const Allocator::Entry* entry = allocator_.entry(key);
      return entry == nullptr ? std::nullopt : std::optional(*entry);
    };
    const std::optional<Allocator::Entry> before = remembered();
    json::object service = *cached;
    converge(service, allocator_, [&](std::string_view type, std::string_view reason, const std::string& message) {
      tell(*cached, type, reason, message);
    });
    const std::optional<Allocator::Entry> after = remembered();
    Result result;
    result.again = (before ? before->sharing.text() : "") != (after ? after->sharing.text() : "");
    if (same_outcome(service, *cached)) return done(result);
    for (const std::string& deprecated : deprecated_keys(*cached)) {
      tell(*cached, "Warning", "deprecatedAnnotation", "Service uses deprecated annotation " + deprecated);
    }
    const bool freed = before && !after && allocator_.in_a_pool(before->ips);
    kube::Request request = request_of("PUT", object_path("/api/v1/services", service) + "/status", service);
    transport_.send(std::move(request),
                    [done = std::move(done), result, freed](kube::Answer answer) mutable -> base::Task {
                      const bool written = answer && answer->status == 200;
                      result = {.again = written && (result.again || freed), .error = !written};
                      return [done = std::move(done), result]() mutable { done(result); };
                    });
  }

  // --- events: repeats are counted, and there are only so many at once about one object
  void tell(const json::object& service, std::string_view type, std::string_view reason, const std::string& message) {
    if (!options_.events) return;
    const std::string uid(text_at(service, {"metadata", "uid"}));
    Budget& budget = budgets_.try_emplace(uid, Budget{.left = options_.event_burst}).first->second;
    const auto refilled = (reactor_.now() - budget.since) / std::chrono::minutes(5);
    budget.left = std::min<std::int64_t>(options_.event_burst, budget.left + refilled);
    budget.since += refilled * base::Duration(std::chrono::minutes(5));
    if (budget.left == 0) return;
    --budget.left;
    const std::string identity = fmt::format("{}\n{}\n{}\n{}", uid, type, reason, message);
    Told& told = told_[identity];
    const std::string ns(text_at(service, {"metadata", "namespace"}));
    const std::string when =
        timestamp(std::chrono::floor<std::chrono::seconds>(reactor_.wall()).time_since_epoch().count());
    const std::string collection = fmt::format("/api/v1/namespaces/{}/events", ns);
    if (++told.count > 1) {
      return forget_answer(
          request_of("PATCH", collection + "/" + told.name, {{"count", told.count}, {"lastTimestamp", when}}));
    }
    told.name = fmt::format("{}.{:016x}", text_at(service, {"metadata", "name"}), random_.next());
    forget_answer(request_of("POST", collection,
                             {{"apiVersion", "v1"},
                              {"kind", "Event"},
                              {"metadata", {{"name", told.name}, {"namespace", ns}}},
                              {"involvedObject",
                               {{"apiVersion", "v1"},
                                {"kind", "Service"},
                                {"namespace", ns},
                                {"name", text_at(service, {"metadata", "name"})},
                                {"uid", uid},
                                {"resourceVersion", text_at(service, {"metadata", "resourceVersion"})}}},
                              {"type", type},
                              {"reason", reason},
                              {"message", message},
                              {"source", {{"component", "metallb-controller"}}},
                              {"firstTimestamp", when},
                              {"lastTimestamp", when},
                              {"count", 1}}));
  }

  void forget_answer(kube::Request request) {
    transport_.send(std::move(request), [](const kube::Answer&) -> base::Task { return {}; });
  }

  struct Budget {
    std::int64_t left = 0;
    base::MonoTime since{};
  };
  struct Told {
    std::string name;
    std::int64_t count = 0;
  };

  base::Reactor& reactor_;
  kube::Transport& transport_;
  MetalLbOptions options_;
  base::Random random_;
  Allocator allocator_;
  std::unique_ptr<Follower> services_;
  std::unique_ptr<Follower> namespaces_;
  std::unique_ptr<Follower> pools_;
  std::map<std::string, std::string> config_looks_;  // of namespaces and pools, as they were when last read
  std::deque<std::string> queue_;
  std::set<std::string> waiting_;
  std::map<std::string, base::Duration> backoff_;
  std::map<std::string, Budget> budgets_;
  std::map<std::string, Told> told_;
  bool configured_ = false;
  bool stale_ = false;
  bool loaded_ = false;
  bool busy_ = false;
  bool held_ = false;
  int passes_ = 0;
};

MetalLb::MetalLb(base::Reactor& reactor, kube::Transport& transport, MetalLbOptions options)
    : controller_(std::make_shared<Controller>(reactor, transport, std::move(options))) {
  controller_->start();
}

MetalLb::~MetalLb() = default;

bool MetalLb::loaded() const { return controller_->loaded(); }
bool MetalLb::stale_config() const { return controller_->stale(); }
bool MetalLb::idle() const { return controller_->idle(); }
void MetalLb::hold(bool held) { controller_->hold(held); }
int MetalLb::full_passes() const { return controller_->passes(); }

void start_metallb(World& world, MetalLbOptions options, const std::string& name) {
  world.start(name, "metallb", [options](Habitat& habitat) {
    MetalLbOptions own = options;
    own.seed ^= habitat.seed;
    return std::make_unique<MetalLb>(habitat.reactor, habitat.transport, std::move(own));
  });
}

}  // namespace sandbox
