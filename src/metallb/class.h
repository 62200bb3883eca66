// The class reconciler (driver design §2 and §3): one key per class name, whether the class exists or not, since what
// was rendered for it outlives it while addresses do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "base/ip.h"
#include "kube/controller.h"
#include "kube/view.h"
#include "metallb/parameters.h"

namespace metallb {

inline constexpr std::string_view k_class_reconciler = "class";

struct ClassSettings {
  std::string metallb_namespace = "metallb-system";
  // The placeholder namespace, then former ones: placeholders are trusted there and nowhere else.
  std::vector<std::string> placeholder_namespaces;
  // MetalLB's loadBalancerClass, "" if none.
  std::string load_balancer_class;
  // The driver may adopt (--inventory).
  bool inventory = false;
};

// Indexes that the reconciler reads; the controller adds them to the watches it declares.

// IPAddress "ledger": address objects by the class they name, in whatever phase, until they are gone, as long as their
// text is an address. Two buckets for each class and family, both in the order of addresses: all of them, and those
// that carry our teardown finalizer, which are served by us whatever becomes of the class. One more for each family:
// the latter of all classes.
inline constexpr std::string_view k_ledger_index = "ledger";
kube::IndexSpec ledger_index();
std::string ledger_bucket(std::string_view class_name, base::Family family);
std::string held_bucket(std::string_view class_name, base::Family family);
std::string held_bucket(base::Family family);

// Service "placeholders": our placeholders, and copies with a pin of ours, by the pool they name. Bucket "<pool>": all;
// bucket "<pool>/<family>": those that have been assigned an address, in the order of addresses.
inline constexpr std::string_view k_placeholder_pool_index = "placeholder-pool";
kube::IndexSpec placeholder_pool_index(const ClassSettings& settings);
std::string placeholder_bucket(std::string_view pool);
std::string placeholder_bucket(std::string_view pool, base::Family family);

// Service "served", bucket "": Services of MetalLB's class that show an address.
inline constexpr std::string_view k_served_index = "served";
kube::IndexSpec served_index(const ClassSettings& settings);

// Service "strangers": Services of MetalLB's class that were given an address of a pool and carry nothing of ours.
// Bucket "<pool>".
inline constexpr std::string_view k_strangers_index = "strangers";
kube::IndexSpec strangers_index(const ClassSettings& settings);

// IPAddressClass "class-overlap": classes of our provisioner whose parameters can be read, by the addresses they want
// (overlap_index.h). `parameters` is a memo.
inline constexpr std::string_view k_class_overlap_index = "class-overlap";
kube::IndexSpec class_overlap_index(std::shared_ptr<ParameterCache> parameters);

// Position of an address in a bucket: 32 hex digits, so that bytes sort as addresses of one family do.
std::string address_order(const base::IpAddress& address);

// The watches of IPAddressPool, L2Advertisement, BGPAdvertisement and ConfigurationState in MetalLB's namespace,
// complete with keys and indexes. Optional kinds: MetalLB may be installed later.
std::vector<kube::WatchSpec> metallb_watches(const ClassSettings& settings);

// The pool that is rendered for the class, if it is there; null for somebody else's of that name.
const api::IPAddressPool* pool_of_class(kube::View& view, std::string_view metallb_namespace,
                                        std::string_view class_name);

// For WatchSpec::keys of classes and addresses. An address gives birth to its class's key too, so that a pool that was
// lost while no class existed is rendered again after a restart.
void add_class_key(const api::IPAddressClass& object, std::vector<kube::Key>& keys);
void add_class_key(const api::IPAddress& object, std::vector<kube::Key>& keys);
kube::Key class_key(std::string_view class_name);

// Thread-compatible; keeps nothing between passes but the memo of parsed parameters.
class ClassReconciler {
 public:
  ClassReconciler(ClassSettings settings, std::shared_ptr<ParameterCache> parameters);
  kube::Plan reconcile(const kube::Key& key, kube::View& view) const;

 private:
  ClassSettings settings_;
  std::shared_ptr<ParameterCache> parameters_;
};

// Rights that the reconciler's requests and watches need.
std::vector<kube::Rule> class_rules(const ClassSettings& settings);

}  // namespace metallb
