// One pass over one claim, in its parts: claim.cc (what is missing, and its placeholders), claim_recording.cc (what
// MetalLB has assigned becomes an address) and claim_waiting.cc (why it waits). Internal to the folder.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/class.h"
#include "metallb/context.h"
#include "metallb/ledger.h"
#include "metallb/names.h"
#include "metallb/placeholder.h"

namespace metallb {

class ClaimPass {
 public:
  ClaimPass(const Context& context, kube::View& view, const kube::Key& key)
      : context_(context), view_(view), key_(key), claim_(view.get<api::IPAddressClaim>(key.ns, key.name)) {}

  kube::Plan run();

 private:
  struct Trouble {
    std::string reason;
    std::string message;
  };

  static kube::Ref ref(const api::Service& service) {
    return {&api::Service::kind().resource, service.meta.ns, service.meta.name};
  }

  // --- claim.cc ---
  void find_missing();
  bool is_about_to_be_of_other_class() const;
  Allocation allocation_for(base::Family family);
  bool is_needed(const api::Service& placeholder);
  bool is_being_recorded(const api::Service& placeholder);
  void remove_unneeded();
  void remove(const api::Service& placeholder, std::string step);
  void serve(base::Family family);
  void want(base::Family family, std::string_view value);

  // --- claim_recording.cc ---
  void observe(base::Family family, const api::Service& placeholder);
  bool is_pool_foreign();
  void replace(const api::Service& placeholder);
  void record(const api::Service& placeholder, const base::IpAddress& ip);
  boost::json::object address_body(const base::IpAddress& ip) const;
  void mismatch(const api::Service& placeholder, const base::IpAddress& ip);

  // --- claim_waiting.cc ---
  // Why a class whose parameters are fine has no pool: its own reason, in words for a tenant. The class's message may
  // name what belongs to others.
  static Trouble why_no_pool(const api::IPAddressClass& cls);
  static std::string wait_name(std::string_view what, base::Family family);
  std::string state_in(const std::string& bucket);
  bool lasts(const std::string& fact, base::Duration patience);
  void wait_for_turn(base::Family family);
  void wait_for_deletion(base::Family family);
  void wait_for_backend(base::Family family, const api::Service& placeholder);
  void wait_for_ledger(const base::IpAddress& ip);
  void wait_for_own(const api::IPAddress& address, base::Family family);
  void exhausted(base::Family family);
  void forget_waits();
  void tell(const Trouble& trouble);
  void complain(std::string_view reason, std::string message);
  bool is_condition_ours(const kube::Condition* current);
  void report();

  const Context& context_;
  kube::View& view_;
  const kube::Key& key_;
  const api::IPAddressClaim* claim_;
  ServedClass class_;  // only while the claim is ours to serve
  Halves halves_;
  std::vector<base::Family> missing_;
  bool changes_class_ = false;  // a family is missing, and is not to be served before the core resolves another class
  std::optional<Trouble> trouble_;
  std::vector<std::string> waits_;
  std::vector<kube::Write> creates_;
  std::size_t leftover_ = 0;
  kube::Plan plan_;
};

}  // namespace metallb
