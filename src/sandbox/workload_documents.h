// The documents that the model of workloads writes, from those it reads. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/storage.h"

namespace sandbox {

using Documents = std::vector<const json::object*>;

// The one node: pods are kept under its name, and run nowhere.
inline constexpr std::string_view node_name = "sandbox";
json::object node(const std::string& now);
// "pod-template-hash": changes with the template.
std::string template_hash(const json::object& deployment);
// `revision` counts the templates that a Deployment has had.
json::object replica_set_for(const json::object& deployment, const std::string& hash, std::int64_t revision);
// The number in the annotation of that name, 0 if there is none.
inline constexpr std::string_view revision_annotation = "deployment.kubernetes.io/revision";
std::int64_t revision_of(const json::object& object);
json::object pod_for(const json::object& replica_set);
// The pod as a node reports it once it runs.
json::object running(json::object pod, const std::string& ip, const std::string& now);
bool is_ready(const json::object& pod);
// Status of a Deployment with that many pods; `before` is the present one.
json::object deployment_status(const json::object& deployment, std::int64_t replicas, std::int64_t ready,
                               const std::string& hash, const std::string& now);
json::object replica_set_status(const json::object& replica_set, std::int64_t replicas, std::int64_t ready);
// The slice of one address family of a Service, nullopt if it has no selector.
json::object slice_for(const json::object& service, std::string_view family, const Documents& pods);
json::object endpoints_for(const json::object& service, const Documents& pods);
bool selects(const json::object& selector, const json::object& object);
bool owned_by(const json::object& object, std::string_view uid);

}  // namespace sandbox
