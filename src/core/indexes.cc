#include "core/indexes.h"

#include "api/holds.h"
#include "api/names.h"

namespace core {
namespace {

const api::IPAddress& address_of(const kube::Object& object) { return static_cast<const api::IPAddress&>(object); }

void by_pair(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  const api::IPAddress& address = address_of(object);
  const auto value = value_of(address);
  if (value && is_matchable(address)) entries.push_back({pair_bucket(address.className, value->family()), ""});
}

void by_default(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  const auto& c = static_cast<const api::ClassRead&>(object);
  if (c.is_default() && !c.meta.deleting) entries.push_back({"", ""});
}

void by_name(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  if (!object.meta.deleting) entries.push_back({object.meta.name, ""});
}

void by_uid(const kube::Object& object, std::vector<kube::IndexEntry>& entries) {
  entries.push_back({object.meta.uid, ""});
}

}  // namespace

std::string pair_bucket(std::string_view class_name, base::Family family) {
  return std::string(class_name).append("/").append(base::to_string(family));
}

std::vector<kube::IndexSpec> address_indexes() {
  std::vector<kube::IndexSpec> indexes = api::holding_indexes();
  indexes.push_back({std::string(k_matchable), by_pair});
  return indexes;
}

std::vector<kube::IndexSpec> class_indexes() {
  return {{std::string(k_default_classes), by_default}, {std::string(k_class_by_name), by_name}};
}

std::vector<kube::IndexSpec> claim_indexes() { return {{std::string(k_claim_by_uid), by_uid}}; }

bool is_matchable(const api::IPAddress& address) {
  const kube::Condition* reserved = kube::find_condition(address.conditions, api::condition::reserved);
  return address.phase == api::phase::available && !address.claimRef && !address.associatedTo &&
         !address.meta.deleting && (reserved == nullptr || reserved->status != "False");
}

}  // namespace core
