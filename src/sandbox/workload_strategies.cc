// What the server makes of Deployments, ReplicaSets, Pods and admission policies before it stores them.
#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/protobuf.h"
#include "sandbox/strategies.h"

namespace sandbox {
namespace {

// What the schema's defaults cannot say, because it depends on other fields.
void complete_pod_spec(json::object& spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    json::value* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::value& item : containers->get_array()) {
      json::object* container = item.if_object();
      if (container == nullptr) continue;
      if (!container->contains("resources")) (*container)["resources"] = json::object();
      if (container->contains("imagePullPolicy")) continue;
      const std::string_view image = text_at(*container, {"image"});
      const std::string_view last = image.substr(image.find_last_of('/') + 1);
      const bool latest = last.find_first_of(":@") == std::string_view::npos || last.ends_with(":latest");
      (*container)["imagePullPolicy"] = latest ? "Always" : "IfNotPresent";
    }
  }
}

void check_containers(const json::object& spec, const std::string& path, Causes& causes) {
  const json::array* containers = array_at(spec, {"containers"});
  if (containers == nullptr || containers->empty()) {
    causes.push_back(field_required(path + ".containers"));
    return;
  }
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const json::object* container = (*containers)[i].if_object();
    const std::string at = path + ".containers[" + std::to_string(i) + "]";
    if (container == nullptr || text_at(*container, {"name"}).empty()) causes.push_back(field_required(at + ".name"));
    if (container == nullptr || text_at(*container, {"image"}).empty()) causes.push_back(field_required(at + ".image"));
  }
}

bool selects(const json::object& labels, const json::object* present) {
  for (const json::key_value_pair& label : labels) {
    const json::value* value = present == nullptr ? nullptr : present->if_contains(label.key());
    if (value == nullptr || !same(*value, label.value())) return false;
  }
  return true;
}

class WorkloadStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    const bool deployment = text_at(object, {"kind"}) == "Deployment";
    object["status"] = deployment ? json::object() : json::object{{"replicas", 0}};
    complete(object);
  }
  void prepare_update(json::object& object, const json::object&) const override { complete(object); }
  void validate(const json::object& object, const json::object* old, Causes& causes) const override {
    const json::object* selector = object_at(object, {"spec", "selector"});
    if (int_at(object, {"spec", "replicas"}) < 0) {
      causes.push_back(field_invalid("spec.replicas", std::to_string(int_at(object, {"spec", "replicas"})),
                                     "must be greater than or equal to 0"));
    }
    const json::object* labels = object_at(object, {"spec", "template", "metadata", "labels"});
    const bool moved = old != nullptr && selector != nullptr && !same(*selector, *find(*old, {"spec", "selector"}));
    if (selector == nullptr) causes.push_back(field_required("spec.selector"));
    const json::object* wanted = selector == nullptr ? nullptr : object_at(*selector, {"matchLabels"});
    if (selector == nullptr || (wanted != nullptr && !selects(*wanted, labels))) {
      causes.push_back(field_invalid("spec.template.metadata.labels", labels == nullptr ? "null" : to_text(*labels),
                                     "`selector` does not match template `labels`"));
    }
    if (moved) causes.push_back(field_invalid("spec.selector", to_text(*selector), "field is immutable"));
    const json::object* spec = object_at(object, {"spec", "template", "spec"});
    check_containers(spec == nullptr ? json::object() : *spec, "spec.template.spec", causes);
  }

 private:
  static void complete(json::object& object) {
    json::object& spec = make_object(object, {"spec"});
    json::object& pod = make_object(spec, {"template"});
    make_object(pod, {"metadata"});
    json::object& pod_spec = make_object(pod, {"spec"});
    complete_pod_spec(pod_spec);
    if (!pod_spec.contains("securityContext")) pod_spec["securityContext"] = json::object();
    if (text_at(spec, {"strategy", "type"}) != "RollingUpdate") return;
    json::object& rolling = make_object(spec, {"strategy", "rollingUpdate"});
    if (!rolling.contains("maxSurge")) rolling["maxSurge"] = "25%";
    if (!rolling.contains("maxUnavailable")) rolling["maxUnavailable"] = "25%";
  }
};

class PodStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    complete_pod_spec(make_object(object, {"spec"}));
    json::object& spec = make_object(object, {"spec"});
    if (!spec.contains("enableServiceLinks")) spec["enableServiceLinks"] = true;
    object["status"] = json::object{{"phase", "Pending"}, {"qosClass", "BestEffort"}};
  }
  void prepare_update(json::object& object, const json::object&) const override {
    complete_pod_spec(make_object(object, {"spec"}));
  }
  // What admission adds: how long it stays on a node in trouble, and its importance.
  Outcome<void> allocate(json::object& object, const json::object* old) const override {
    if (old != nullptr) return {};
    json::object& spec = make_object(object, {"spec"});
    json::array tolerations;
    if (const json::array* own = array_at(spec, {"tolerations"})) tolerations = *own;
    for (const std::string_view trouble : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
      const bool tolerated = std::ranges::any_of(tolerations, [trouble](const json::value& toleration) {
        return text_at(toleration.get_object(), {"key"}) == trouble;
      });
      if (tolerated) continue;
      tolerations.push_back(
          json::object{{"key", trouble}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
    }
    spec["tolerations"] = std::move(tolerations);
    if (!spec.contains("priority")) spec["priority"] = 0;
    if (!spec.contains("preemptionPolicy")) spec["preemptionPolicy"] = "PreemptLowerPriority";
    return {};
  }
  void validate(const json::object& object, const json::object* old, Causes& causes) const override {
    if (old == nullptr) check_containers(*object_at(object, {"spec"}), "spec", causes);
  }
};

class PolicyStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    if (text_at(object, {"kind"}) == "ValidatingAdmissionPolicy") object["status"] = json::object();
  }
  void validate(const json::object& object, const json::object*, Causes& causes) const override {
    const std::string_view kind = text_at(object, {"kind"});
    if (kind.ends_with("Binding")) {
      if (text_at(object, {"spec", "policyName"}).empty()) causes.push_back(field_required("spec.policyName"));
      if (kind.starts_with("Validating") && array_at(object, {"spec", "validationActions"}) == nullptr)
        causes.push_back(field_required("spec.validationActions", "at least one validation action is required"));
      return;
    }
    if (!kind.ends_with("Policy")) return;
    const json::object* constraints = object_at(object, {"spec", "matchConstraints"});
    if (constraints == nullptr) {
      causes.push_back(field_required("spec.matchConstraints"));
    } else if (array_at(*constraints, {"resourceRules"}) == nullptr) {
      causes.push_back(field_required("spec.matchConstraints.resourceRules"));
    }
    if (kind.starts_with("Validating")) {
      check_validations(object, causes);
    } else if (array_at(object, {"spec", "mutations"}) == nullptr) {
      causes.push_back(field_required("spec.mutations"));
    }
  }

 private:
  static void check_validations(const json::object& object, Causes& causes) {
    const json::array* validations = array_at(object, {"spec", "validations"});
    if (validations == nullptr) {
      if (array_at(object, {"spec", "auditAnnotations"}) != nullptr) return;
      for (const char* field : {"spec.validations", "spec.auditAnnotations"})
        causes.push_back(field_required(field, "validations or auditAnnotations must contain at least one item"));
      return;
    }
    for (std::size_t i = 0; i < validations->size(); ++i) {
      const json::object* rule = (*validations)[i].if_object();
      if (rule != nullptr && !text_at(*rule, {"expression"}).empty()) continue;
      causes.push_back(
          field_required("spec.validations[" + std::to_string(i) + "].expression", "expression is not specified"));
    }
  }
};

class SecretStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override { merge_texts(object); }
  void prepare_update(json::object& object, const json::object&) const override { merge_texts(object); }

 private:
  // stringData is for writing only
  static void merge_texts(json::object& object) {
    if (text_at(object, {"type"}).empty()) object["type"] = "Opaque";
    const json::object* texts = object_at(object, {"stringData"});
    if (texts == nullptr) return;
    const json::object copy = *texts;
    json::object& data = make_object(object, {"data"});
    for (const json::key_value_pair& text : copy) {
      if (text.value().is_string()) data[text.key()] = base64(view(text.value().get_string()));
    }
    object.erase("stringData");
  }
};

}  // namespace

std::shared_ptr<Strategy> secret_strategy() { return std::make_shared<SecretStrategy>(); }
std::shared_ptr<Strategy> workload_strategy() { return std::make_shared<WorkloadStrategy>(); }
std::shared_ptr<Strategy> pod_strategy() { return std::make_shared<PodStrategy>(); }
std::shared_ptr<Strategy> policy_strategy() { return std::make_shared<PolicyStrategy>(); }

}  // namespace sandbox
