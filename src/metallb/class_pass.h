// One pass of the class reconciler, in its parts. Internal to the folder.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "kube/plan.h"
#include "kube/view.h"
#include "metallb/class.h"
#include "metallb/rendering.h"

namespace metallb {

// IPAddressPool: all of MetalLB's namespace in bucket "", and by the addresses in them (overlap_index.h).
inline constexpr std::string_view k_pools_index = "pools";
inline constexpr std::string_view k_pool_overlap_index = "pool-overlap";
// ConfigurationState, bucket "": of those that reject the configuration; the allocating controller's first.
inline constexpr std::string_view k_rejected_index = "rejected";

// What a pass reads first, and what it comes to.
struct ClassPass {
  const ClassSettings& settings;
  ParameterCache& cache;
  kube::View& view;
  std::string name;
  kube::Plan plan = {};

  // The class, if it exists and is ours.
  const api::IPAddressClass* cls = nullptr;
  // What is rendered for it now. `foreign_*`: there is one of that name which is not ours.
  const api::IPAddressPool* pool = nullptr;
  const api::L2Advertisement* l2 = nullptr;
  const api::BGPAdvertisement* bgp = nullptr;
  bool foreign_pool = false;
  bool foreign_l2 = false;
  bool foreign_bgp = false;

  std::shared_ptr<const ParsedParameters> parsed = {};  // null without a class
  // The parameters can be read and overlap with nothing: what they say is to be rendered. Otherwise what is rendered
  // stays.
  const ClassParameters* wanted = nullptr;
  // How what is rendered was wanted to be advertised, as it says itself; nothing but that. nullopt if it does not say.
  std::optional<ClassParameters> recorded = {};
};

// There are addresses that the driver holds for the class, or placeholders that name its pool.
bool is_still_held(ClassPass& pass);

// An address that must stay in the pool although the wanted ranges do not contain it.
struct Outsiders {
  std::vector<base::IpAddress> rendered;
  // Left to the pool or class that contains them: they would make MetalLB refuse its whole configuration.
  std::vector<base::IpAddress> left_out;
  // Of the ledger, outside `ranges`, by family.
  std::size_t ledger_v4 = 0;
  std::size_t ledger_v6 = 0;
};
// Ledger addresses and assigned placeholders outside `ranges`. `held_only`: those that carry our finalizer, for a class
// that is not there (any more) to tell that it is ours. Costs what lies outside, not what lies inside.
Outsiders find_outsiders(ClassPass& pass, const base::IpRangeSet& ranges, bool held_only);

// How many addresses of the family in `ranges` are not to be had: the ledger has them, or a Service uses them without a
// claim. Costs the gaps between the ranges, what lies outside, and those Services.
std::int64_t count_taken(kube::View& view, std::string_view class_name, const base::IpRangeSet& ranges,
                         base::Family family);

// Addresses of the class's pool that Services use although the ledger does not know them (driver design §7). Each of
// these Services is told once.
std::vector<base::IpAddress> find_untracked(ClassPass& pass);

// Why the wanted ranges cannot be rendered beside what others have.
struct Overlap {
  std::string message;
  bool ours_to_solve = false;  // reported as a fault of this class's parameters, else as something to wait for
};
std::optional<Overlap> find_overlap(ClassPass& pass, const ClassParameters& parameters);

// What is to be in MetalLB's namespace.
struct Wanted {
  std::vector<std::string> addresses;  // empty: no pool is wanted and none is touched
  // Advertisements are managed (and removed where they are not wanted) only if the parameters say so.
  const ClassParameters* advertise = nullptr;
};
// The lines of a pool without addresses that it must not have for the moment, to make MetalLB give them up.
std::vector<std::string> without_forgotten(ClassPass& pass, std::vector<std::string> addresses);
// How far what is rendered is from that.
struct Rendered {
  bool settled = true;           // nothing differs
  std::string stubborn;          // what stays different although it is written again and again; "" if nothing
  bool aggregation_off = false;  // aggregation is not in effect, since outsiders do not allow it
};
// Plans the next writes that bring `wanted` about.
Rendered plan_rendering(ClassPass& pass, const Wanted& wanted);

// Condition Inventory, as its key sums it up (inventory.h): what was said stays until it has.
inline constexpr std::string_view k_inventory_condition = "Inventory";
struct InventoryVerdict {
  bool withdrawn = false;  // the class asks for none
  std::string text;        // what `saying` refers to
  std::optional<api::Saying> saying;
};
void judge_inventory(ClassPass& pass, InventoryVerdict& verdict);

// The class's status. `urgent` sayings are written at once, counts and wordings a few seconds apart.
struct Report {
  api::Saying parameters_valid;
  api::Saying backend_ready;
  const InventoryVerdict* inventory = nullptr;
  // Null: ranges are left as they are.
  const base::IpRangeSet* ranges = nullptr;
  // What capacity is counted in, and the ledger addresses outside of it.
  const base::IpRangeSet* counted = nullptr;
  const Outsiders* outsiders = nullptr;
};
void plan_status(ClassPass& pass, const Report& report);

// "10.0.0.1, 10.0.0.2 and 7 more"
std::string some_of(const std::vector<base::IpAddress>& addresses);

}  // namespace metallb
