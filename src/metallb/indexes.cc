#include "metallb/indexes.h"

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/names.h"
#include "metallb/association.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"

namespace metallb {
namespace {

using Entries = std::vector<kube::IndexEntry>;

// Index functions get the base class; stores guarantee the kind.
template <class T, class F>
kube::IndexSpec index(std::string_view name, F entries) {
  return {std::string(name),
          [entries](const kube::Object& object, Entries& out) { entries(static_cast<const T&>(object), out); }};
}

void by_service(const api::IPAddress& address, Entries& out) {
  if (address.associatedTo && address.associatedTo->kind == "Service") {
    out.push_back({slash(address.associatedTo->ns, address.associatedTo->name), ""});
  }
}

void by_label(const api::IPAddress& address, Entries& out) {
  const std::string own = address_label(address.meta.name);
  out.push_back({own, ""});
  const auto value = value_of(address);
  if (!value) return;
  if (std::string derived = base::object_name(*value); derived != own) out.push_back({std::move(derived), ""});
}

}  // namespace

std::string slash(std::string_view ns, std::string_view name) {
  std::string text(ns);
  text += '/';
  text += name;
  return text;
}

std::string pool_bucket(std::string_view pool, base::Family family) { return slash(pool, base::to_string(family)); }

std::vector<kube::IndexSpec> address_indexes() {
  std::vector<kube::IndexSpec> indexes = api::holding_indexes();
  indexes.push_back(index<api::IPAddress>(k_address_service_index, by_service));
  indexes.push_back(index<api::IPAddress>(k_address_label_index, by_label));
  return indexes;
}

std::vector<kube::IndexSpec> service_indexes(const Options& options) {
  const auto placeholders = [options](std::string_view name, auto entries) {
    return index<api::Service>(name, [options, entries](const api::Service& service, Entries& out) {
      if (is_placeholder(service, options)) entries(service, out);
    });
  };
  const auto by_claim = [options](const api::Service& service, Entries& out) {
    if (service.meta.ns == options.placeholder_namespace) return;
    const std::string* claim = service.meta.annotations.find(api::claim_annotation);
    if (claim != nullptr)
      out.push_back({slash(service.meta.ns, *claim), (is_copy(service) ? "0" : "1") + age_order(service.meta)});
  };
  return {
      index<api::Service>(k_service_claim_index, by_claim),
      index<api::Service>(k_service_line_index,
                          [options, by_claim](const api::Service& service, Entries& out) {
                            if (!service.meta.deleting && is_served_by_metallb(options, service))
                              by_claim(service, out);
                          }),
      index<api::Service>(k_service_shown_index,
                          [](const api::Service& service, Entries& out) {
                            for (const base::IpAddress& ip : shown(service)) out.push_back({ip.to_string(), ""});
                          }),
      index<api::Service>(k_service_uid_index,
                          [](const api::Service& service, Entries& out) {
                            if (service.meta.annotations.get(api::metallb::service_uid) == service.meta.uid)
                              out.push_back({service.meta.uid, ""});
                          }),
      index<api::Service>(k_owned_index,
                          [options](const api::Service& service, Entries& out) {
                            if (service.meta.ns != options.placeholder_namespace && !is_left_behind(service, options))
                              return;
                            for (const kube::OwnerReference& owner : service.meta.owners) {
                              if (is_address(owner)) out.push_back({owner.uid, ""});
                            }
                          }),
      placeholders(k_placeholder_address_index,
                   [](const api::Service& service, Entries& out) {
                     if (is_recorded(service)) {
                       out.push_back({std::string(service.meta.labels.get(api::metallb::ip_address)), ""});
                     }
                   }),
      placeholders(
          k_placeholder_claim_index,
          [](const api::Service& service, Entries& out) {
            if (is_recorded(service)) return;
            const kube::StringMap& annotations = service.meta.annotations;
            out.push_back(
                {slash(annotations.get(api::metallb::claim_namespace), annotations.get(api::metallb::claim_name)), ""});
          }),
      placeholders(k_unassigned_index,
                   [](const api::Service& service, Entries& out) {
                     const auto family = family_of(service);
                     if (family && is_unassigned(service)) {
                       out.push_back({pool_bucket(pool_of(service), *family), age_order(service.meta)});
                     }
                   }),
      placeholders(k_unrecorded_index,
                   [](const api::Service& service, Entries& out) {
                     const auto family = family_of(service);
                     if (family && !is_recorded(service) && !service.ingress.empty()) {
                       out.push_back({pool_bucket(pool_of(service), *family), age_order(service.meta)});
                     }
                   }),
      placeholders(k_placeholders_index,
                   [](const api::Service&, Entries& out) {
                     out.push_back({"", ""});
                   }),
  };
}

}  // namespace metallb
