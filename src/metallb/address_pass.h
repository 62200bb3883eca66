// One pass over one address, in its parts: address.cc (the ledger's side, teardown), address_holding.cc (the hold and
// the gap), address_moving.cc (from one namespace to another), address_sharing.cc (the shared handoff) and
// address_conflict.cc (Conflict and Lost). Internal to the folder.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/conditions.h"
#include "api/ipam.h"
#include "base/ip.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/context.h"
#include "metallb/placeholder.h"
#include "metallb/sharing.h"

namespace metallb {

class AddressPass {
 public:
  AddressPass(const Context& context, kube::View& view, const api::IPAddress& address, const base::IpAddress& ip);

  // The address exists for somebody, or may: held, attached or on its way between the two.
  kube::Plan live();
  // Driver design §8. The caller has seen that no live claim holds the address.
  kube::Plan teardown();

 private:
  static const kube::Resource& resource() { return api::IPAddress::kind().resource; }
  static const kube::Resource& services() { return api::Service::kind().resource; }
  bool is_busy() { return view_.busy({&resource(), "", address_.meta.name}); }
  bool is_busy(const api::Service& hold) { return view_.busy({&services(), hold.meta.ns, hold.meta.name}); }

  // --- address.cc ---
  bool was_never_promised();
  void observe_gap();
  void clear_association();
  void reserve_while_unheld();
  void say_that_it_is_unheld(bool holdless);
  bool is_shown_by_a_workload();
  const api::Service* obstacle();
  void postpone_writes();
  bool is_secured() const { return holds_.landed(ip_) || (attached_ && shown_) || keeper_ != nullptr; }
  void reserve(bool held, std::string_view why, std::string message);
  void say(api::Saying saying);
  // Rides on the status, if that is written; or sent once for each Service, whatever else happens.
  void tell(kube::Ref regarding, const std::string& uid, std::string_view reason, std::string note);
  void tell_once(kube::Ref regarding, const std::string& uid, std::string_view reason, std::string note);
  void write_address();
  bool is_workload_letting_go();
  const api::IPAddress* heir();
  bool is_left_to(const api::IPAddress& heir);

  // --- address_refusals.cc ---
  // Driver design §6: a Service names the claim and is refused its addresses.
  void say_who_is_refused();

  // --- address_conflict.cc ---
  // Driver design §7: phases Conflict and Lost, in and out.
  void judge_phase();
  bool is_authorised(const api::Service& other, bool may_be_detaching) const;
  // Services of others that MetalLB lets show the address.
  std::vector<const api::Service*> intruders();
  void report_conflict(const std::vector<const api::Service*>& others);
  void evict(const std::vector<const api::Service*>& others);
  bool is_lost();
  void tell_that_it_is_forgotten();
  // The class's pool has the address.
  bool is_in_pool();

  // --- address_holding.cc ---
  // Driver design §5: the hold exists, is what it should be, and is the only one.
  void hold();
  // `beside`: whoever it shares the address with, if there is a key.
  void create_hold(std::string step, const api::Service* beside);
  // One that no patch can make good.
  void replace_hold(const api::Service& hold);
  void remove_hold(const api::Service& hold, std::string step);
  void remove_holds(const std::string& step);
  void empty_terminating();
  // Driver design §6, gap handoff: the workload carries the pin and waits for the hold to go.
  void hand_over();
  bool is_answered();
  void ask();
  void forget_question();
  bool is_welcome();
  bool is_release_due();
  void wait_for_pin();
  // `instead`: what happens now, for people.
  void tell_that_it_has_not_landed(std::string_view instead, bool once);
  void ask_for_gap(bool patient);
  bool is_throttled();
  bool is_led_astray();
  bool is_shown_by_nobody();
  // --- address_moving.cc ---
  // Driver design §5: from a former placeholder namespace to the present one.
  bool is_left_behind(const api::Service& hold) const;
  const api::Service* successor() const;
  void move_home();
  void begin_move(const api::Service& old);
  void remove_leftovers();
  void empty(const api::Service& hold);
  // --- address_sharing.cc ---
  // Driver design §6, shared handoff: whether the address changes hands by sharing, and with which key.
  void judge_sharing();
  std::string attach_key();
  std::string leaving_key();
  bool goes_by_gap();
  bool may_stop_sharing();
  bool is_free_to_lose();
  void release_holds();
  bool is_joining();
  bool is_joined(const api::Service& hold) const;
  bool is_being_emptied(const api::Service& hold) const;
  void say_that_it_has_not_landed();
  boost::json::object repair_of(const api::Service& hold);
  bool is_taken();
  bool is_release_stuck();

  const Context& context_;
  kube::View& view_;
  const api::IPAddress& address_;
  const base::IpAddress ip_;
  const api::Service* service_;  // what associatedTo names, if it is still there
  // The driver made it and the core has not seen to it yet. Until it has, neither `Reserved` nor a phase is written on
  // it: by these an address that may have been promised is known from one that nobody was.
  const bool as_made_;
  const Holds holds_;
  const api::Service* keeper_;  // has it while it is made an object of, or one no more
  bool attached_ = false;       // that Service may keep the address
  bool announcing_ = false;     // and carries our pin
  bool shown_ = false;          // and MetalLB has given it the address
  bool handing_over_ = false;   // and MetalLB has not given it the address yet
  bool release_stuck_ = false;
  bool futile_ = false;                 // the server refuses what the hold needs
  std::string_view rule_ = rule::gone;  // that forbids it to share the address with its hold; "" if it may
  bool sharing_ = false;                // they share, or are about to
  std::string key_;                     // by which; "" while somebody else has yet to choose it
  base::Duration keyed_{};              // for so long the hold has had a sharing key
  base::Duration joining_{};            // for so long it is about to share with the workload and does not show it
  bool is_alone_ = false;               // the hold has a key and nobody to share with
  base::Duration alone_{};              // for so long it has been alone with it
  base::Duration trying_{};             // for so long it is being handed over
  base::Duration released_{};           // for so long it is handed over and without a hold
  base::Duration waited_{};             // for so long neither a hold nor anybody else who may has the address
  base::Duration unlanded_{};           // for so long the hold could have had the address and has not
  boost::json::object status_;
  std::vector<api::Saying> sayings_;  // what becomes of the conditions in it
  std::vector<std::string_view> withdrawn_;
  std::vector<kube::EventNote> notes_;  // ride on the status
  kube::Plan plan_;
};

}  // namespace metallb
