// Driver design §4.2 to §4.4: what MetalLB has assigned becomes an address, or is given back.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "metallb/claim_pass.h"
#include "metallb/indexes.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

namespace json = boost::json;

// A placeholder that was given what it must not keep is replaced at this pace.
constexpr int k_replace_burst = 3;
constexpr base::Duration k_replace_refill = std::chrono::seconds(30);

}  // namespace

// Driver design §4.2, by value: one address of the family, of this class, out of this pool.
void ClaimPass::observe(base::Family family, const api::Service& placeholder) {
  const std::vector<base::IpAddress> ips = shown(placeholder);
  const std::string pool = pool_name(claim_->status_className);
  const bool right = ips.size() == 1 && placeholder.ingress.size() == 1 && ips.front().family() == family &&
                     class_.parameters().ranges.contains(ips.front()) &&
                     placeholder.meta.annotations.get(api::metallb::allocated_from) == pool && !is_pool_foreign();
  if (right) return record(placeholder, ips.front());
  complain(reason::outside_class, "MetalLB assigned an address that is not of class " + claim_->status_className +
                                      ": it is given back and another one asked for");
  replace(placeholder);
}

// Somebody else's pool has the name of the class's.
bool ClaimPass::is_pool_foreign() {
  const std::string& ns = context_.options.metallb_namespace;
  const std::string& name = claim_->status_className;
  return pool_of_class(view_, ns, name) == nullptr && view_.get<api::IPAddressPool>(ns, pool_name(name)) != nullptr;
}

void ClaimPass::replace(const api::Service& placeholder) {
  const base::Duration wait = view_.throttle("replace", k_replace_burst, k_replace_refill);
  if (wait > base::Duration::zero()) return plan_.then_look_after(wait);
  const std::size_t before = plan_.writes.size();
  remove(placeholder, "placeholder-replace");
  const bool spent = std::ranges::find(plan_.spends, "replace") != plan_.spends.end();
  if (plan_.writes.size() > before && !spent) plan_.spends.emplace_back("replace");
}

// Driver design §4.3 and §4.4.
void ClaimPass::record(const api::Service& placeholder, const base::IpAddress& ip) {
  const api::IPAddress* ours = nullptr;
  bool others = false;
  bool going = false;
  view_.each<api::IPAddress>(k_address_value_index, ip.to_string(), [&](const api::IPAddress& address) {
    const bool is_of_claim = address.claimRef && address.claimRef->uid == claim_->meta.uid;
    const bool is_going = address.meta.deleting && holder_of(view_, address) == nullptr;
    if (!is_going && is_of_claim) ours = &address;
    going = going || is_going;
    others = others || (!is_going && !is_of_claim);
    return true;
  });
  if (others) return mismatch(placeholder, ip);
  if (ours != nullptr) return wait_for_own(*ours, ip.family());
  if (going) return wait_for_ledger(ip);
  const std::string name = base::object_name(ip);
  if (view_.get<api::IPAddress>(name) != nullptr) {
    return complain(reason::name_taken, "an IPAddress object named " + name + " exists for another address");
  }
  const kube::Ref self{&api::IPAddressClaim::kind().resource, claim_->meta.ns, claim_->meta.name};
  if (view_.busy({&api::IPAddress::kind().resource, "", name})) return;
  if (view_.confirmed(self)) {
    creates_.push_back(kube::create(api::IPAddress::kind().resource, address_body(ip), "address-record"));
  } else {
    plan_.confirms = {{self}};
  }
}

json::object ClaimPass::address_body(const base::IpAddress& ip) const {
  return {{"metadata", json::object{{"name", base::object_name(ip)},
                                    {"finalizers", json::array{json::string(api::metallb::teardown)}}}},
          {"spec", json::object{{"address", ip.to_string()},
                                {"className", claim_->status_className},
                                {"reclaimPolicy", class_.object->reclaimPolicy},
                                {"claimRef", json::object{{"namespace", claim_->meta.ns},
                                                          {"name", claim_->meta.name},
                                                          {"uid", claim_->meta.uid}}},
                                {"source", json::object{{"fromClass", json::object{}}}}}}};
}

// Driver design §4.4: MetalLB and the ledger disagree. The owner's hold gets the address back when the placeholder is
// gone.
void ClaimPass::mismatch(const api::Service& placeholder, const base::IpAddress& ip) {
  const std::string message =
      "MetalLB assigned " + ip.to_string() + ", which is reserved already: it is given back and another one asked for";
  complain(reason::ledger_mismatch, message);
  const std::size_t before = plan_.writes.size();
  replace(placeholder);
  if (plan_.writes.size() > before) tell({std::string(reason::ledger_mismatch), message});
}

}  // namespace metallb
