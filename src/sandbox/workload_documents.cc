#include "sandbox/workload_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>

namespace sandbox {
namespace {

json::array owner(const json::object& object, bool controller = true) {
  json::object reference{{"apiVersion", object.at("apiVersion")},
                         {"kind", object.at("kind")},
                         {"name", text_at(object, {"metadata", "name"})},
                         {"uid", text_at(object, {"metadata", "uid"})},
                         {"controller", controller},
                         {"blockOwnerDeletion", true}};
  return json::array{std::move(reference)};
}

json::object condition(std::string_view type, bool holds, std::string_view reason, std::string message,
                       const std::string& now) {
  return {{"type", type},          {"status", holds ? "True" : "False"},
          {"lastUpdateTime", now}, {"lastTransitionTime", now},
          {"reason", reason},      {"message", std::move(message)}};
}

// Keeps the times of a condition that says the same as before.
void keep_times(json::object& fresh, const json::object& object) {
  const json::array* before = array_at(object, {"status", "conditions"});
  if (before == nullptr) return;
  for (const json::value& old : *before) {
    const json::object& was = old.get_object();
    if (text_at(was, {"type"}) != text_at(fresh, {"type"}) || text_at(was, {"status"}) != text_at(fresh, {"status"}))
      continue;
    fresh["lastTransitionTime"] = text_at(was, {"lastTransitionTime"});
    if (text_at(was, {"message"}) == text_at(fresh, {"message"}))
      fresh["lastUpdateTime"] = text_at(was, {"lastUpdateTime"});
  }
}

// A target port's number in a pod, 0 if the pod has none of that name.
std::int64_t port_in(const json::object& pod, const json::value& target) {
  if (target.is_int64()) return target.get_int64();
  const json::array* containers = array_at(pod, {"spec", "containers"});
  if (containers == nullptr || !target.is_string()) return 0;
  for (const json::value& container : *containers) {
    const json::array* ports = array_at(container.get_object(), {"ports"});
    if (ports == nullptr) continue;
    for (const json::value& port : *ports) {
      if (text_at(port.get_object(), {"name"}) == view(target.get_string()))
        return int_at(port.get_object(), {"containerPort"});
    }
  }
  return 0;
}

json::object pod_reference(const json::object& pod) {
  return {{"kind", "Pod"},
          {"namespace", text_at(pod, {"metadata", "namespace"})},
          {"name", text_at(pod, {"metadata", "name"})},
          {"uid", text_at(pod, {"metadata", "uid"})}};
}

// The ports of a Service as its pods have them; without pods by their own numbers.
json::array endpoint_ports(const json::object& service, const Documents& pods) {
  json::array ports;
  const json::array* of_service = array_at(service, {"spec", "ports"});
  if (of_service == nullptr) return ports;
  for (const json::value& item : *of_service) {
    const json::object& port = item.get_object();
    const json::value* target = port.if_contains("targetPort");
    std::int64_t number = target == nullptr ? int_at(port, {"port"}) : pods.empty() ? 0 : port_in(*pods[0], *target);
    if (number == 0 && target != nullptr && target->is_int64()) number = target->get_int64();
    if (number == 0) continue;
    ports.push_back(
        json::object{{"name", text_at(port, {"name"})}, {"protocol", text_at(port, {"protocol"})}, {"port", number}});
  }
  return ports;
}

// The same text for equal values, in whatever order their members are.
std::string canonical(const json::value& value) {
  std::string text;
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) text += canonical(item) + ",";
    return "[" + text + "]";
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return to_text(value);
  std::vector<std::string> members;
  for (const json::key_value_pair& member : *object) {
    if (!member.value().is_null())
      members.push_back(fmt::format("{}:{}", std::string_view(member.key()), canonical(member.value())));
  }
  std::ranges::sort(members);
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

// For documentation only (RFC 5737): no machine has it.
constexpr std::string_view node_ip = "192.0.2.1";

}  // namespace

json::object node(const std::string& now) {
  json::object ready{
      {"type", "Ready"},          {"status", "True"},
      {"lastHeartbeatTime", now}, {"lastTransitionTime", now},
      {"reason", "Sandbox"},      {"message", "pods are kept under the name of this node, and no container runs"}};
  json::object info{{"machineID", ""},
                    {"systemUUID", ""},
                    {"bootID", ""},
                    {"kernelVersion", "none"},
                    {"osImage", "none: a sandbox"},
                    {"containerRuntimeVersion", "none"},
                    {"kubeletVersion", "v1.36.3-sandbox"},
                    {"kubeProxyVersion", ""},
                    {"operatingSystem", "linux"},
                    {"architecture", "amd64"}};
  json::object labels{
      {"kubernetes.io/hostname", node_name}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}};
  json::object status{{"conditions", json::array{std::move(ready)}},
                      {"addresses", json::array{json::object{{"type", "InternalIP"}, {"address", node_ip}},
                                                json::object{{"type", "Hostname"}, {"address", node_name}}}},
                      {"nodeInfo", std::move(info)}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", json::object{{"name", node_name}, {"labels", std::move(labels)}}},
          {"spec", json::object()},
          {"status", std::move(status)}};
}

bool selects(const json::object& selector, const json::object& object) {
  const json::object* labels = object_at(object, {"metadata", "labels"});
  return std::ranges::all_of(selector, [labels](const json::key_value_pair& wanted) {
    const json::value* value = labels == nullptr ? nullptr : labels->if_contains(wanted.key());
    return value != nullptr && same(*value, wanted.value());
  });
}

bool owned_by(const json::object& object, std::string_view uid) {
  const json::array* owners = array_at(object, {"metadata", "ownerReferences"});
  return owners != nullptr && std::ranges::any_of(*owners, [uid](const json::value& reference) {
           return text_at(reference.get_object(), {"uid"}) == uid;
         });
}

std::string template_hash(const json::object& deployment) {
  static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  const json::value* pod = find(deployment, {"spec", "template"});
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : pod == nullptr ? std::string() : canonical(*pod)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  std::string text;
  for (int i = 0; i < 10; ++i, hash /= letters.size()) text += letters[hash % letters.size()];
  return text;
}

std::int64_t revision_of(const json::object& object) {
  const std::string_view text = text_at(object, {"metadata", "annotations", revision_annotation});
  std::int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

json::object replica_set_for(const json::object& deployment, const std::string& hash, std::int64_t revision) {
  const std::string_view ns = text_at(deployment, {"metadata", "namespace"});
  json::object pod = *object_at(deployment, {"spec", "template"});
  make_object(pod, {"metadata", "labels"})["pod-template-hash"] = hash;
  json::object selector = *object_at(deployment, {"spec", "selector"});
  make_object(selector, {"matchLabels"})["pod-template-hash"] = hash;
  const std::int64_t replicas = int_at(deployment, {"spec", "replicas"});
  json::object metadata{
      {"name", fmt::format("{}-{}", text_at(deployment, {"metadata", "name"}), hash)},
      {"namespace", ns},
      {"labels", *object_at(pod, {"metadata", "labels"})},
      {"annotations", json::object{{"deployment.kubernetes.io/desired-replicas", std::to_string(replicas)},
                                   {revision_annotation, std::to_string(revision)}}},
      {"ownerReferences", owner(deployment)}};
  return {
      {"apiVersion", "apps/v1"},
      {"kind", "ReplicaSet"},
      {"metadata", std::move(metadata)},
      {"spec", json::object{{"replicas", replicas}, {"selector", std::move(selector)}, {"template", std::move(pod)}}}};
}

json::object pod_for(const json::object& replica_set) {
  const json::object& pod = *object_at(replica_set, {"spec", "template"});
  json::object metadata = object_at(pod, {"metadata"}) == nullptr ? json::object() : *object_at(pod, {"metadata"});
  metadata["generateName"] = fmt::format("{}-", text_at(replica_set, {"metadata", "name"}));
  metadata["namespace"] = text_at(replica_set, {"metadata", "namespace"});
  metadata["ownerReferences"] = owner(replica_set);
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", pod.at("spec")}};
}

json::object running(json::object pod, const std::string& ip, const std::string& now) {
  make_object(pod, {"spec"})["nodeName"] = node_name;
  json::array statuses;
  if (const json::array* containers = array_at(pod, {"spec", "containers"})) {
    for (const json::value& item : *containers) {
      const json::object& container = item.get_object();
      statuses.push_back(json::object{{"name", text_at(container, {"name"})},
                                      {"state", json::object{{"running", json::object{{"startedAt", now}}}}},
                                      {"lastState", json::object()},
                                      {"ready", true},
                                      {"restartCount", 0},
                                      {"image", text_at(container, {"image"})},
                                      {"imageID", ""},
                                      {"started", true}});
    }
  }
  json::array conditions;
  for (const std::string_view type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    conditions.push_back(
        json::object{{"type", type}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now}});
  }
  pod["status"] = json::object{{"observedGeneration", int_at(pod, {"metadata", "generation"}, 1)},
                               {"phase", "Running"},
                               {"conditions", std::move(conditions)},
                               {"hostIP", node_ip},
                               {"podIP", ip},
                               {"podIPs", json::array{json::object{{"ip", ip}}}},
                               {"startTime", now},
                               {"containerStatuses", std::move(statuses)},
                               {"qosClass", "BestEffort"}};
  return pod;
}

bool is_ready(const json::object& pod) {
  return text_at(pod, {"status", "phase"}) == "Running" && find(pod, {"metadata", "deletionTimestamp"}) == nullptr;
}

json::object deployment_status(const json::object& deployment, std::int64_t replicas, std::int64_t ready,
                               const std::string& hash, const std::string& now) {
  json::object status{{"observedGeneration", int_at(deployment, {"metadata", "generation"})}};
  const std::int64_t wanted = int_at(deployment, {"spec", "replicas"});
  if (replicas > 0) {
    status["replicas"] = replicas;
    status["updatedReplicas"] = replicas;
  }
  if (ready > 0) {
    status["readyReplicas"] = ready;
    status["availableReplicas"] = ready;
  }
  if (wanted > ready) status["unavailableReplicas"] = wanted - ready;
  const std::string set = fmt::format("{}-{}", text_at(deployment, {"metadata", "name"}), hash);
  const bool available = ready >= wanted;
  json::object first = condition(
      "Available", available, available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      available ? "Deployment has minimum availability." : "Deployment does not have minimum availability.", now);
  json::object second = condition("Progressing", true, available ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
                                  available ? fmt::format("ReplicaSet \"{}\" has successfully progressed.", set)
                                            : fmt::format("ReplicaSet \"{}\" is progressing.", set),
                                  now);
  keep_times(first, deployment);
  keep_times(second, deployment);
  status["conditions"] = json::array{std::move(first), std::move(second)};
  return status;
}

json::object replica_set_status(const json::object& replica_set, std::int64_t replicas, std::int64_t ready) {
  json::object status{{"replicas", replicas}};
  if (replicas > 0) status["fullyLabeledReplicas"] = replicas;
  if (ready > 0) {
    status["readyReplicas"] = ready;
    status["availableReplicas"] = ready;
  }
  status["observedGeneration"] = int_at(replica_set, {"metadata", "generation"});
  return status;
}

json::object slice_for(const json::object& service, std::string_view family, const Documents& pods) {
  const std::string_view name = text_at(service, {"metadata", "name"});
  json::array endpoints;
  for (const json::object* pod : pods) {
    const std::string_view ip = text_at(*pod, {"status", "podIP"});
    if ((ip.find(':') != std::string_view::npos) != (family == "IPv6")) continue;
    const bool ready = is_ready(*pod);
    endpoints.push_back(
        json::object{{"addresses", json::array{json::string(ip)}},
                     {"conditions", json::object{{"ready", ready}, {"serving", ready}, {"terminating", !ready}}},
                     {"targetRef", pod_reference(*pod)},
                     {"nodeName", node_name}});
  }
  json::object metadata{
      {"namespace", text_at(service, {"metadata", "namespace"})},
      {"generateName", fmt::format("{}-", name)},
      {"labels", json::object{{"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"},
                              {"kubernetes.io/service-name", name}}},
      {"ownerReferences", owner(service)}};
  return {{"apiVersion", "discovery.k8s.io/v1"}, {"kind", "EndpointSlice"},
          {"metadata", std::move(metadata)},     {"addressType", family},
          {"endpoints", std::move(endpoints)},   {"ports", endpoint_ports(service, pods)}};
}

json::object endpoints_for(const json::object& service, const Documents& pods) {
  json::array addresses;
  for (const json::object* pod : pods) {
    if (is_ready(*pod))
      addresses.push_back(json::object{
          {"ip", text_at(*pod, {"status", "podIP"})}, {"nodeName", node_name}, {"targetRef", pod_reference(*pod)}});
  }
  json::object endpoints{{"apiVersion", "v1"},
                         {"kind", "Endpoints"},
                         {"metadata", json::object{{"name", text_at(service, {"metadata", "name"})},
                                                   {"namespace", text_at(service, {"metadata", "namespace"})}}}};
  if (!addresses.empty()) {
    endpoints["subsets"] =
        json::array{json::object{{"addresses", std::move(addresses)}, {"ports", endpoint_ports(service, pods)}}};
  }
  return endpoints;
}

}  // namespace sandbox
