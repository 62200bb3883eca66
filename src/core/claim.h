// One claim's reconciliation (contract §3): a pass over the numbered steps of the document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "core/classes.h"
#include "core/controller.h"
#include "core/edits.h"
#include "core/holds.h"
#include "core/restore.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace core {

// Key claim/NAMESPACE/NAME.
kube::Plan reconcile_claim(const Options& options, const kube::Key& key, kube::View& view);

// The pass of a claim that is not being deleted. Used once. Everything is derived first; then the first step that has
// something to write ends the pass, so that each step starts from the facts that the one before left.
class ClaimPass {
 public:
  ClaimPass(const Options& options, kube::View& view, const api::IPAddressClaim& claim)
      : options_(options), view_(view), claim_(claim) {}
  kube::Plan run();

 private:
  // Why the claim waits.
  struct Wait {
    std::string_view reason;
    std::string message;
    // It will be over without anybody's help in a moment: not worth a write.
    bool quiet = false;
  };

  void collect();            // §3.3
  void await_restore();      // §9.3, §9.4
  void find_missing();       // §3.5
  void resolve();            // §3.6
  void match();              // §3.7
  bool protect_and_stamp();  // §3.2
  bool complete();           // §3.4
  bool take_back();          // §9.3
  void report();             // §3.8
  // The write that the plan has is refused again and again, for so long: has the status say so in its place, which is a
  // subresource and may be let through where the object is not. Once that is said the plan stays as it is.
  void tell_refusal(base::Duration refused);

  // Whether the family is served: counted, not Lost, and signed with our uid (or the very one that was reported).
  bool is_served(base::Family family) const;
  bool is_protected() const;
  // It is restored, and something that it had is neither there nor given up.
  bool is_waiting_for_restore() const { return restore_wait_ > base::Duration::zero(); }
  // §9.4: what the claim says while it waits.
  Wait restored_waiting(base::Duration waited) const;

  void queue_up();
  std::string waiting_for_provisioner(bool its_turn);
  // A patch in flight may give it an address of another class, whose class is then the claim's.
  bool is_binding_elsewhere();
  void match_named();
  // Why the named address cannot be had now; nullopt if it can.
  std::optional<Wait> obstacle(const api::IPAddress& address);
  void wait(Wait wait);

  // status.addresses, and what became of the families.
  struct Report {
    std::vector<api::ReportedAddress> addresses;
    bool all_served = true;
    std::string lost;  // what is wrong with reported addresses
  };
  Report reported_addresses() const;
  std::string loss(const std::string& name, const std::string& address) const;
  void set_class_condition(ConditionEdit& conditions);
  void tell(const ConditionEdit& conditions);

  const Options& options_;
  kube::View& view_;
  const api::IPAddressClaim& claim_;
  kube::Plan plan_;
  base::Duration waited_{};  // since this process first saw the claim unbound
  Counting counting_;
  Returning returning_;              // to be taken back before anything else happens to the claim
  base::Duration restore_wait_{};    // what it waits for may come for so long, at least
  std::vector<base::Family> open_;   // asked for, never reported, not counted: to be matched
  std::optional<Resolution> class_;  // only if something is open
  std::optional<Wait> wait_;
};

}  // namespace core
