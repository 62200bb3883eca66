#include "sandbox/rules.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/ip.h"

namespace sandbox {
namespace {

const json::value* member(const json::value* of, std::string_view name) {
  const json::object* object = of == nullptr ? nullptr : of->if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

bool has(const json::value* of, std::string_view name) { return member(of, name) != nullptr; }

std::string_view text(const json::value* value) {
  return value != nullptr && value->is_string() ? view(value->get_string()) : std::string_view();
}

bool equal(const json::value* a, const json::value* b) { return a == nullptr || b == nullptr ? a == b : same(*a, *b); }

bool spec_required(const json::value& self, const json::value* old) {
  return has(&self, "spec") || (old != nullptr && !has(old, "spec"));
}

bool spec_immutable_once_reported(const json::value& self, const json::value* old) {
  const json::value* addresses = member(member(old, "status"), "addresses");
  const bool reported = addresses != nullptr && addresses->is_array() && !addresses->get_array().empty();
  return !reported || equal(member(&self, "spec"), member(old, "spec"));
}

bool phase_never_back_to_pending(const json::value& self, const json::value* old) {
  const json::value* before = member(member(old, "status"), "phase");
  if (before == nullptr || text(before) == "Pending") return true;
  const json::value* now = member(member(&self, "status"), "phase");
  return now != nullptr && text(now) != "Pending";
}

bool dual_without_address_name(const json::value& self, const json::value*) {
  return text(member(&self, "family")) != "Dual" || text(member(&self, "addressName")).empty();
}

bool unchanged(const json::value& self, const json::value* old) { return old == nullptr || same(self, *old); }

bool ip_text(const json::value& self, const json::value*) { return is_ip(text(&self)); }

bool canonical_if_ip(const json::value& self, const json::value*) {
  if (!is_ip(text(&self))) return true;
  return base::IpAddress::parse(text(&self))->to_string() == text(&self);
}

bool unicast_if_ip(const json::value& self, const json::value*) {
  if (!is_ip(text(&self))) return true;
  return base::IpAddress::parse(text(&self))->is_claimable();
}

bool claim_ref_not_repointed(const json::value& self, const json::value* old) {
  return equal(member(&self, "name"), member(old, "name")) &&
         equal(member(&self, "namespace"), member(old, "namespace"));
}

bool exactly_one_source(const json::value& self, const json::value*) {
  return has(&self, "fromClass") != has(&self, "providerRef");
}

bool source_immutable(const json::value& self, const json::value* old) {
  if (has(&self, "fromClass") != has(old, "fromClass")) return false;
  if (!has(&self, "providerRef")) return true;
  return text(member(member(&self, "providerRef"), "id")) == text(member(member(old, "providerRef"), "id"));
}

struct Entry {
  std::string_view text;
  NativeRule function;
};

constexpr auto table = std::to_array<Entry>({
    {"has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))", spec_required},
    {"!has(oldSelf.status) || !has(oldSelf.status.addresses) || size(oldSelf.status.addresses) == 0 || (has(self.spec) "
     "== "
     "has(oldSelf.spec) && (!has(self.spec) || self.spec == oldSelf.spec))",
     spec_immutable_once_reported},
    {"!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase == 'Pending' || (has(self.status) && "
     "has(self.status.phase) && self.status.phase != 'Pending')",
     phase_never_back_to_pending},
    {"self.family != 'Dual' || !has(self.addressName) || self.addressName == ''", dual_without_address_name},
    {"self == oldSelf", unchanged},
    {"isIP(self)", ip_text},
    {"!isIP(self) || ip.isCanonical(self)", canonical_if_ip},
    {"!isIP(self) || ip(self).isGlobalUnicast() || ip(self).isLinkLocalUnicast()", unicast_if_ip},
    {"self.name == oldSelf.name && self.__namespace__ == oldSelf.__namespace__", claim_ref_not_repointed},
    {"[has(self.fromClass), has(self.providerRef)].exists_one(x, x)", exactly_one_source},
    {"has(self.fromClass) == has(oldSelf.fromClass) && (!has(self.providerRef) || self.providerRef.id == "
     "oldSelf.providerRef.id)",
     source_immutable},
});

}  // namespace

NativeRule native_rule(std::string_view rule) {
  const auto* entry = std::ranges::find(table, rule, &Entry::text);
  return entry == table.end() ? nullptr : entry->function;
}

bool is_ip(std::string_view candidate) {
  const auto address = base::IpAddress::parse(candidate);
  // IPv4-mapped text parses to the IPv4 address; CEL refuses it
  return address && (address->family() == base::Family::v6 || candidate.find(':') == std::string_view::npos);
}

}  // namespace sandbox
