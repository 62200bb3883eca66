#include "sandbox/strategies.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>

#include "sandbox/metadata.h"

namespace sandbox {

void Strategy::prepare_create(json::object&) const {}
void Strategy::prepare_update(json::object&, const json::object&) const {}

void Strategy::prepare_status(json::object& object, const json::object& old) const {
  // built-in kinds: everything but status and metadata stays as it was
  json::value metadata = std::move(object["metadata"]);
  json::value status = object.contains("status") ? std::move(object["status"]) : json::value(nullptr);
  object = old;
  object["metadata"] = std::move(metadata);
  if (status.is_null()) {
    object.erase("status");
  } else {
    object["status"] = std::move(status);
  }
}

void Strategy::validate(const json::object&, const json::object*, Causes&) const {}
void Strategy::validate_status(const json::object&, const json::object&, Causes&) const {}
void Strategy::drop_chosen(json::object& object, const json::object&) const { object.erase("status"); }
Outcome<void> Strategy::allocate(json::object&, const json::object*) const { return {}; }
bool Strategy::held(const json::object& object) const { return !finalizers_of(object).empty(); }

void Strategy::deletion_started(json::object& object) const {
  make_object(object, {"metadata"})["deletionGracePeriodSeconds"] = 0;
}

void Strategy::replaced(const json::object*, const json::object*) {}

namespace {

class CustomStrategy final : public Strategy {
 public:
  void prepare_status(json::object& object, const json::object& old) const override {
    json::value status = object.contains("status") ? std::move(object["status"]) : json::value(nullptr);
    object = old;
    if (status.is_null()) {
      object.erase("status");
    } else {
      object["status"] = std::move(status);
    }
  }
};

void label_with_name(json::object& metadata) {
  const std::string name(text_at(metadata, {"name"}));  // a copy: adding the labels may move what a view would point to
  make_object(metadata, {"labels"})["kubernetes.io/metadata.name"] = name;
}

class NamespaceStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    json::object& metadata = make_object(object, {"metadata"});
    label_with_name(metadata);
    json::array& finalizers = (make_object(object, {"spec"})["finalizers"] = json::array()).get_array();
    finalizers.emplace_back("kubernetes");
    object["status"] = json::object{{"phase", "Active"}};
  }
  void drop_chosen(json::object& object, const json::object&) const override {
    object.erase("spec");
    object.erase("status");
  }
  void prepare_update(json::object& object, const json::object& old) const override {
    json::object& metadata = make_object(object, {"metadata"});
    label_with_name(metadata);
    object["spec"] = old.at("spec");
  }
  bool held(const json::object& object) const override {
    const json::array* finalizers = array_at(object, {"spec", "finalizers"});
    return Strategy::held(object) || (finalizers != nullptr && !finalizers->empty());
  }
  void deletion_started(json::object& object) const override {
    make_object(object, {"status"})["phase"] = "Terminating";
  }
};

class LeaseStrategy final : public Strategy {
 public:
  void validate(const json::object& object, const json::object*, Causes& causes) const override {
    const json::object* spec = object_at(object, {"spec"});
    if (spec == nullptr) return;
    if (spec->contains("leaseDurationSeconds") && int_at(*spec, {"leaseDurationSeconds"}) <= 0) {
      causes.push_back(field_invalid("spec.leaseDurationSeconds", to_text(spec->at("leaseDurationSeconds")),
                                     "must be greater than 0"));
    }
    if (spec->contains("leaseTransitions") && int_at(*spec, {"leaseTransitions"}) < 0) {
      causes.push_back(field_invalid("spec.leaseTransitions", to_text(spec->at("leaseTransitions")),
                                     "must be greater than or equal to 0"));
    }
  }
};

// Events are stored in their core/v1 form.
class EventStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    for (const std::string_view field : {"firstTimestamp", "lastTimestamp", "eventTime"}) {
      if (!object.contains(field)) object[field] = nullptr;
    }
    if (!object.contains("source")) object["source"] = json::object();
    for (const std::string_view field : {"reportingComponent", "reportingInstance"}) {
      if (!object.contains(field)) object[field] = "";
    }
  }
  void prepare_update(json::object& object, const json::object&) const override { prepare_create(object); }
  void validate(const json::object& object, const json::object*, Causes& causes) const override {
    if (!text_at(object, {"eventTime"}).empty()) check_series_api(object, causes);
  }

 private:
  static void check_series_api(const json::object& object, Causes& causes) {
    for (const std::string_view field : {"eventTime", "reportingComponent", "reportingInstance", "action", "reason"}) {
      if (!text_at(object, {field}).empty()) continue;
      const bool renamed = field == "reportingComponent";
      causes.push_back(field_required(renamed ? "reportingController" : std::string(field)));
    }
    if (text_at(object, {"message"}).size() > 1024) {
      causes.push_back(field_invalid("message", "\"\"", "can have at most 1024 characters"));
    }
    if (text_at(object, {"reportingInstance"}).size() > 128) {
      causes.push_back(field_invalid("reportingInstance", "\"\"", "can have at most 128 characters"));
    }
  }
};

// What events.k8s.io/v1 asks for beyond that of what is written through it.
class EventViewStrategy final : public Strategy {
 public:
  void validate(const json::object& object, const json::object* old, Causes& causes) const override {
    if (text_at(object, {"eventTime"}).empty()) causes.push_back(field_required("eventTime"));
    const std::string_view type = text_at(object, {"type"});
    if (type != "Normal" && type != "Warning") {
      causes.push_back(field_invalid("type", "\"\"", "has invalid value: " + std::string(type)));
    }
    if (old != nullptr) check_unchanged(object, *old, causes);
  }

 private:
  static void check_unchanged(const json::object& object, const json::object& old, Causes& causes) {
    for (const std::string_view field :
         {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
          "eventTime", "action", "related", "reportingComponent", "reportingInstance"}) {
      const json::value* now = object.if_contains(field);
      const json::value* was = old.if_contains(field);
      if ((now == nullptr) == (was == nullptr) && (now == nullptr || same(*now, *was))) continue;
      causes.push_back(
          field_invalid(std::string(field), now == nullptr ? "null" : shown_value(*now), "field is immutable"));
    }
  }
};

// Endpoint slices: ports have a name and a protocol.
class SliceStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    if (json::value* endpoints = object.if_contains("endpoints"); endpoints != nullptr && endpoints->is_array()) {
      for (json::value& endpoint : endpoints->get_array()) make_object(endpoint.get_object(), {"conditions"});
    }
    json::value* ports = object.if_contains("ports");
    if (ports == nullptr || !ports->is_array()) return;
    for (json::value& item : ports->get_array()) {
      json::object& port = item.get_object();
      if (!port.contains("name")) port["name"] = "";
      if (!port.contains("protocol")) port["protocol"] = "TCP";
    }
  }
  void prepare_update(json::object& object, const json::object&) const override { prepare_create(object); }
};

class DefinitionStrategy final : public Strategy {
 public:
  void prepare_create(json::object& object) const override {
    json::object& names = make_object(object, {"spec", "names"});
    const std::string kind(text_at(names, {"kind"}));
    if (!names.contains("listKind")) names["listKind"] = kind + "List";
    if (!names.contains("singular")) {
      std::string singular = kind;
      for (char& c : singular) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      names["singular"] = singular;
    }
    const std::string now(text_at(object, {"metadata", "creationTimestamp"}));
    json::array conditions = conditions_of(object, now);
    json::array versions;
    if (const json::array* listed = array_at(object, {"spec", "versions"})) {
      for (const json::value& version : *listed) {
        if (version.is_object() && bool_at(version.get_object(), {"storage"}))
          versions.emplace_back(text_at(version.get_object(), {"name"}));
      }
    }
    object["status"] = json::object{
        {"conditions", std::move(conditions)}, {"acceptedNames", names}, {"storedVersions", std::move(versions)}};
  }
  void prepare_update(json::object& object, const json::object& old) const override {
    json::object& status = make_object(object, {"status"});
    const bool same_spec = old.contains("spec") && same(object["spec"], old.at("spec"));
    if (!same_spec) status["conditions"] = conditions_of(object, text_at(object, {"metadata", "creationTimestamp"}));
  }
  void validate(const json::object& object, const json::object*, Causes& causes) const override {
    if (const std::string fault = crd_fault(object); !fault.empty()) {
      causes.push_back(field_invalid("spec", {}, fault));
      return;
    }
    const std::string wanted =
        fmt::format("{}.{}", text_at(object, {"spec", "names", "plural"}), text_at(object, {"spec", "group"}));
    const std::string_view name = text_at(object, {"metadata", "name"});
    if (name != wanted)
      causes.push_back(field_invalid("metadata.name", quote(name), "must be spec.names.plural+\".\"+spec.group"));
  }

 private:
  // A definition with something that the sandbox cannot enforce is kept and says so, but its kind is not served.
  static json::array conditions_of(const json::object& object, std::string_view now) {
    const auto kind = kind_of_crd(object);
    json::array conditions;
    conditions.push_back(json::object{{"type", "NamesAccepted"},
                                      {"status", "True"},
                                      {"lastTransitionTime", now},
                                      {"reason", "NoConflicts"},
                                      {"message", "no conflicts found"}});
    conditions.push_back(
        json::object{{"type", "Established"},
                     {"status", kind ? "True" : "False"},
                     {"lastTransitionTime", now},
                     {"reason", kind ? "InitialNamesAccepted" : "NotUnderstood"},
                     {"message", kind ? "the initial names have been accepted"
                                      : "the sandbox does not serve what it cannot enforce: " + kind.error().message}});
    return conditions;
  }
};

struct Renamed {
  std::string_view core;
  std::string_view v1;
};
constexpr auto event_fields = std::to_array<Renamed>({{"involvedObject", "regarding"},
                                                      {"message", "note"},
                                                      {"reportingComponent", "reportingController"},
                                                      {"source", "deprecatedSource"},
                                                      {"firstTimestamp", "deprecatedFirstTimestamp"},
                                                      {"lastTimestamp", "deprecatedLastTimestamp"},
                                                      {"count", "deprecatedCount"}});

void rename(json::object& object, std::string_view from, std::string_view to) {
  json::value* value = object.if_contains(from);
  if (value == nullptr) return;
  json::value moved = std::move(*value);
  object.erase(from);
  object[to] = std::move(moved);
}

}  // namespace

void event_to_core(json::object& event) {
  for (const Renamed& field : event_fields) rename(event, field.v1, field.core);
  event["apiVersion"] = "v1";
}

void event_from_core(json::object& event) {
  for (const Renamed& field : event_fields) rename(event, field.core, field.v1);
  event["apiVersion"] = "events.k8s.io/v1";
  for (const std::string_view field : {"reportingController", "reportingInstance"}) {
    if (text_at(event, {field}).empty()) event.erase(field);
  }
}

std::shared_ptr<Strategy> plain_strategy() { return std::make_shared<Strategy>(); }
std::shared_ptr<Strategy> custom_strategy() { return std::make_shared<CustomStrategy>(); }
std::shared_ptr<Strategy> namespace_strategy() { return std::make_shared<NamespaceStrategy>(); }
std::shared_ptr<Strategy> lease_strategy() { return std::make_shared<LeaseStrategy>(); }
std::shared_ptr<Strategy> event_strategy() { return std::make_shared<EventStrategy>(); }
std::shared_ptr<Strategy> event_view_strategy() { return std::make_shared<EventViewStrategy>(); }
std::shared_ptr<Strategy> slice_strategy() { return std::make_shared<SliceStrategy>(); }
std::shared_ptr<Strategy> definition_strategy() { return std::make_shared<DefinitionStrategy>(); }

}  // namespace sandbox
