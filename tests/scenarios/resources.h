// Kinds as scenario files name them, and the requests on their objects.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/transport.h"
#include "kube/types.h"
#include "scenarios/backend.h"

namespace scenarios {

// Every kind that scenarios may use.
const std::vector<kube::Resource>& known_resources();
// By kind and apiVersion. An empty `api_version` takes the first kind of that name.
base::Result<const kube::Resource*> resource_of(std::string_view kind, std::string_view api_version);

// What a document is about. `ns` is empty for cluster-scoped kinds; `name` may be empty (then a document is a pattern).
struct Target {
  const kube::Resource* resource = nullptr;
  std::string ns;
  std::string name;
  std::string path(std::string_view subresource = {}) const;
  std::string to_string() const;
};
// Fills in apiVersion, and metadata.namespace from `default_ns`, where they are missing.
base::Result<Target> target_of(boost::json::object& document, std::string_view default_ns);

// The server's answer as a value: its status and its body (a Status object when it refused).
struct Outcome {
  int status = 0;
  boost::json::value body;
  std::vector<std::string> warnings;

  bool accepted() const { return status >= 200 && status < 300; }
  bool not_found() const { return status == 404; }
  // The server's sentence, or the transport's.
  std::string message() const;
  // The fields that a Status names as the cause.
  std::vector<std::string> fields() const;
};

// Typed requests on a backend, as one user.
class Client {
 public:
  explicit Client(Backend& backend, std::string user = "admin") : backend_(backend), user_(std::move(user)) {}
  Outcome get(const Target& target);
  // All items of the target's kind in its namespace (all namespaces if it has none). `query` adds selectors.
  Outcome list(const Target& target, std::vector<std::pair<std::string, std::string>> query = {});
  // `dry_run`: the server only says what it would do.
  Outcome create(const Target& target, const boost::json::value& object, bool dry_run = false);
  // Creates it, or merges it into the one that is there.
  Outcome apply(const Target& target, const boost::json::value& object);
  Outcome merge_patch(const Target& target, const boost::json::value& patch, std::string_view subresource = {});
  Outcome put(const Target& target, const boost::json::value& object, std::string_view subresource = {});
  Outcome remove(const Target& target);

 private:
  Outcome send(kube::Request request);

  Backend& backend_;
  std::string user_;
};

}  // namespace scenarios
