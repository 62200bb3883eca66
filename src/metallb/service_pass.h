// One pass over one Service that concerns us, in its parts: service.cc (who gets what), service_pin.cc (what is written
// on it) and service_letting_go.cc (how it is rid of it). Internal to the folder.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/association.h"
#include "metallb/context.h"
#include "metallb/eligibility.h"

namespace metallb {

class ServicePass {
 public:
  using Addresses = std::vector<const api::IPAddress*>;
  ServicePass(const Context& context, kube::View& view, const api::Service& service)
      : context_(context),
        view_(view),
        service_(service),
        mine_(associated_with(view, service)),
        kept_(kept(view, context.options, service)) {}

  kube::Plan run();

 private:
  static const kube::Resource& services() { return api::Service::kind().resource; }
  static const kube::Resource& addresses() { return api::IPAddress::kind().resource; }

  kube::Ref self() const { return {&services(), service_.meta.ns, service_.meta.name}; }
  bool is_busy(const api::IPAddress& address) { return view_.busy({&addresses(), "", address.meta.name}); }

  void tell(std::string_view reason, std::string_view action, std::string note, bool warning, bool once);
  void refuse(const Refusal& refusal) { tell(refusal.reason, "Attach", refusal.note, true, true); }

  bool lasts(const std::string& fact, bool holds, base::Duration patience);

  // --- service.cc ---
  bool is_restoring();
  void take_up();
  const api::IPAddressClaim* bound_claim();
  bool attach();
  bool is_claim_ours(const api::IPAddressClaim& claim);
  enum class Way { free, being_cleared, taken };
  Way way_to(const api::IPAddressClaim& claim);
  bool is_first_in_line(const api::IPAddressClaim& claim);
  void associate(const Addresses& chosen);
  bool is_hold_keyed(const api::IPAddress& address);
  void associate(const api::IPAddress& address);
  void maintain();
  bool is_barred(const Refusal& refusal);
  bool is_all_held();
  bool complete(const api::IPAddressClaim& claim, const Addresses& chosen);
  void withdraw();

  // --- service_pin.cc ---
  bool is_pin_good(const Addresses& wanted, bool partial);

  // The key by which the holds are ready to share with this Service.
  struct Joint {
    bool ready = true;
    std::string key;  // "" if there is nothing to share
  };
  Joint joint_with_holds(const Addresses& wanted);
  void keep_pin(const Addresses& wanted, bool partial);
  bool draw_repair();
  void touch_pin(bool keeps);
  void drop_key(bool keeps);

  // --- service_letting_go.cc ---
  bool keeps_what_it_must_not();
  bool draws_from_pool();
  Addresses at_risk();
  void judge_sharing(bool letting_go);
  base::Duration patience(const Addresses& risky);
  bool is_hold_ready(const api::IPAddress& address);
  bool is_hold_to_come(const api::IPAddress& address);
  bool may_share(const api::IPAddress& address);
  bool is_key_good(const Addresses& risky);
  void share(const Addresses& risky);
  bool is_no_hold_possible();
  void wait_for_holds(const Addresses& risky);
  bool is_joining();
  bool has_changed_its_mind();
  bool pauses();
  void let_go();
  void part();
  void stay();
  bool is_pool_ours() const;
  std::string why_parted();
  void tell_that_it_parts();
  bool is_being_emptied() const;
  void release(bool shows_ours, bool may_stay);
  bool asks_for_reserved();
  void tidy();

  const Context& context_;
  kube::View& view_;
  const api::Service& service_;
  const Addresses mine_;                // associatedTo names this Service
  Addresses kept_;                      // those of them that it may keep
  std::string gives_up_;                // why it is rid of what it may keep
  bool joins_ = false;                  // it is about to share with its holds, or does, and does not show it
  base::Duration joining_{};            // for so long
  bool pays_ = false;                   // its letting go counts as a handoff, once something is written for it
  bool late_ = false;                   // sharing has not come about in time
  bool shares_ = false;                 // letting go, it waits for a hold that is to share with it
  std::vector<std::string> hold_keys_;  // which its holds have already, "" for none
  kube::Plan plan_;
};

}  // namespace metallb
