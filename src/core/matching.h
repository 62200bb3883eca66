// Matching, planned for the pair of class and family (contract §3a), and the facts by which claims and matching talk.
//
// - waiting/CLASS/FAMILY: a claim waits for any address of the pair; in age order. Published by claims, looked after by
//   the pair's key. A claim whose finalizer is not there yet waits too (so that its turn is not lost) but is not bound.
// - named/ADDRESS: a claim waits for this address and could use it; in age order. Published by claims, looked after by
//   the address's own key, which gives it to the first. The pairs' keys leave such an address alone.
// - binding/NAMESPACE/NAME/FAMILY: a claimRef patch for this claim is in flight. Published by the key that sends it.
// - exhausted/CLASS/FAMILY: a waiting claim is left over and no address for it. Published by the pair's key. It flips
//   rarely: while demand exceeds supply, single addresses that come free do not end it.
#pragma once

#include <string>
#include <string_view>

#include "api/ipam.h"
#include "core/holds.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace core {

std::string waiting_bucket(std::string_view pair);
std::string named_bucket(std::string_view address_name);
std::string binding_bucket(const api::IPAddressClaim& claim, base::Family family);
std::string exhausted_bucket(std::string_view pair);

// The claim's place in a queue: Dual claims that have their other half first, then by creationTimestamp, then by uid.
std::string age_order(const api::IPAddressClaim& claim, const Counting& counting);

// Value of a waiting fact. A claim that is not `ready` keeps its turn, but is not bound yet.
struct Waiting {
  std::string uid;
  bool ready = false;
  std::string text() const { return (ready ? "ready/" : "early/") + uid; }
  static Waiting parse(std::string_view text);
};

// The patch that binds the address to the claim.
kube::Write bind(const api::IPAddress& address, const api::IPAddressClaim& claim, std::string step);

// Key match/CLASS/FAMILY. Works in portions of k_portion patches.
inline constexpr std::size_t k_portion = 64;
kube::Plan reconcile_match(const kube::Key& key, kube::View& view);

// Key named/ADDRESS: claims that name one address, whatever their age beside others that wait.
kube::Plan reconcile_named(const kube::Key& key, kube::View& view);

}  // namespace core
