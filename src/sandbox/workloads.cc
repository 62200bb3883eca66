#include "sandbox/workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <set>
#include <string>
#include <vector>

#include "sandbox/server_impl.h"
#include "sandbox/workload_documents.h"

namespace sandbox {

// Looks at an object some time after it, or something it depends on, has changed. Reads the store, writes through the
// front door.
class Workloads::Controller : public std::enable_shared_from_this<Controller> {
 public:
  Controller(ApiServer& server, base::Reactor& reactor, WorkloadOptions options)
      : server_(server), reactor_(reactor), options_(options) {
    deployments_ = kind("apps", "deployments");
    sets_ = kind("apps", "replicasets");
    pods_ = kind("", "pods");
    services_ = kind("", "services");
    accounts_ = kind("", "serviceaccounts");
    nodes_ = kind("", "nodes");
    slices_ = kind("discovery.k8s.io", "endpointslices");
    endpoints_ = kind("", "endpoints");
  }

  void begin() {
    look_later(*nodes_, std::string(node_name));
    for (const Kind* each : {server_.impl().namespaces, deployments_, sets_, pods_, services_}) {
      for (const auto& [key, version] : server_.impl().storage.objects(*each)) look_later(*each, key);
    }
  }

  void on_change(const Change& change) {
    const Document document = (change.after != nullptr ? change.after : change.before)->document();
    const json::object& object = *document;
    if (change.kind == server_.impl().namespaces || change.kind == deployments_ || change.kind == services_)
      look_later(*change.kind, change.key);
    if (change.kind == accounts_ && change.after == nullptr)  // a namespace is never without its own
      look_later(*server_.impl().namespaces, Storage::key({}, text_at(object, {"metadata", "namespace"})));
    if (change.kind == nodes_ && change.after == nullptr) look_later(*nodes_, std::string(node_name));
    if (change.kind == sets_) {
      look_later(*sets_, change.key);
      look_at_owner(*deployments_, object);
    }
    if (change.kind == pods_) {
      if (change.before == nullptr) look_later(*pods_, change.key, options_.pod_start);
      look_at_owner(*sets_, object);
      const std::string ns(text_at(object, {"metadata", "namespace"}));
      for_each(*services_, ns, [&](const std::string& key, const json::object& service) {
        const json::object* selector = object_at(service, {"spec", "selector"});
        if (selector != nullptr && !selector->empty() && selects(*selector, object)) look_later(*services_, key);
      });
    }
  }

 private:
  const Kind* kind(std::string_view group, std::string_view plural) const {
    return server_.impl().find_kind(group, "v1", plural);
  }
  VersionPtr get(const Kind& kind, const std::string& key) const { return server_.impl().storage.get(kind, key); }

  template <class F>
  void for_each(const Kind& kind, const std::string& ns, F each) const {
    const auto& objects = server_.impl().storage.objects(kind);
    const std::string prefix = ns + "/";
    std::vector<std::pair<std::string, VersionPtr>> found;  // a copy: what follows may write
    for (auto it = objects.lower_bound(prefix); it != objects.end() && it->first.starts_with(prefix); ++it)
      found.emplace_back(*it);
    for (const auto& [key, version] : found) each(key, *version->document());
  }

  void look_at_owner(const Kind& owners, const json::object& object) {
    const std::string ns(text_at(object, {"metadata", "namespace"}));
    if (const json::array* references = array_at(object, {"metadata", "ownerReferences"})) {
      for (const json::value& reference : *references) {
        if (text_at(reference.get_object(), {"kind"}) == owners.name)
          look_later(owners, Storage::key(ns, text_at(reference.get_object(), {"name"})));
      }
    }
  }

  void look_later(const Kind& of, const std::string& key, std::optional<base::Duration> delay = {}) {
    if (!due_.emplace(&of, key).second) return;
    reactor_.at(reactor_.now() + delay.value_or(options_.delay), [weak = weak_from_this(), &of, key] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->due_.erase({&of, key});
      self->look(of, key);
    });
  }

  void look(const Kind& of, const std::string& key) {
    if (&of == nodes_) return look_at_node();
    const VersionPtr version = get(of, key);
    if (version == nullptr) return;
    const Document document = version->document();
    const json::object& object = *document;
    if (find(object, {"metadata", "deletionTimestamp"}) != nullptr) return;
    if (&of == server_.impl().namespaces) return look_at_namespace(key);
    if (&of == deployments_) return look_at_deployment(object);
    if (&of == sets_) return look_at_set(object);
    if (&of == pods_) return look_at_pod(object);
    if (&of == services_) return look_at_service(object);
  }

  void send(std::string_view method, const Kind& of, std::string_view ns, std::string_view name,
            const json::object& body, std::string_view user) {
    kube::Request request;
    request.method = method;
    request.path = fmt::format("{}/{}", of.group.empty() ? "/api" : "/apis", of.api_version());
    if (of.namespaced) request.path += fmt::format("/namespaces/{}", ns);
    request.path += fmt::format("/{}", of.plural);
    if (!name.empty()) request.path += fmt::format("/{}", name);
    if (!body.empty()) {
      request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
      request.body = to_text(body);
    }
    server_.handle(request, Caller{.user = user, .user_agent = "kube-controller-manager"});
  }
  static std::string controller(std::string_view name) {
    return fmt::format("system:serviceaccount:kube-system:{}-controller", name);
  }

  // A status that is as it should be is not written.
  void write_status(const Kind& of, const json::object& object, json::object status, std::string_view user) {
    const json::object* before = object_at(object, {"status"});
    if (before != nullptr && same(*before, status)) return;
    json::object next = object;
    next["status"] = std::move(status);
    send("PUT", of, text_at(object, {"metadata", "namespace"}),
         fmt::format("{}/status", text_at(object, {"metadata", "name"})), next, user);
  }

  // As a kubelet does, it registers itself.
  void look_at_node() {
    if (get(*nodes_, std::string(node_name)) == nullptr)
      send("POST", *nodes_, {}, {}, node(server_.impl().now()), fmt::format("system:node:{}", node_name));
  }

  void look_at_namespace(const std::string& ns) {
    const json::object account{
        {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", json::object{{"name", "default"}}}};
    if (get(*accounts_, Storage::key(ns, "default")) == nullptr)
      send("POST", *accounts_, ns, {}, account, controller("service-account"));
  }

  void look_at_deployment(const json::object& deployment) {
    const std::string ns(text_at(deployment, {"metadata", "namespace"}));
    const std::string_view uid = text_at(deployment, {"metadata", "uid"});
    const std::string hash = template_hash(deployment);
    const std::string name = fmt::format("{}-{}", text_at(deployment, {"metadata", "name"}), hash);
    // The present template is the latest, also one that comes back: `kubectl rollout undo` goes by these numbers.
    std::int64_t revision = 1;
    for_each(*sets_, ns, [&](const std::string&, const json::object& set) {
      if (!owned_by(set, uid)) return;
      const bool present = text_at(set, {"metadata", "name"}) == name;
      revision = std::max(revision, revision_of(set) + (present ? 0 : 1));
    });
    const json::object revised{
        {"metadata", json::object{{"annotations", json::object{{revision_annotation, std::to_string(revision)}}}}}};
    if (const VersionPtr set = get(*sets_, Storage::key(ns, name)); set == nullptr) {
      send("POST", *sets_, ns, {}, replica_set_for(deployment, hash, revision), controller("deployment"));
    } else if (revision_of(*set->document()) != revision) {
      send("PATCH", *sets_, ns, name, revised, controller("deployment"));
    }
    if (revision_of(deployment) != revision) {  // the next look sees it
      send("PATCH", *deployments_, ns, text_at(deployment, {"metadata", "name"}), revised, controller("deployment"));
      return;
    }
    std::int64_t replicas = 0;
    std::int64_t ready = 0;
    for_each(*sets_, ns, [&](const std::string&, const json::object& set) {
      if (!owned_by(set, uid)) return;
      const std::string_view set_name = text_at(set, {"metadata", "name"});
      const std::int64_t size = set_name == name ? int_at(deployment, {"spec", "replicas"}) : 0;
      if (int_at(set, {"spec", "replicas"}) != size)
        send("PATCH", *sets_, ns, set_name, {{"spec", json::object{{"replicas", size}}}}, controller("deployment"));
      if (set_name != name) return;
      replicas = int_at(set, {"status", "replicas"});
      ready = int_at(set, {"status", "readyReplicas"});
    });
    write_status(*deployments_, deployment, deployment_status(deployment, replicas, ready, hash, server_.impl().now()),
                 controller("deployment"));
  }

  void look_at_set(const json::object& set) {
    const std::string ns(text_at(set, {"metadata", "namespace"}));
    const std::string_view uid = text_at(set, {"metadata", "uid"});
    std::vector<std::string> own;
    std::int64_t ready = 0;
    for_each(*pods_, ns, [&](const std::string&, const json::object& pod) {
      if (!owned_by(pod, uid) || find(pod, {"metadata", "deletionTimestamp"}) != nullptr) return;
      own.emplace_back(text_at(pod, {"metadata", "name"}));
      if (is_ready(pod)) ++ready;
    });
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(int_at(set, {"spec", "replicas"}), 0));
    constexpr std::size_t most = 200;  // in one look; changes bring the next
    for (std::size_t i = own.size(); i < std::min(wanted, own.size() + most); ++i)
      send("POST", *pods_, ns, {}, pod_for(set), controller("replicaset"));
    for (std::size_t i = wanted; i < own.size(); ++i) send("DELETE", *pods_, ns, own[i], {}, controller("replicaset"));
    write_status(*sets_, set, replica_set_status(set, static_cast<std::int64_t>(own.size()), ready),
                 controller("replicaset"));
  }

  void look_at_pod(const json::object& pod) {
    const std::string_view chosen = text_at(pod, {"spec", "nodeName"});
    if ((!chosen.empty() && chosen != node_name) || text_at(pod, {"status", "phase"}) != "Pending") return;
    // a node takes it: no client can write this, so it does not go through the front door
    ++last_ip_;
    const std::string ip = fmt::format("10.244.{}.{}", last_ip_ / 250, last_ip_ % 250 + 2);
    server_.put_raw(to_text(running(pod, ip, server_.impl().now())));
  }

  void look_at_service(const json::object& service) {
    const std::string ns(text_at(service, {"metadata", "namespace"}));
    const std::string name(text_at(service, {"metadata", "name"}));
    const json::object* selector = object_at(service, {"spec", "selector"});
    if (selector == nullptr || selector->empty() || text_at(service, {"spec", "type"}) == "ExternalName") return;
    std::vector<Document> held;
    Documents serving;
    for_each(*pods_, ns, [&](const std::string& key, const json::object& pod) {
      if (!selects(*selector, pod) || text_at(pod, {"status", "podIP"}).empty()) return;
      if (const VersionPtr version = get(*pods_, key); version != nullptr) {
        held.push_back(version->document());
        serving.push_back(held.back().get());
      }
    });
    if (const json::array* families = array_at(service, {"spec", "ipFamilies"})) {
      for (const json::value& family : *families)
        write_slice(ns, name, slice_for(service, view(family.get_string()), serving));
    }
    json::object endpoints = endpoints_for(service, serving);
    const VersionPtr before = get(*endpoints_, Storage::key(ns, name));
    if (before == nullptr) return send("POST", *endpoints_, ns, {}, endpoints, controller("endpoint"));
    const Document known = before->document();
    const json::value* was = known->if_contains("subsets");
    const json::value* is = endpoints.if_contains("subsets");
    if ((was == nullptr) == (is == nullptr) && (is == nullptr || same(*was, *is))) return;
    send("PUT", *endpoints_, ns, name, endpoints, controller("endpoint"));
  }

  void write_slice(const std::string& ns, const std::string& service, json::object slice) {
    bool present = false;
    for_each(*slices_, ns, [&](const std::string&, const json::object& other) {
      if (text_at(other, {"metadata", "labels", "kubernetes.io/service-name"}) != service ||
          text_at(other, {"addressType"}) != text_at(slice, {"addressType"}) ||
          text_at(other, {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}).empty()) {
        return;
      }
      present = true;
      const auto equal = [&](std::string_view field) {
        const json::value* is = other.if_contains(field);
        return same(is == nullptr || is->is_null() ? json::value(json::array()) : *is, slice.at(field));
      };
      if (equal("endpoints") && equal("ports")) return;
      json::object next = other;
      next["endpoints"] = slice["endpoints"];
      next["ports"] = slice["ports"];
      send("PUT", *slices_, ns, text_at(other, {"metadata", "name"}), next, controller("endpointslice"));
    });
    if (!present) send("POST", *slices_, ns, {}, slice, controller("endpointslice"));
  }

  ApiServer& server_;
  base::Reactor& reactor_;
  WorkloadOptions options_;
  const Kind* deployments_ = nullptr;
  const Kind* sets_ = nullptr;
  const Kind* pods_ = nullptr;
  const Kind* services_ = nullptr;
  const Kind* accounts_ = nullptr;
  const Kind* nodes_ = nullptr;
  const Kind* slices_ = nullptr;
  const Kind* endpoints_ = nullptr;
  std::set<std::pair<const Kind*, std::string>> due_;
  int last_ip_ = 0;
};

Workloads::Workloads(ApiServer& server, base::Reactor& reactor, WorkloadOptions options)
    : controller_(std::make_shared<Controller>(server, reactor, options)) {
  server.impl().storage.observe([weak = std::weak_ptr<Controller>(controller_)](const Change& change) {
    if (const auto controller = weak.lock()) controller->on_change(change);
  });
  controller_->begin();
}

Workloads::~Workloads() = default;

}  // namespace sandbox
