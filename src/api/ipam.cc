#include "api/ipam.h"

#include "api/names.h"
#include "kube/json_decode.h"

namespace kube::json {

using api::Association;
using api::ClaimRef;
using api::ClassRead;
using api::IPAddress;
using api::IPAddressClaim;
using api::IPAddressClass;
using api::ReportedAddress;

template <>
struct Fields<ClaimRef> {
  static constexpr std::array list{field<&ClaimRef::ns>("namespace"), field<&ClaimRef::name>("name"),
                                   field<&ClaimRef::uid>("uid")};
};

template <>
struct Fields<Association> {
  static constexpr std::array list{field<&Association::kind>("kind"), field<&Association::ns>("namespace"),
                                   field<&Association::name>("name"), field<&Association::uid>("uid")};
};

template <>
struct Fields<ReportedAddress> {
  static constexpr std::array list{field<&ReportedAddress::name>("name"), field<&ReportedAddress::address>("address")};
};

namespace {

// The whole status is kept as text, and its conditions are read out of that.
bool read_class_status(Value& value, IPAddressClass& out, Trail& trail) {
  if (!read_raw(value, out.status, trail)) return false;
  const auto read_key = [](std::string_view key, Value& v, void* conditions, Trail& t) {
    return key != "conditions" || read(v, *static_cast<std::vector<Condition>*>(conditions), t);
  };
  out.conditions.clear();
  return read_fragment(out.status, &out.conditions, read_key, trail);
}

constexpr std::array class_spec{field<&IPAddressClass::provisioner>("provisioner"),
                                field<&IPAddressClass::reclaimPolicy>("reclaimPolicy"),
                                raw_field<&IPAddressClass::parameters>("parameters")};
// The core's view: what it must not look at is not even read.
bool same_class_read(const Object& x, const Object& y) {
  const auto& a = static_cast<const ClassRead&>(x);
  const auto& b = static_cast<const ClassRead&>(y);
  return a.meta.uid == b.meta.uid && a.meta.deleting == b.meta.deleting && a.is_default() == b.is_default() &&
         a.provisioner == b.provisioner;
}
constexpr std::array class_read_spec{
    Field<ClassRead>{"provisioner", [](Value& v, ClassRead& out, Trail& t) { return read(v, out.provisioner, t); },
                     [](const ClassRead& a, const ClassRead& b) { return a.provisioner == b.provisioner; }}};

bool read_from_class(Value&, IPAddress& out, Trail&) { return out.from_class = true; }
bool same_from_class(const IPAddress& a, const IPAddress& b) { return a.from_class == b.from_class; }
constexpr std::array provider_ref{field<&IPAddress::provider_id>("id")};
constexpr std::array address_source{Field<IPAddress>{"fromClass", read_from_class, same_from_class},
                                    section<IPAddress, provider_ref>("providerRef")};
constexpr std::array address_spec{field<&IPAddress::address>("address"), field<&IPAddress::className>("className"),
                                  field<&IPAddress::reclaimPolicy>("reclaimPolicy"),
                                  field<&IPAddress::claimRef>("claimRef"),
                                  section<IPAddress, address_source>("source")};
constexpr std::array address_status{field<&IPAddress::phase>("phase"), field<&IPAddress::associatedTo>("associatedTo"),
                                    field<&IPAddress::conditions>("conditions")};

constexpr std::array claim_spec{field<&IPAddressClaim::className>("className"),
                                field<&IPAddressClaim::addressName>("addressName"),
                                field<&IPAddressClaim::family>("family")};
constexpr std::array claim_status{
    field<&IPAddressClaim::phase>("phase"), field<&IPAddressClaim::status_className>("className"),
    field<&IPAddressClaim::addresses>("addresses"), field<&IPAddressClaim::conditions>("conditions")};

constexpr Resource class_resource{api::group, "v1alpha1", "ipaddressclasses", "IPAddressClass", false};
constexpr Resource address_resource{api::group, "v1alpha1", "ipaddresses", "IPAddress", false};
constexpr Resource claim_resource{api::group, "v1alpha1", "ipaddressclaims", "IPAddressClaim", true};

}  // namespace

template <>
struct Fields<IPAddressClass> {
  static constexpr std::array list{
      section<IPAddressClass, class_spec>("spec"),
      Field<IPAddressClass>{"status", read_class_status,
                            [](const IPAddressClass& a, const IPAddressClass& b) { return a.status == b.status; }}};
  // Defaults of the schema, for objects stored before it had them.
  static void settle(IPAddressClass& c) {
    if (c.reclaimPolicy.empty()) c.reclaimPolicy = "Retain";
  }
};

template <>
struct Fields<ClassRead> {
  static constexpr std::array list{section<ClassRead, class_read_spec>("spec")};
};

template <>
struct Fields<IPAddress> {
  static constexpr std::array list{section<IPAddress, address_spec>("spec"),
                                   section<IPAddress, address_status>("status")};
  static void settle(IPAddress& a) {
    if (a.reclaimPolicy.empty()) a.reclaimPolicy = "Retain";
    // Stored as {} by an older schema: it names no claim and no workload.
    if (a.claimRef && a.claimRef->ns.empty() && a.claimRef->name.empty()) a.claimRef.reset();
    if (a.associatedTo && a.associatedTo->kind.empty() && a.associatedTo->name.empty()) a.associatedTo.reset();
  }
};

template <>
struct Fields<IPAddressClaim> {
  static constexpr std::array list{section<IPAddressClaim, claim_spec>("spec"),
                                   section<IPAddressClaim, claim_status>("status")};
  static void settle(IPAddressClaim& c) {
    if (c.family.empty()) c.family = "IPv4";
  }
};

}  // namespace kube::json

namespace api {

bool IPAddressClass::is_default() const { return meta.annotations.get(default_class_annotation) == "true"; }

const kube::Kind& IPAddressClass::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<IPAddressClass, kube::json::class_resource>();
  return kind;
}

const kube::Kind& ClassRead::kind() {
  static constexpr kube::Kind kind = [] {
    kube::Kind k = kube::json::kind_of<ClassRead, kube::json::class_resource>();
    k.same = kube::json::same_class_read;
    return k;
  }();
  return kind;
}

const kube::Kind& IPAddress::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<IPAddress, kube::json::address_resource>();
  return kind;
}

const kube::Kind& IPAddressClaim::kind() {
  static constexpr kube::Kind kind = kube::json::kind_of<IPAddressClaim, kube::json::claim_resource>();
  return kind;
}

}  // namespace api
