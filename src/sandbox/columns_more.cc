// The columns of the kinds that the sandbox keeps, and does nothing about.
#include <array>
#include <set>

#include "sandbox/cells.h"

namespace sandbox {
namespace {

using namespace cells;

json::value param_kind(const json::object& policy, WallSeconds) {
  const std::string_view version = text_at(policy, {"spec", "paramKind", "apiVersion"});
  const std::string_view kind = text_at(policy, {"spec", "paramKind", "kind"});
  if (kind.empty()) return "<unset>";
  return json::string(fmt::format("{}/{}", version, kind));
}
json::value param_ref(const json::object& binding, WallSeconds) {
  const std::string_view ns = text_at(binding, {"spec", "paramRef", "namespace"});
  const std::string_view ref = text_at(binding, {"spec", "paramRef", "name"});
  if (ref.empty()) return "<unset>";
  return json::string(fmt::format("{}/{}", ns.empty() ? "*" : ns, ref));
}

json::value role_ref(const json::object& object, WallSeconds) {
  return json::string(fmt::format("{}/{}", text_at(object, {"roleRef", "kind"}), text_at(object, {"roleRef", "name"})));
}
template <Literal Kind>
json::value subjects(const json::object& object, WallSeconds) {
  std::vector<std::string> names;
  if (const json::array* items = array_at(object, {"subjects"})) {
    for (const json::value& item : *items) {
      const json::object& subject = item.get_object();
      if (text_at(subject, {"kind"}) != std::string_view(Kind.value)) continue;
      const std::string_view ns = text_at(subject, {"namespace"});
      names.push_back(ns.empty() ? std::string(text_at(subject, {"name"}))
                                 : fmt::format("{}/{}", ns, text_at(subject, {"name"})));
    }
  }
  return json::string(fmt::format("{}", fmt::join(names, ", ")));
}

json::value node_status(const json::object& node, WallSeconds) {
  std::string status = "Unknown";
  if (const json::array* conditions = array_at(node, {"status", "conditions"})) {
    for (const json::value& item : *conditions) {
      if (text_at(item.get_object(), {"type"}) == "Ready")
        status = text_at(item.get_object(), {"status"}) == "True" ? "Ready" : "NotReady";
    }
  }
  return json::string(bool_at(node, {"spec", "unschedulable"}) ? status + ",SchedulingDisabled" : status);
}
json::value node_roles(const json::object& node, WallSeconds) {
  constexpr std::string_view prefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const json::object* labels = object_at(node, {"metadata", "labels"})) {
    for (const json::key_value_pair& label : *labels) {
      const std::string_view key = label.key();
      if (key.starts_with(prefix) && key.size() > prefix.size()) roles.emplace(key.substr(prefix.size()));
    }
  }
  return joined({roles.begin(), roles.end()}, "<none>");
}
template <Literal Type>
json::value node_address(const json::object& node, WallSeconds) {
  if (const json::array* addresses = array_at(node, {"status", "addresses"})) {
    for (const json::value& item : *addresses) {
      if (text_at(item.get_object(), {"type"}) == std::string_view(Type.value))
        return json::string(text_at(item.get_object(), {"address"}));
    }
  }
  return "<none>";
}
template <Literal Field>
json::value node_info(const json::object& node, WallSeconds) {
  const std::string_view text = text_at(node, {"status", "nodeInfo", std::string_view(Field.value)});
  return json::string(text.empty() ? "<unknown>" : text);
}

json::value endpoints(const json::object& object, WallSeconds) {
  std::vector<std::string> texts;
  const json::array* subsets = array_at(object, {"subsets"});
  if (subsets == nullptr) return "<none>";
  for (const json::value& subset : *subsets) {
    const std::vector<std::string> ips = texts_in(array_at(subset.get_object(), {"addresses"}), "ip");
    const json::array* ports = array_at(subset.get_object(), {"ports"});
    if (ports == nullptr || ports->empty()) texts.insert(texts.end(), ips.begin(), ips.end());
    if (ports == nullptr) continue;
    for (const json::value& port : *ports) {
      for (const std::string& ip : ips) {
        const bool colons = ip.find(':') != std::string::npos;
        texts.push_back(
            fmt::format("{}{}{}:{}", colons ? "[" : "", ip, colons ? "]" : "", int_at(port.get_object(), {"port"})));
      }
    }
  }
  return texts.empty() ? json::string("<none>") : shortened(texts);
}

// A number or a percentage.
template <Literal... Steps>
json::value amount(const json::object& object, WallSeconds) {
  const json::value* value = find(object, {std::string_view(Steps.value)...});
  if (value == nullptr || value->is_null()) return "N/A";
  return value->is_string() ? value->get_string() : json::string(to_text(*value));
}

constexpr auto node_columns = std::to_array<Column>(
    {name_column,
     {.name = "Status", .description = "Whether it takes pods.", .cell = node_status},
     {.name = "Roles", .description = "What it is for.", .cell = node_roles},
     age_column,
     {.name = "Version", .description = "Of its kubelet.", .cell = node_info<"kubeletVersion">},
     {.name = "Internal-IP", .priority = 1, .description = "Its address.", .cell = node_address<"InternalIP">},
     {.name = "External-IP",
      .priority = 1,
      .description = "Its address outside of the cluster.",
      .cell = node_address<"ExternalIP">},
     {.name = "OS-Image", .priority = 1, .description = "Its system.", .cell = node_info<"osImage">},
     {.name = "Kernel-Version", .priority = 1, .description = "Its kernel.", .cell = node_info<"kernelVersion">},
     {.name = "Container-Runtime",
      .priority = 1,
      .description = "What runs its containers.",
      .cell = node_info<"containerRuntimeVersion">}});
constexpr auto endpoints_columns = std::to_array<Column>(
    {name_column, {.name = "Endpoints", .description = "Addresses and ports.", .cell = endpoints}, age_column});
constexpr auto budget_columns = std::to_array<Column>(
    {name_column,
     {.name = "Min Available", .description = "How many pods must stay.", .cell = amount<"spec", "minAvailable">},
     {.name = "Max Unavailable",
      .description = "How many pods may be missing.",
      .cell = amount<"spec", "maxUnavailable">},
     {.name = "Allowed Disruptions",
      .type = "integer",
      .description = "How many pods may go now.",
      .cell = number<"status", "disruptionsAllowed">},
     age_column});
constexpr auto network_policy_columns = std::to_array<Column>(
    {name_column,
     {.name = "Pod-Selector", .description = "The pods it is about.", .cell = selector<"spec", "podSelector">},
     age_column});
constexpr Column param_kind_column{
    .name = "ParamKind", .description = "The kind of its parameters.", .cell = param_kind};
constexpr auto validating_policy_columns = std::to_array<Column>({name_column,
                                                                  {.name = "Validations",
                                                                   .type = "integer",
                                                                   .description = "How many rules it has.",
                                                                   .cell = size<"spec", "validations">},
                                                                  param_kind_column,
                                                                  age_column});
constexpr auto mutating_policy_columns = std::to_array<Column>({name_column,
                                                                {.name = "Mutations",
                                                                 .type = "integer",
                                                                 .description = "How many changes it makes.",
                                                                 .cell = size<"spec", "mutations">},
                                                                param_kind_column,
                                                                age_column});
constexpr auto policy_binding_columns = std::to_array<Column>(
    {name_column,
     {.name = "PolicyName", .description = "The policy that it puts in force.", .cell = text<"spec", "policyName">},
     {.name = "ParamRef", .description = "The parameters it is given.", .cell = param_ref},
     age_column});
constexpr auto webhook_columns = std::to_array<Column>(
    {name_column,
     {.name = "Webhooks", .type = "integer", .description = "How many webhooks it names.", .cell = size<"webhooks">},
     age_column});
constexpr auto role_binding_columns = std::to_array<Column>(
    {name_column,
     {.name = "Role", .description = "The role that is granted.", .cell = role_ref},
     age_column,
     {.name = "Users", .priority = 1, .description = "Users it is granted to.", .cell = subjects<"User">},
     {.name = "Groups", .priority = 1, .description = "Groups it is granted to.", .cell = subjects<"Group">},
     {.name = "ServiceAccounts",
      .priority = 1,
      .description = "Service accounts it is granted to.",
      .cell = subjects<"ServiceAccount">}});

constexpr auto columns_by_kind = std::to_array<ColumnsOf>({{"Node", node_columns},
                                                           {"Endpoints", endpoints_columns},
                                                           {"PodDisruptionBudget", budget_columns},
                                                           {"NetworkPolicy", network_policy_columns},
                                                           {"ClusterRoleBinding", role_binding_columns},
                                                           {"RoleBinding", role_binding_columns},
                                                           {"ValidatingWebhookConfiguration", webhook_columns},
                                                           {"MutatingWebhookConfiguration", webhook_columns},
                                                           {"ValidatingAdmissionPolicy", validating_policy_columns},
                                                           {"ValidatingAdmissionPolicyBinding", policy_binding_columns},
                                                           {"MutatingAdmissionPolicy", mutating_policy_columns},
                                                           {"MutatingAdmissionPolicyBinding", policy_binding_columns}});

}  // namespace

std::span<const ColumnsOf> more_columns() { return columns_by_kind; }

}  // namespace sandbox
