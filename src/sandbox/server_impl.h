// The server's inside, shared by the files that implement it. Internal to the sandbox.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "sandbox/api_server.h"
#include "sandbox/apply/managers.h"
#include "sandbox/failure.h"
#include "sandbox/json.h"
#include "sandbox/kind.h"
#include "sandbox/negotiation.h"
#include "sandbox/request.h"
#include "sandbox/selector.h"
#include "sandbox/storage.h"
#include "sandbox/tables.h"

namespace sandbox {

// A request with its kind looked up.
struct Target {
  RequestInfo info;
  const Kind* kind = nullptr;
  std::string user = {};
  std::span<const std::string> groups = {};
  Form form = {};                         // of the answer
  std::string manager;                    // the name that its changes go by in managedFields
  const json::array* managers = nullptr;  // the result of an apply
  std::vector<std::string> duplicates;    // members that the body names twice
  bool dry_run = false;
  std::vector<std::string> warnings;

  std::string key() const { return Storage::key(info.ns, info.name); }
};

inline constexpr std::string_view apply_type = "application/apply-patch+yaml";

struct Selection {
  LabelSelector labels;
  FieldSelector fields;
  std::string ns;
  // Looks at the stored version's document only where its notes do not say enough.
  bool matches(const Kind& kind, std::string_view key, const Version& version) const;
  bool plain() const { return labels.empty() && fields.empty(); }
};

struct Watcher {
  WatchId id = WatchId::none;
  const Kind* kind = nullptr;
  Selection selection;
  WatchSink* sink = nullptr;
  Form form = {};
  std::string include;                // tables: includeObject of the request
  std::unique_ptr<TableMaker> table;  // tables only
  bool defined = false;               // tables: the columns were sent
  bool bookmarks = false;
  std::uint64_t from = 0;  // changes up to this revision are known already
  base::TimerId deadline = base::TimerId::none;
  base::TimerId bookmark = base::TimerId::none;
};

struct ApiServer::Impl {
  Impl(base::Reactor& the_reactor, ServerOptions the_options);

  base::Reactor& reactor;
  ServerOptions config;
  base::Random random;
  Storage storage;
  Authorizer authorizer;
  AuditSink audit;
  std::vector<Admission> admissions;
  // by group, version, plural; kinds whose definition was deleted stay allocated, since watches may point to them
  std::map<std::tuple<std::string, std::string, std::string>, std::shared_ptr<Kind>> kinds;
  // defined with `served: false`: their objects are kept, and nobody sees them
  std::map<std::tuple<std::string, std::string, std::string>, std::shared_ptr<Kind>> unserved;
  std::vector<std::shared_ptr<Kind>> retired;
  const Kind* namespaces = nullptr;
  const Kind* definitions = nullptr;
  std::map<WatchId, std::unique_ptr<Watcher>> watchers;
  std::uint64_t last_watch = 0;

  // kinds.cc
  void register_builtin_kinds();
  void register_more_kinds();
  const Kind& add_kind(Kind kind);
  const Kind* find_kind(std::string_view group, std::string_view version, std::string_view plural) const;
  const Kind* find_kind_of(const json::object& document) const;
  // crds.cc
  base::Result<void> define(const json::object& crd);
  void undefine(const json::object& crd);
  void end_watches(const Kind& kind);

  // api_server.cc
  static Outcome<void> check_options(const RequestInfo& info, const kube::Request& request);
  Outcome<Target> route(const kube::Request& request, const Caller& caller) const;
  Outcome<kube::Response> dispatch(Target& target, const kube::Request& request);

  // reads.cc
  Outcome<kube::Response> get(const Target& target) const;
  Outcome<Selection> selection_of(const RequestInfo& info, const Kind& kind) const;
  kube::Response answer(int code, const Target& target, const json::object& document) const;
  WallSeconds wall() const;
  // lists.cc
  Outcome<kube::Response> list(const Target& target) const;
  // reviews.cc
  Outcome<kube::Response> review(Target& target, const kube::Request& request) const;
  // scale.cc
  Outcome<kube::Response> get_scale(const Target& target) const;
  Outcome<kube::Response> set_scale(Target& target, const kube::Request& request);
  // discovery.cc
  std::optional<kube::Response> discovery(const RequestInfo& info, std::string_view accept) const;
  std::optional<kube::Response> openapi(std::string_view path, std::string_view accept) const;
  json::object aggregated(const std::map<std::string, std::vector<std::string>>& groups, bool core,
                          std::string_view form) const;

  // writes.cc
  enum class Part : char { main, status, finalize };
  Outcome<json::object> decode_body(const kube::Request& request, const Target& target) const;
  Outcome<json::object> decode_protobuf(const kube::Request& request, const Target& target) const;
  static void note_duplicates(Target& target, const kube::Request& request);
  Outcome<kube::Response> create(Target& target, const kube::Request& request);
  Outcome<kube::Response> update(Target& target, const kube::Request& request);
  Outcome<kube::Response> patch(Target& target, const kube::Request& request);
  Outcome<Document> store_new(Target& target, json::object object);
  Outcome<Document> store_next(Target& target, json::object next, const VersionPtr& current, Part part, bool patched);
  Outcome<void> check_document(Target& target, json::object& object, bool patched) const;
  Outcome<void> check_namespace(const Target& target, std::string_view name) const;
  Outcome<void> admit(const Target& target, const json::object* object, const json::object* old) const;
  void committed(const Kind& kind, const json::object* before, const json::object* after);
  std::string new_uid();
  std::string generated_name(std::string_view base_name);
  std::string now() const;

  // apply.cc
  static std::string manager_of(const RequestInfo& info, std::string_view user_agent);
  Outcome<kube::Response> apply_patch(Target& target, const kube::Request& request);
  void track(const Target& target, json::object& next, const json::object* old, const json::value& submitted,
             const json::object* sent = nullptr) const;

  // deletes.cc
  Outcome<kube::Response> remove(Target& target, const kube::Request& request);
  Outcome<kube::Response> remove_collection(Target& target, const kube::Request& request);
  struct DeleteOptions {
    std::string uid;
    std::string resource_version;
    std::string propagation;
    bool dry_run = false;
  };
  Outcome<DeleteOptions> delete_options(const Target& target, const kube::Request& request) const;
  // The final or intermediate object, and whether it is gone.
  Outcome<std::pair<json::object, bool>> remove_one(const Target& target, const DeleteOptions& options);

  // watches.cc
  Outcome<WatchId> start_watch(const Target& target, WatchSink& sink);
  void on_change(const Change& change);
  void send_change(Watcher& watcher, const Change& change) const;
  // The event's object as the watch wants it, of what is stored.
  std::string watched(Watcher& watcher, const Version& version) const;
  std::string watched(Watcher& watcher, const json::object& document) const;
  void send_bookmark(Watcher& watcher, bool initial_end) const;
  void arm_bookmark(Watcher& watcher);
  void end_watch(WatchId id);
  void drop_watcher(WatchId id);
};

// The document as `kind` shows it (another version's view of the same storage is converted).
json::object shown(const Kind& kind, const json::object& document);

}  // namespace sandbox
