// A Kubernetes API server in memory: requests in, responses out, watches as lines. Behaves as kube-apiserver 1.36 does
// for everything that controllers can see; no network, no threads, no time of its own.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "kube/transport.h"

namespace sandbox {

class Storage;
struct Change;

// What a caller is about to do, as RBAC sees it.
struct Access {
  std::string user = {};
  std::string verb = {};
  std::string group = {};
  std::string resource = {};  // "services" or "services/status"
  std::string ns = {};
  std::string name = {};
};
// Says whether `access` is allowed. Without one everything is.
using Authorizer = std::function<bool(const Access&)>;

// A write that has passed validation and is about to be stored. Writes to subresources are asked about as
// "services/status".
struct AdmissionRequest {
  const Access& access;
  const boost::json::object* object = nullptr;  // nullptr: deletion
  const boost::json::object* old = nullptr;     // nullptr: creation
};
// Why a write is refused, in the server's form.
struct Refusal {
  int code = 403;
  std::string reason = "Forbidden";
  std::string message = {};
};
// What admission webhooks and policies are to a real server: nullopt lets the write pass.
using Admission = std::function<std::optional<Refusal>(const AdmissionRequest&)>;

// Who asks, and what its request's headers say beyond what kube::Request holds. Views that outlive the call.
struct Caller {
  std::string_view user = {};
  std::span<const std::string> groups = {};  // none: as a member of system:masters
  std::string_view accept = {};              // "" is JSON
  std::string_view user_agent =
      {};  // up to '/': who a write is by in managedFields, unless the request names a manager
};

// One line of the audit log: a request that would change something, with its outcome.
struct AuditEntry {
  base::MonoTime when;
  Access access;
  int code = 0;
  bool changed = false;  // whether the store has a new revision because of it
  std::uint64_t revision = 0;
};
using AuditSink = std::function<void(const AuditEntry&)>;

struct ServerOptions {
  std::uint64_t seed = 1;  // of uids, generated names and addresses
  // Ranges that Services take their cluster IPs from; the first is the default family. An empty text switches the
  // second off.
  std::string service_cidr = "10.96.0.0/16";
  std::string second_service_cidr = "fd00:96::/112";
  // What watches and pages can start from: changes of one kind, and bytes of versions that are kept for it in all.
  std::size_t history = 100'000;
  std::size_t history_bytes = 64UL << 20U;
  // Whether metadata.managedFields is kept and server-side apply answered; costs time with every write, and nothing in
  // a simulation looks at it.
  bool managed_fields = false;
  base::Duration bookmark_interval = std::chrono::seconds(60);
};

enum class WatchId : std::uint64_t { none = 0 };

// Receives one watch's events. Calls come from within the server's calls and timers and must not call the server back.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // One event: a JSON document with its line feed. Shared by all who receive it.
  virtual void event(std::shared_ptr<const std::string> line) = 0;
  // The server ended the watch; its id is no longer valid.
  virtual void ended() = 0;
};

// Not thread-safe: everything happens on the reactor's thread.
class ApiServer {
 public:
  // `reactor` gives the clock (creationTimestamp, …) and the timers of watches; it outlives the server.
  explicit ApiServer(base::Reactor& reactor, ServerOptions options = {});
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Registers the CustomResourceDefinitions of a YAML stream or of all *.yaml in a folder, in place of definitions of
  // the same names, whose labels and annotations are kept. Throws std::runtime_error that names the file and what is
  // wrong, also if a schema keyword or a validation rule is not implemented.
  void load_crds(std::string_view yaml);
  void load_crds(const std::filesystem::path& folder);
  // Registers MetalLB's kinds (group metallb.io) by the sandbox's own descriptions of them.
  void load_metallb_crds();

  // Answers any request except watches.
  kube::Response handle(const kube::Request& request, std::string_view user) {
    return handle(request, Caller{.user = user});
  }
  kube::Response handle(const kube::Request& request, const Caller& caller);
  static bool is_watch(const kube::Request& request);
  // Starts a watch: the events that are due at once arrive at `sink` before this returns. A refusal is the response to
  // give. `sink` must live until unwatch() or ended().
  std::expected<WatchId, kube::Response> watch(const kube::Request& request, std::string_view user, WatchSink& sink) {
    return watch(request, Caller{.user = user}, sink);
  }
  std::expected<WatchId, kube::Response> watch(const kube::Request& request, const Caller& caller, WatchSink& sink);
  void unwatch(WatchId id);

  void set_authorizer(Authorizer authorizer);
  void set_audit(AuditSink sink);
  void add_admission(Admission admission);

  std::uint64_t revision() const;
  // Forgets the history: watches and pages from before now get 410.
  void compact();
  // Ends all watches, as a restart of the server does.
  void end_watches();
  std::size_t open_watches() const;

  // Back doors for tests and checkers, past validation, authorization and audit.
  // Stores a document as it is (it names its own apiVersion, kind, namespace and name); creates or replaces.
  void put_raw(std::string_view json);
  // The stored document of "/api/v1/namespaces/x/services/y", nullopt if there is none.
  std::optional<std::string> get_raw(std::string_view path) const;
  // Removes the object at `path` whatever its finalizers say.
  void remove_raw(std::string_view path);
  // Sets the revision counter back, as restoring an older backup of the store does.
  void set_revision(std::uint64_t revision);

  struct Impl;
  // For the other parts of the sandbox.
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace sandbox
