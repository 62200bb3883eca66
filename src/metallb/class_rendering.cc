// The writes that bring pool and advertisements to what is wanted (driver design §3): in place, only what differs.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <type_traits>

#include "api/names.h"
#include "metallb/class_pass.h"
#include "metallb/names.h"
#include "metallb/overlap_index.h"
#include "metallb/stray.h"

namespace metallb {
namespace {

using boost::json::object;

// Somebody who keeps changing what we render back meets these limits; an administrator's edits do not.
constexpr int k_repair_burst = 10;
constexpr base::Duration k_repair_refill = std::chrono::seconds(3);
// What differs for so long although it is repaired is not kept by the server: written again seldom.
constexpr base::Duration k_stubborn_after = std::chrono::seconds(30);
constexpr base::Duration k_stubborn_refill = std::chrono::minutes(10);

// What is kept on an object for a time when there is nobody else to ask; "" is not.
struct Records {
  std::string advertise;  // how the class is to be advertised; "" if that is not known
  std::string trusted;    // where placeholders are (stray.h); on pools
};

object marked_metadata(std::string_view ns, const std::string& class_name, const Records& records) {
  object metadata = rendered_metadata(ns, class_name);
  const auto annotate = [&](std::string_view key, const std::string& record) {
    if (record.empty()) return;
    object& annotations = metadata["annotations"].is_object() ? metadata["annotations"].get_object()
                                                              : metadata["annotations"].emplace_object();
    annotations[key] = record;
  };
  annotate(api::metallb::advertise, records.advertise);
  annotate(k_trusted_annotation, records.trusted);
  return metadata;
}

// What has to change about an object of ours: its spec, our marks, and owner references, through which the garbage
// collector would take the pool with every live address when the class goes.
object needed_patch(const kube::Meta& meta, const std::string& spec, const std::optional<object>& wanted_spec,
                    const std::string& class_name, const Records& records) {
  object patch;
  if (wanted_spec) {
    if (object spec_patch = difference(spec, *wanted_spec); !spec_patch.empty()) patch["spec"] = std::move(spec_patch);
  }
  object metadata;
  const object marks = marked_metadata(meta.ns, class_name, records);
  const std::string label = class_label_value(class_name);
  if (meta.labels.get(api::metallb::class_label) != label) metadata["labels"] = marks.at("labels");
  if (const auto* annotations = marks.if_contains("annotations")) {
    object missing;
    for (const auto& [key, value] : annotations->get_object()) {
      if (meta.annotations.get(key) != std::string_view(value.get_string())) missing[key] = value;
    }
    if (!missing.empty()) metadata["annotations"] = std::move(missing);
  }
  if (!meta.owners.empty()) metadata["ownerReferences"] = nullptr;
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  return patch;
}

class Rendering {
 public:
  // `advertise`: how the class is to be advertised; "" if that is not known.
  Rendering(ClassPass& pass, Rendered& result, std::string advertise)
      : pass_(pass), result_(result), advertise_(std::move(advertise)) {}

  // Brings one object to its wanted spec, creating it if there is none. Returns whether it is so already. Nothing is
  // created beside a pool that is somebody else's: that one is not ours to advertise.
  template <class T>
  bool keep(const T* current, const object& spec, const char* step) {
    const bool differs = current == nullptr || !patch_for(*current, spec).empty();
    if (!differs) {
      pass_.view.since(step, false);
      return true;
    }
    if (current == nullptr && pass_.foreign_pool) return false;
    result_.settled = false;
    if (current == nullptr) {
      pass_.view.since(step, false);
      object body{{"metadata", marked_metadata(pass_.settings.metallb_namespace, pass_.name, records<T>())},
                  {"spec", spec}};
      pass_.plan.writes.push_back(kube::create(T::kind().resource, std::move(body), step));
    } else if (may_repair(T::kind().resource.kind, step)) {
      pass_.plan.writes.push_back(kube::patch(T::kind().resource, *current, patch_for(*current, spec), step));
    }
    return false;
  }

  template <class T>
  object patch_for(const T& current, const object& spec) const {
    return needed_patch(current.meta, current.spec, spec, pass_.name, records<T>());
  }

  // The advertisement stays as it is but for the aggregation, which the pool's next state does not allow.
  void stop_aggregating(const api::BGPAdvertisement* current) {
    result_.settled = false;
    if (!may_repair(api::BGPAdvertisement::kind().resource.kind, "class-bgp")) return;
    object spec{{"aggregationLength", k_no_aggregation.v4}, {"aggregationLengthV6", k_no_aggregation.v6}};
    pass_.plan.writes.push_back(
        kube::patch(api::BGPAdvertisement::kind().resource, *current, {{"spec", std::move(spec)}}, "class-bgp"));
  }

  template <class T>
  void drop(const T* current, const char* step) {
    if (current == nullptr || current->meta.deleting) return;
    result_.settled = false;
    pass_.plan.writes.push_back(kube::remove(T::kind().resource, *current, true, step));
  }

 private:
  template <class T>
  Records records() const {
    const bool is_pool = std::is_same_v<T, api::IPAddressPool>;
    return {advertise_, is_pool ? trusted_text(pass_.settings.placeholder_namespaces) : ""};
  }

  bool may_repair(std::string_view kind, const std::string& step) {
    const base::Duration differing = pass_.view.since(step, true);
    // A write that is refused is retried at the loop's own pace.
    const bool stubborn = pass_.view.refusal().empty() && differing >= k_stubborn_after;
    if (stubborn) result_.stubborn = fmt::format("{} {}", kind, pool_name(pass_.name));
    const std::string bucket = stubborn ? step + "-stubborn" : step;
    const base::Duration wait = stubborn ? pass_.view.throttle(bucket, 1, k_stubborn_refill)
                                         : pass_.view.throttle(bucket, k_repair_burst, k_repair_refill);
    if (!stubborn) pass_.plan.then_look_after(k_stubborn_after);
    if (wait > base::Duration::zero()) {
      pass_.plan.then_look_after(wait);
      return false;
    }
    pass_.plan.spends.push_back(bucket);
    return true;
  }

  ClassPass& pass_;
  Rendered& result_;
  const std::string advertise_;
};

std::vector<base::IpRange> readable(const std::vector<std::string>& addresses) {
  std::vector<base::IpRange> entries;
  for (const std::string& text : addresses) {
    if (const auto range = pool_entry(text)) entries.push_back(*range);
  }
  return entries;
}

// Whether the entries will be others than they are.
bool entries_differ(const ClassPass& pass, const object& spec) {
  return pass.pool == nullptr || !difference(pass.pool->spec, spec).empty();
}

// What a pass is about to add to a pool is published until the answer is known: the stores show it only then, and
// nobody may plan the same addresses into another pool meanwhile. Filed by address, so that nobody reads all of it.
std::string growing_bucket(const std::string& bucket) { return "class-pools-growing/" + bucket; }

// What the pool would get that it does not have.
base::IpRangeSet added_by(const ClassPass& pass, const std::vector<std::string>& addresses) {
  base::IpRangeSet added = pool_ranges(addresses);
  if (pass.pool == nullptr) return added;
  const base::IpRangeSet present = pool_ranges(pass.pool->addresses);
  for (const base::IpRange& range : present.ranges()) added.remove(range);
  return added;
}

bool is_being_added_elsewhere(ClassPass& pass, const base::IpRangeSet& added) {
  bool found = false;
  for (const base::IpRange& range : added.ranges()) {
    for (const std::string& bucket : buckets_to_search(range)) {
      pass.view.each_fact(growing_bucket(bucket), [&](std::string_view, const kube::FactBucket::Value& entry) {
        const auto other = entry.publisher.name == pass.name ? std::nullopt : pool_entry(entry.value);
        found = found || (other && added.intersects(*other));
        return !found;
      });
    }
  }
  return found;
}

void announce(ClassPass& pass, const base::IpRangeSet& added) {
  for (const base::IpRange& range : added.ranges()) {
    const std::string text = entry_text(range);
    for (const std::string& bucket : overlap_buckets(range))
      pass.plan.facts.push_back({growing_bucket(bucket), text, text, {}});
  }
}

bool fits(const Aggregation& aggregation, const Aggregation& limits) {
  return aggregation.v4 >= limits.v4 && aggregation.v6 >= limits.v6;
}

void plan_bgp(ClassPass& pass, Rendering& rendering, Rendered& result, const BgpOptions& options,
              const Aggregation& limits, bool pool_changes) {
  Aggregation aggregation = effective_aggregation(options, limits);
  result.aggregation_off = aggregation != effective_aggregation(options, {});
  if (pool_changes && pass.bgp != nullptr) {
    // It must fit the pool as it is, too.
    const Aggregation now = aggregation_of(pass.bgp->spec);
    aggregation = {std::max(now.v4, aggregation.v4), std::max(now.v6, aggregation.v6)};
  }
  if (pool_changes && pass.bgp == nullptr) {
    result.settled = false;
  } else {
    rendering.keep(pass.bgp, bgp_spec(pass.name, options, aggregation), "class-bgp");
  }
}

void plan_advertisements(ClassPass& pass, Rendering& rendering, Rendered& result, const ClassParameters& parameters,
                         const Aggregation& limits, bool pool_changes) {
  // By what there is somebody may still be reached, whoever has made the pool over: it goes with the last address.
  if (pass.foreign_pool && !is_still_held(pass)) {
    rendering.drop(pass.l2, "class-l2-delete");
    rendering.drop(pass.bgp, "class-bgp-delete");
    return;
  }
  if (!pass.foreign_l2 && pass.view.available(api::L2Advertisement::kind())) {
    if (parameters.l2) {
      rendering.keep(pass.l2, l2_spec(pass.name, *parameters.l2), "class-l2");
    } else {
      rendering.drop(pass.l2, "class-l2-delete");
    }
  }
  if (!pass.foreign_bgp && pass.view.available(api::BGPAdvertisement::kind())) {
    if (parameters.bgp) {
      plan_bgp(pass, rendering, result, *parameters.bgp, limits, pool_changes);
    } else {
      rendering.drop(pass.bgp, "class-bgp-delete");
    }
  }
}

// How long an address is out of the pool, and how soon it may be taken out again should that not have helped.
constexpr base::Duration k_held_out = std::chrono::seconds(1);
constexpr base::Duration k_hold_out_refill = std::chrono::minutes(10);
constexpr std::string_view k_hold_out = "hold-out";
// At a time: each splits a line of the pool.
constexpr std::size_t k_held_out_at_once = 16;

// Addresses to leave out now. Never where routes are aggregated: they would be withdrawn for that moment.
base::IpRangeSet to_hold_out(ClassPass& pass) {
  base::IpRangeSet out;
  if (pass.bgp != nullptr && aggregation_of(pass.bgp->spec) != k_no_aggregation) return out;
  std::size_t count = 0;
  pass.view.each_fact(forgotten_bucket(pass.name), [&](std::string_view, const kube::FactBucket::Value& entry) {
    if (const auto ip = base::IpAddress::parse(entry.value)) out.add({*ip, *ip});
    return ++count < k_held_out_at_once;
  });
  if (out.empty()) return out;
  const base::Duration wait = pass.view.throttle(k_hold_out, 1, k_hold_out_refill);
  const base::Duration passed = k_hold_out_refill - wait;
  if (wait == base::Duration::zero()) {
    pass.plan.spends.emplace_back(k_hold_out);
  } else if (passed < k_held_out) {
    pass.plan.then_look_after(k_held_out - passed);
  } else {
    pass.plan.then_look_after(wait);
    return {};
  }
  for (const base::IpRange& one : out.ranges()) {
    for (std::optional<base::IpAddress> ip = one.first; ip && *ip <= one.last; ip = ip->next())
      pass.plan.facts.push_back({held_out_bucket(ip->to_string()), "", "", {}});
  }
  return out;
}

}  // namespace

std::vector<std::string> without_forgotten(ClassPass& pass, std::vector<std::string> addresses) {
  const base::IpRangeSet out = to_hold_out(pass);
  if (out.empty()) return addresses;
  announce(pass, out);  // it comes back: no other class may take it meanwhile
  std::vector<std::string> left;
  for (const std::string& text : addresses) {
    const auto range = pool_entry(text);
    if (!range || !out.intersects(*range)) {
      left.push_back(text);
      continue;
    }
    base::IpRangeSet rest;
    rest.add(*range);
    for (const base::IpRange& one : out.ranges()) rest.remove(one);
    for (const base::IpRange& piece : rest.ranges()) left.push_back(entry_text(piece));
  }
  return left.empty() ? addresses : left;
}

Rendered plan_rendering(ClassPass& pass, const Wanted& wanted) {
  Rendered result;
  Rendering rendering(pass, result, wanted.advertise == nullptr ? "" : advertise_text(*wanted.advertise));
  if (wanted.addresses.empty()) return result;
  const object spec = pool_spec(wanted.addresses);
  const Aggregation limits = aggregation_limits(readable(wanted.addresses));
  const bool pool_changes = !pass.foreign_pool && entries_differ(pass, spec);
  if (wanted.advertise != nullptr)
    plan_advertisements(pass, rendering, result, *wanted.advertise, limits, pool_changes);
  // Speakers refuse an aggregation that is wider than an entry of the pool, and with it their whole configuration: the
  // advertisement goes first where the pool's entries get smaller.
  const bool in_the_way =
      pass.bgp != nullptr && !pass.bgp->meta.deleting && !fits(aggregation_of(pass.bgp->spec), limits);
  const base::IpRangeSet added = added_by(pass, wanted.addresses);
  if (pool_changes && is_being_added_elsewhere(pass, added)) {
    result.settled = false;
  } else if (!pass.foreign_pool && !(pool_changes && in_the_way)) {
    const std::size_t before = pass.plan.writes.size();
    rendering.keep(pass.pool, spec, "class-pool");
    if (pass.plan.writes.size() > before) announce(pass, added);
  } else if (pool_changes && wanted.advertise == nullptr) {
    rendering.stop_aggregating(pass.bgp);
  }
  return result;
}

}  // namespace metallb
