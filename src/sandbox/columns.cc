// The columns of the built-in kinds that the sandbox does something about; those of the others are in columns_more.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cctype>

#include "sandbox/cells.h"
#include "sandbox/tables.h"

namespace sandbox {
namespace {

using namespace cells;
using Path = std::initializer_list<std::string_view>;

json::value service_cluster_ip(const json::object& service, WallSeconds) {
  const auto ips = texts_in(array_at(service, {"spec", "clusterIPs"}));
  return json::string(ips.empty() ? std::string("<none>") : ips[0]);
}

json::value service_external_ip(const json::object& service, WallSeconds) {
  const std::string_view type = text_at(service, {"spec", "type"});
  if (type == "ExternalName") return json::string(text_at(service, {"spec", "externalName"}));
  std::vector<std::string> addresses;
  if (type == "LoadBalancer") {
    if (const json::array* ingress = array_at(service, {"status", "loadBalancer", "ingress"})) {
      for (const json::value& item : *ingress) {
        const std::string_view ip = text_at(item.get_object(), {"ip"});
        const std::string_view host = text_at(item.get_object(), {"hostname"});
        if (!ip.empty() || !host.empty()) addresses.emplace_back(ip.empty() ? host : ip);
      }
      std::ranges::sort(addresses);
      addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
    }
  }
  for (std::string& ip : texts_in(array_at(service, {"spec", "externalIPs"}))) addresses.push_back(std::move(ip));
  return joined(addresses, type == "LoadBalancer" ? "<pending>" : "<none>");
}

json::value service_ports(const json::object& service, WallSeconds) {
  std::vector<std::string> ports;
  if (const json::array* items = array_at(service, {"spec", "ports"})) {
    for (const json::value& item : *items) {
      const json::object& port = item.get_object();
      const std::int64_t node = int_at(port, {"nodePort"});
      ports.push_back(node > 0 ? fmt::format("{}:{}/{}", int_at(port, {"port"}), node, text_at(port, {"protocol"}))
                               : fmt::format("{}/{}", int_at(port, {"port"}), text_at(port, {"protocol"})));
    }
  }
  return joined(ports, "<none>");
}

json::value service_selector(const json::object& service, WallSeconds) {
  return json::string(labels_text(object_at(service, {"spec", "selector"})));
}

json::value container_names(const json::object& object, WallSeconds) {
  return joined(texts_in(array_at(object, {"spec", "template", "spec", "containers"}), "name"));
}
json::value container_images(const json::object& object, WallSeconds) {
  return joined(texts_in(array_at(object, {"spec", "template", "spec", "containers"}), "image"));
}

json::value deployment_ready(const json::object& object, WallSeconds) {
  return json::string(
      fmt::format("{}/{}", int_at(object, {"status", "readyReplicas"}), int_at(object, {"spec", "replicas"})));
}

const json::array& statuses_of(const json::object& pod) {
  static const json::array none;
  const json::array* statuses = array_at(pod, {"status", "containerStatuses"});
  return statuses == nullptr ? none : *statuses;
}

json::value pod_ready(const json::object& pod, WallSeconds) {
  const json::array* containers = array_at(pod, {"spec", "containers"});
  const auto ready = std::ranges::count_if(
      statuses_of(pod), [](const json::value& status) { return bool_at(status.get_object(), {"ready"}); });
  return json::string(fmt::format("{}/{}", ready, containers == nullptr ? 0 : containers->size()));
}

json::value pod_status(const json::object& pod, WallSeconds) {
  if (!text_at(pod, {"metadata", "deletionTimestamp"}).empty()) return "Terminating";
  std::string_view reason = text_at(pod, {"status", "phase"});
  if (const std::string_view stated = text_at(pod, {"status", "reason"}); !stated.empty()) reason = stated;
  for (const json::value& status : statuses_of(pod)) {
    for (const std::string_view state : {"waiting", "terminated"}) {
      if (const std::string_view why = text_at(status.get_object(), {"state", state, "reason"}); !why.empty())
        reason = why;
    }
  }
  return json::string(reason);
}

json::value pod_restarts(const json::object& pod, WallSeconds) {
  std::int64_t restarts = 0;
  for (const json::value& status : statuses_of(pod)) restarts += int_at(status.get_object(), {"restartCount"});
  return json::string(std::to_string(restarts));
}

template <Literal... Steps>
json::value text_or_none(const json::object& object, WallSeconds) {
  const std::string_view found = text_at(object, {std::string_view(Steps.value)...});
  return json::string(found.empty() ? "<none>" : found);
}

json::value data_size(const json::object& object, WallSeconds) {
  std::size_t count = 0;
  for (const std::string_view field : {"data", "binaryData"}) {
    if (const json::object* data = object_at(object, {field})) count += data->size();
  }
  return static_cast<std::int64_t>(count);
}

// How long ago a time was, the second text if the first is empty.
json::string since(std::string_view first, std::string_view second, WallSeconds now) {
  return json::string(age_of(first.empty() ? second : first, now));
}

json::value event_first_seen(const json::object& event, WallSeconds now) {
  return since(text_at(event, {"firstTimestamp"}), text_at(event, {"eventTime"}), now);
}
json::value event_last_seen(const json::object& event, WallSeconds now) {
  if (object_at(event, {"series"}) != nullptr) return since(text_at(event, {"series", "lastObservedTime"}), {}, now);
  const std::string_view last = text_at(event, {"lastTimestamp"});
  return last.empty() ? event_first_seen(event, now) : json::value(since(last, {}, now));
}
json::value event_count(const json::object& event, WallSeconds) {
  if (object_at(event, {"series"}) != nullptr) return int_at(event, {"series", "count"});
  return std::max<std::int64_t>(int_at(event, {"count"}), 1);
}
json::value event_object(const json::object& event, WallSeconds) {
  std::string kind(text_at(event, {"involvedObject", "kind"}));
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view object = text_at(event, {"involvedObject", "name"});
  return json::string(object.empty() ? kind : fmt::format("{}/{}", kind, object));
}
json::value event_source(const json::object& event, WallSeconds) {
  const auto either = [&](Path first, Path second) {
    const std::string_view found = text_at(event, first);
    return found.empty() ? text_at(event, second) : found;
  };
  const std::string_view component = either({"source", "component"}, {"reportingComponent"});
  const std::string_view instance = either({"source", "host"}, {"reportingInstance"});
  return json::string(instance.empty() ? std::string(component) : fmt::format("{}, {}", component, instance));
}
json::value event_message(const json::object& event, WallSeconds) {
  std::string_view message = text_at(event, {"message"});
  const std::size_t start = std::min(message.find_first_not_of(" \t\n"), message.size());
  message = message.substr(start, message.find_last_not_of(" \t\n") + 1 - start);
  return json::string(message);
}

json::value slice_ports(const json::object& slice, WallSeconds) {
  std::vector<std::string> ports;
  if (const json::array* items = array_at(slice, {"ports"})) {
    for (const json::value& item : *items) {
      const json::object& port = item.get_object();
      ports.push_back(port.contains("port")   ? std::to_string(int_at(port, {"port"}))
                      : port.contains("name") ? std::string(text_at(port, {"name"}))
                                              : "*");
    }
  }
  return shortened(ports);
}
json::value slice_endpoints(const json::object& slice, WallSeconds) {
  std::vector<std::string> addresses;
  if (const json::array* items = array_at(slice, {"endpoints"})) {
    for (const json::value& item : *items) {
      for (std::string& address : texts_in(array_at(item.get_object(), {"addresses"})))
        addresses.push_back(std::move(address));
    }
  }
  return shortened(addresses);
}

json::value created_at(const json::object& object, WallSeconds) {
  return json::string(text_at(object, {"metadata", "creationTimestamp"}));
}

constexpr auto plain_columns = std::to_array<Column>({name_column, age_column});
constexpr auto dated_columns = std::to_array<Column>(
    {name_column,
     {.name = "Created At", .type = "date", .description = "When the server stored the object.", .cell = created_at}});
constexpr auto namespace_columns = std::to_array<Column>(
    {name_column,
     {.name = "Status", .description = "Active, or Terminating while it is emptied.", .cell = text<"status", "phase">},
     age_column});
constexpr auto config_columns = std::to_array<Column>(
    {name_column, {.name = "Data", .description = "How many entries it has.", .cell = data_size}, age_column});
constexpr auto secret_columns =
    std::to_array<Column>({name_column,
                           {.name = "Type", .description = "What the data is for.", .cell = text<"type">},
                           {.name = "Data", .description = "How many entries it has.", .cell = data_size},
                           age_column});
constexpr auto service_columns = std::to_array<Column>(
    {name_column,
     {.name = "Type", .description = "How the Service can be reached.", .cell = text<"spec", "type">},
     {.name = "Cluster-IP", .description = "Its address inside the cluster.", .cell = service_cluster_ip},
     {.name = "External-IP", .description = "Its addresses outside the cluster.", .cell = service_external_ip},
     {.name = "Port(s)", .description = "The ports it serves.", .cell = service_ports},
     age_column,
     {.name = "Selector", .priority = 1, .description = "Which pods serve it.", .cell = service_selector}});
constexpr auto pod_columns = std::to_array<Column>(
    {name_column,
     {.name = "Ready", .description = "How many of its containers are ready.", .cell = pod_ready},
     {.name = "Status", .description = "Where it is in its life.", .cell = pod_status},
     {.name = "Restarts", .description = "How often its containers were started again.", .cell = pod_restarts},
     age_column,
     {.name = "IP", .priority = 1, .description = "Its address.", .cell = text_or_none<"status", "podIP">},
     {.name = "Node", .priority = 1, .description = "Where it runs.", .cell = text_or_none<"spec", "nodeName">},
     {.name = "Nominated Node",
      .priority = 1,
      .description = "Where it will run once others have made room.",
      .cell = text_or_none<"status", "nominatedNodeName">},
     {.name = "Readiness Gates",
      .priority = 1,
      .description = "How many of its additional conditions hold.",
      .cell = [](const json::object&, WallSeconds) -> json::value { return "<none>"; }}});
constexpr Column workload_containers{
    .name = "Containers", .priority = 1, .description = "Names of its containers.", .cell = container_names};
constexpr Column workload_images{
    .name = "Images", .priority = 1, .description = "Images of its containers.", .cell = container_images};
constexpr Column workload_selector{
    .name = "Selector", .priority = 1, .description = "Which pods belong to it.", .cell = selector<"spec", "selector">};
constexpr auto deployment_columns = std::to_array<Column>(
    {name_column,
     {.name = "Ready", .description = "Ready pods, of how many.", .cell = deployment_ready},
     {.name = "Up-to-date", .description = "Pods of the latest template.", .cell = number<"status", "updatedReplicas">},
     {.name = "Available", .description = "Pods that serve.", .cell = number<"status", "availableReplicas">},
     age_column,
     workload_containers,
     workload_images,
     workload_selector});
constexpr auto replica_set_columns = std::to_array<Column>(
    {name_column,
     {.name = "Desired",
      .type = "integer",
      .description = "How many pods there should be.",
      .cell = number<"spec", "replicas">},
     {.name = "Current", .type = "integer", .description = "How many there are.", .cell = number<"status", "replicas">},
     {.name = "Ready",
      .type = "integer",
      .description = "How many of them are ready.",
      .cell = number<"status", "readyReplicas">},
     age_column,
     workload_containers,
     workload_images,
     workload_selector});
constexpr auto event_columns = std::to_array<Column>(
    {{.name = "Last Seen", .description = "When it happened last.", .cell = event_last_seen},
     {.name = "Type", .description = "Normal or Warning.", .cell = text<"type">},
     {.name = "Reason", .description = "What happened, in one word.", .cell = text<"reason">},
     {.name = "Object", .description = "To what it happened.", .cell = event_object},
     {.name = "Subobject",
      .priority = 1,
      .description = "To which part of it.",
      .cell = text<"involvedObject", "fieldPath">},
     {.name = "Source", .priority = 1, .description = "Who says so.", .cell = event_source},
     {.name = "Message", .description = "What happened, in words.", .cell = event_message},
     {.name = "First Seen", .priority = 1, .description = "When it happened first.", .cell = event_first_seen},
     {.name = "Count", .priority = 1, .description = "How often it happened.", .cell = event_count},
     {.name = "Name", .priority = 1, .description = "The event's own name.", .cell = name, .format = "name"}});
constexpr auto lease_columns =
    std::to_array<Column>({name_column,
                           {.name = "Holder", .description = "Who holds it.", .cell = text<"spec", "holderIdentity">},
                           age_column});
constexpr auto slice_columns =
    std::to_array<Column>({name_column,
                           {.name = "AddressType", .description = "IPv4, IPv6 or FQDN.", .cell = text<"addressType">},
                           {.name = "Ports", .description = "The ports of every endpoint.", .cell = slice_ports},
                           {.name = "Endpoints", .description = "The addresses.", .cell = slice_endpoints},
                           age_column});
constexpr auto columns_by_kind = std::to_array<ColumnsOf>({{"Namespace", namespace_columns},
                                                           {"ConfigMap", config_columns},
                                                           {"Secret", secret_columns},
                                                           {"Service", service_columns},
                                                           {"Pod", pod_columns},
                                                           {"Deployment", deployment_columns},
                                                           {"ReplicaSet", replica_set_columns},
                                                           {"Event", event_columns},
                                                           {"Lease", lease_columns},
                                                           {"EndpointSlice", slice_columns},
                                                           {"CustomResourceDefinition", dated_columns},
                                                           {"ClusterRole", dated_columns},
                                                           {"Role", dated_columns}});

}  // namespace

std::span<const Column> builtin_columns(const Kind& kind) {
  for (const std::span<const ColumnsOf> table : {std::span<const ColumnsOf>(columns_by_kind), more_columns()}) {
    const auto entry = std::ranges::find(table, kind.name, &ColumnsOf::kind);
    if (entry != table.end()) return entry->columns;
  }
  return plain_columns;
}

}  // namespace sandbox
