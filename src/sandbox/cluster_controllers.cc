#include "sandbox/cluster_controllers.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sandbox/metadata.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

std::string object_path(const Kind& kind, std::string_view ns, std::string_view name) {
  std::string path = kind.group.empty() ? "/api/" : "/apis/";
  path += kind.api_version();
  if (kind.namespaced) path += fmt::format("/namespaces/{}", ns);
  return path + fmt::format("/{}/{}", kind.plural, name);
}

kube::Request request_of(std::string_view method, std::string path, const json::object& body) {
  kube::Request request;
  request.method = method;
  request.path = std::move(path);
  request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  request.body = to_text(body);
  return request;
}

struct Owner {
  std::string uid;
  bool blocks = false;
};

std::vector<Owner> owners_of(const json::object& object) {
  std::vector<Owner> owners;
  if (const json::array* references = array_at(object, {"metadata", "ownerReferences"})) {
    for (const json::value& reference : *references) {
      const json::object& owner = reference.get_object();
      owners.push_back({std::string(text_at(owner, {"uid"})), bool_at(owner, {"blockOwnerDeletion"})});
    }
  }
  return owners;
}

}  // namespace

// Knows every object by uid and every dependent by its owners' uids; looks at a dependent when it appears or an owner
// goes.
class ClusterControllers::GarbageCollector : public std::enable_shared_from_this<GarbageCollector> {
 public:
  GarbageCollector(ApiServer& server, base::Reactor& reactor, base::Duration delay)
      : server_(server), reactor_(reactor), delay_(delay) {}

  void on_change(const Change& change) {
    if (change.before != nullptr) forget(change);
    if (change.after != nullptr) learn(change);
    const Document document = (change.after != nullptr ? change.after : change.before)->document();
    const json::object& object = *document;
    const std::string uid(text_at(object, {"metadata", "uid"}));
    if (change.after == nullptr) {
      // dependents of what is gone
      for (const std::string& dependent : dependents_[uid]) look_later(dependent);
      for (const Owner& owner : owners_of(object)) look_later(owner.uid);  // it may wait for this one
      return;
    }
    if (!owners_of(object).empty() || waits(object)) look_later(uid);
  }

 private:
  struct Place {
    const Kind* kind = nullptr;
    std::string key;
  };

  static bool deleting_with(const json::object& object, std::string_view finalizer) {
    const auto finalizers = finalizers_of(object);
    return find(object, {"metadata", "deletionTimestamp"}) != nullptr &&
           std::ranges::find(finalizers, finalizer) != finalizers.end();
  }
  // Its deletion is up to this controller.
  static bool waits(const json::object& object) {
    return deleting_with(object, "foregroundDeletion") || deleting_with(object, "orphan");
  }

  void learn(const Change& change) {
    const Document document = change.after->document();
    const std::string uid(text_at(*document, {"metadata", "uid"}));
    places_[uid] = {change.kind, change.key};
    for (const Owner& owner : owners_of(*document)) dependents_[owner.uid].insert(uid);
  }

  void forget(const Change& change) {
    const Document document = change.before->document();
    const std::string uid(text_at(*document, {"metadata", "uid"}));
    places_.erase(uid);
    for (const Owner& owner : owners_of(*document)) {
      const auto found = dependents_.find(owner.uid);
      if (found == dependents_.end()) continue;
      found->second.erase(uid);
      if (found->second.empty()) dependents_.erase(found);
    }
  }

  void look_later(const std::string& uid) {
    if (!due_.insert(uid).second) return;
    reactor_.at(reactor_.now() + delay_, [weak = weak_from_this(), uid] {
      if (const auto self = weak.lock()) {
        self->due_.erase(uid);
        self->look(uid);
      }
    });
  }

  void look(const std::string& uid) {
    const auto place = places_.find(uid);
    if (place == places_.end()) return;
    const Place at = place->second;
    const VersionPtr version = server_.impl().storage.get(*at.kind, at.key);
    if (version == nullptr) return;
    const Document document = version->document();
    const json::object& object = *document;
    if (waits(object)) return finish_deletion(at, uid, object);
    const std::vector<Owner> owners = owners_of(object);
    if (owners.empty() || find(object, {"metadata", "deletionTimestamp"}) != nullptr) return;
    std::vector<std::string> gone;
    bool solid = false;
    for (const Owner& owner : owners) {
      const auto found = places_.find(owner.uid);
      if (found == places_.end()) {
        gone.push_back(owner.uid);
      } else {
        const VersionPtr holder = server_.impl().storage.get(*found->second.kind, found->second.key);
        const bool foreground = holder != nullptr && deleting_with(*holder->document(), "foregroundDeletion");
        solid = solid || !foreground;
        if (foreground) continue;
      }
    }
    if (!solid)
      return send("DELETE", at, object, {{"preconditions", {{"uid", uid}}}, {"propagationPolicy", "Background"}});
    if (!gone.empty()) drop_references(at, object, gone);
  }

  void drop_references(const Place& at, const json::object& object, const std::vector<std::string>& uids) {
    json::array kept;
    for (const json::value& reference : *array_at(object, {"metadata", "ownerReferences"})) {
      if (std::ranges::find(uids, text_at(reference.get_object(), {"uid"})) == uids.end()) kept.push_back(reference);
    }
    send("PATCH", at, object,
         {{"metadata",
           {{"resourceVersion", text_at(object, {"metadata", "resourceVersion"})},
            {"ownerReferences", std::move(kept)}}}});
  }

  // An owner deleted with propagation Foreground or Orphan: its finalizer goes when its dependents are dealt with.
  void finish_deletion(const Place& at, const std::string& uid, const json::object& object) {
    std::vector<std::string> finalizers = finalizers_of(object);
    const bool orphan = std::ranges::find(finalizers, "orphan") != finalizers.end();
    bool blocked = false;
    const auto dependents = dependents_.find(uid);
    if (dependents != dependents_.end()) {
      for (const std::string& dependent : std::set(dependents->second)) {
        const auto found = places_.find(dependent);
        if (found == places_.end()) continue;
        const VersionPtr version = server_.impl().storage.get(*found->second.kind, found->second.key);
        if (version == nullptr) continue;
        if (orphan) {
          drop_references(found->second, *version->document(), {uid});
          continue;
        }
        look_later(dependent);
        for (const Owner& owner : owners_of(*version->document()))
          blocked = blocked || (owner.uid == uid && owner.blocks);
      }
    }
    if (blocked) return;
    std::erase(finalizers, orphan ? "orphan" : "foregroundDeletion");
    json::array kept;
    for (const std::string& finalizer : finalizers) kept.emplace_back(finalizer);
    send("PATCH", at, object,
         {{"metadata",
           {{"resourceVersion", text_at(object, {"metadata", "resourceVersion"})}, {"finalizers", std::move(kept)}}}});
  }

  void send(std::string_view method, const Place& at, const json::object& object, const json::object& body) {
    const std::string path =
        object_path(*at.kind, text_at(object, {"metadata", "namespace"}), text_at(object, {"metadata", "name"}));
    (void)server_.handle(request_of(method, path, body), "system:serviceaccount:kube-system:generic-garbage-collector");
  }

  ApiServer& server_;
  base::Reactor& reactor_;
  base::Duration delay_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::set<std::string>> dependents_;
  std::set<std::string> due_;
};

// Empties namespaces that are being deleted and releases them when they are empty.
class ClusterControllers::NamespaceController : public std::enable_shared_from_this<NamespaceController> {
 public:
  NamespaceController(ApiServer& server, base::Reactor& reactor, const ClusterControllerOptions& options)
      : server_(server), reactor_(reactor), delay_(options.namespace_delay), retry_(options.namespace_retry) {}

  void on_change(const Change& change) {
    if (change.kind != server_.impl().namespaces || change.after == nullptr) return;
    const Document document = change.after->document();
    if (text_at(*document, {"metadata", "deletionTimestamp"}).empty()) return;
    if (find(*document, {"spec", "finalizers"}) == nullptr) return;
    if (due_.insert(change.key).second) arm(change.key, delay_);
  }

 private:
  void arm(const std::string& ns, base::Duration delay) {
    reactor_.at(reactor_.now() + delay, [weak = weak_from_this(), ns] {
      if (const auto self = weak.lock()) self->empty(ns);
    });
  }

  void empty(const std::string& ns) {
    ApiServer::Impl& impl = server_.impl();
    const VersionPtr version = impl.storage.get(*impl.namespaces, ns);
    if (version == nullptr || text_at(*version->document(), {"metadata", "deletionTimestamp"}).empty()) {
      due_.erase(ns);
      return;
    }
    bool left = false;
    std::vector<std::shared_ptr<Kind>> kinds;
    for (const auto& [key, kind] : impl.kinds) kinds.push_back(kind);
    for (const auto& kind : kinds) {
      if (!kind->namespaced || kind->storage != nullptr) continue;
      std::vector<std::string> names;
      const Storage::Objects& objects = impl.storage.objects(*kind);
      for (auto it = objects.lower_bound(ns + "/"); it != objects.end() && it->first.starts_with(ns + "/"); ++it) {
        names.push_back(it->first.substr(ns.size() + 1));
      }
      for (const std::string& name : names) {
        const VersionPtr object = impl.storage.get(*kind, Storage::key(ns, name));
        if (object == nullptr) continue;
        if (text_at(*object->document(), {"metadata", "deletionTimestamp"}).empty()) {
          call("DELETE", object_path(*kind, ns, name), {{"propagationPolicy", "Background"}});
        }
        left = left || impl.storage.get(*kind, Storage::key(ns, name)) != nullptr;
      }
    }
    if (left) return arm(ns, retry_);
    due_.erase(ns);
    json::object released = *version->document();
    make_object(released, {"spec"})["finalizers"] = json::array();
    call("PUT", "/api/v1/namespaces/" + ns + "/finalize", released);
  }

  void call(std::string_view method, std::string path, const json::object& body) {
    (void)server_.handle(request_of(method, std::move(path), body),
                         "system:serviceaccount:kube-system:namespace-controller");
  }

  ApiServer& server_;
  base::Reactor& reactor_;
  base::Duration delay_;
  base::Duration retry_;
  std::set<std::string> due_;
};

ClusterControllers::ClusterControllers(ApiServer& server, base::Reactor& reactor, ClusterControllerOptions options)
    : garbage_(std::make_shared<GarbageCollector>(server, reactor, options.collect_delay)),
      namespaces_(std::make_shared<NamespaceController>(server, reactor, options)) {
  server.impl().storage.observe(
      [garbage = std::weak_ptr(garbage_), namespaces = std::weak_ptr(namespaces_)](const Change& change) {
        if (const auto collector = garbage.lock()) collector->on_change(change);
        if (const auto controller = namespaces.lock()) controller->on_change(change);
      });
}

ClusterControllers::~ClusterControllers() = default;

}  // namespace sandbox
