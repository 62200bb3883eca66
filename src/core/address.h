// One address's reconciliation (contract §4): a pass over the numbered steps of the document.
#pragma once

#include <string>
#include <string_view>

#include "api/ipam.h"
#include "api/restore.h"
#include "core/controller.h"
#include "core/edits.h"
#include "core/holds.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace core {

// Key address/NAME.
kube::Plan reconcile_address(const Options& options, const kube::Key& key, kube::View& view);

// The pass of an address that exists. Used once.
class AddressPass {
 public:
  AddressPass(kube::View& view, const api::IPAddress& address);
  kube::Plan run();

 private:
  bool release_deleted();                        // §4.1; true if the pass ends here
  bool protect();                                // §4.2; true if there is something to write
  void validate();                               // §4.3
  void judge_class();                            // §3.6; no claim is matched to it while its class does not resolve
  std::string_view derive_phase();               // §4.4 to §4.6
  std::string_view phase_without_claim() const;  // §4.5
  std::string_view phase_with_claim() const;     // §4.6
  bool reclaim();                                // §4.6; true if the pass ends here
  void explain();                                // conditions that say why an address does not serve the claim it names
  void write_status(std::string_view phase);

  // A restored copy whose claim is not there under the uid in claimRef: kept as it is (§9.2).
  bool is_restored() const { return api::is_restored(address_) && !holder_.holds(); }
  // And its claim is a copy too, and is about to take it back (§9.3).
  bool is_returning() const;
  std::string_view phase_of_restored() const;
  bool is_usable() const { return use_ == Usability::usable; }
  // Asks for live reads of what the verdict rests on; true once they are answered.
  bool confirmed();

  kube::View& view_;
  const api::IPAddress& address_;
  kube::Plan plan_;
  Holder holder_;
  Usability use_ = Usability::usable;
  ConditionEdit conditions_;
};

}  // namespace core
