// A kind as the sandbox serves it: where it is in the API and what its strategy does. Data, not code, wherever
// possible. Internal to the sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sandbox/failure.h"
#include "sandbox/json.h"
#include "sandbox/schema.h"

namespace sandbox {

struct Kind;

// What a kind does beyond the general rules. The default does nothing. `object` is the new version; its metadata is
// complete.
class Strategy {
 public:
  virtual ~Strategy() = default;
  // Defaults and system fields of a new object; status is still whatever the client sent.
  virtual void prepare_create(json::object& object) const;
  // The same for an update through the main resource. Status has already been carried over.
  virtual void prepare_update(json::object& object, const json::object& old) const;
  // An update through /status: what of `object` besides status and metadata is kept. Default: nothing, metadata
  // neither.
  virtual void prepare_status(json::object& object, const json::object& old) const;
  virtual void validate(const json::object& object, const json::object* old, Causes& causes) const;
  virtual void validate_status(const json::object& object, const json::object& old, Causes& causes) const;
  // Last step before a version is stored: chooses what is scarce (cluster IPs, node ports) without taking it yet.
  virtual Outcome<void> allocate(json::object& object, const json::object* old) const;
  // What the server itself chooses in a new object of which `sent` is the client's version; nobody manages it.
  virtual void drop_chosen(json::object& object, const json::object& sent) const;
  // Whether an object whose deletion was asked for must stay for now. Default: while it has finalizers.
  virtual bool held(const json::object& object) const;
  // deletionTimestamp was set just now. Default: there is no grace.
  virtual void deletion_started(json::object& object) const;
  // `old` was replaced by `now` in the store; nullptr: there was none, it is gone.
  virtual void replaced(const json::object* old, const json::object* now);
};

enum class NameRule : char { subdomain, label, path };

// "status", "scale": what else of an object can be asked for. "status" is a member of Kind.
struct Subresource {
  std::string name;
  std::string kind;   // "Scale"
  std::string group;  // of that kind
  std::string version;
  std::vector<std::string> verbs;
};

struct Kind {
  std::string group = {};
  std::string version = {};
  std::string plural = {};
  std::string singular = {};
  std::string name = {};  // "Service"
  std::vector<std::string> short_names = {};
  std::vector<std::string> categories = {};
  std::vector<std::string> verbs = {};  // empty: all
  std::vector<Subresource> subresources = {};
  // subresources of a real server that the sandbox does not have, and why not, as whoever asks is told
  std::vector<std::pair<std::string_view, std::string_view>> absent = {};
  bool namespaced = true;
  bool status = false;                // has the subresource
  bool generation = false;            // metadata.generation counts changes outside metadata and status
  bool custom = false;                // comes from a CustomResourceDefinition
  bool unconditional_update = false;  // PUT without resourceVersion is allowed
  bool returns_deleted = false;       // DELETE answers with the object
  std::string warning = {};           // what every request for it is told; "": nothing
  NameRule name_rule = NameRule::subdomain;
  std::vector<std::string> selectable = {};          // fields besides metadata.name and metadata.namespace
  std::shared_ptr<const Schema> schema = {};         // nullptr: documents are kept as they come
  std::shared_ptr<const json::object> openapi = {};  // the same as OpenAPI has it, with metadata; never nullptr
  bool review = false;                               // a question that is answered, never stored
  std::shared_ptr<Strategy> strategy = {};           // never nullptr
  json::array columns = {};                          // additionalPrinterColumns of a custom kind
  // Another version's view of the same storage (events); nullptr if this is the storage itself.
  const Kind* storage = nullptr;
  void (*to_storage)(json::object& object) = nullptr;
  void (*from_storage)(json::object& object) = nullptr;

  const Kind& stored_as() const { return storage == nullptr ? *this : *storage; }
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  Subject subject(std::string object_name = {}) const { return {group, plural, std::move(object_name)}; }
  // As validation errors name it: by kind.
  Subject kind_subject(std::string object_name = {}) const { return {group, name, std::move(object_name)}; }
};

// What is wrong with a CustomResourceDefinition whatever the sandbox understands, "" if nothing.
std::string crd_fault(const json::object& crd);
// A kind from a CustomResourceDefinition document. An error names what the sandbox cannot enforce.
base::Result<Kind> kind_of_crd(const json::object& crd);

}  // namespace sandbox
