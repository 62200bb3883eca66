// The rights that the manifests of deploy/ grant, as a server without RBAC of its own can be told to check them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scenarios {

class Rights {
 public:
  // The rules of all roles that the manifest binds to its service account.
  static base::Result<Rights> of_manifest(const std::string& path);

  // The rules of one Role.
  static Rights of_role(const boost::json::value& role);

  // `resource` as "services" or "services/status"; an empty `ns` is a request on all namespaces or on a cluster-scoped
  // object.
  // `namespaced`: whether what a Role grants counts there.
  bool allow(std::string_view group, std::string_view resource, std::string_view ns, std::string_view name,
             std::string_view verb, bool namespaced = true) const;

  // What the other manifest grants too.
  void add(const Rights& other) { rules_.insert(rules_.end(), other.rules_.begin(), other.rules_.end()); }

  struct Rule {
    std::string ns;  // "" = everywhere
    std::vector<std::string> groups;
    std::vector<std::string> resources;
    std::vector<std::string> names;  // empty = any
    std::vector<std::string> verbs;
  };
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  void add(const boost::json::value& role, const std::string& ns);

  std::vector<Rule> rules_;
};

}  // namespace scenarios
