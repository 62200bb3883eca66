// What a reconcile pass returns: the next writes and everything else that should happen, as data. Pure values, no I/O.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/types.h"

namespace kube {

// The unit of reconciliation: one key is never planned while its own writes are in flight.
// `reconciler` names which function plans it ("claim", "match", …); `ns` is the fairness group.
struct Key {
  std::string reconciler;
  std::string ns;
  std::string name;
  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;
  std::string to_string() const;
};

// One request that changes stored state. Build it with the functions below: they put the guards of contract §2 in.
struct Write {
  enum class Verb : std::uint8_t { create, patch, patch_status, remove };
  Verb verb = Verb::patch;
  Ref target;
  // create: the whole object; patch: a merge patch that carries metadata.resourceVersion; remove: DeleteOptions with
  // preconditions.
  boost::json::object body;
  std::string planned_from;  // resourceVersion of the version it was planned from; "" for create
  std::string step;          // which step of the contract or design, for logs and metrics: "claim-protect"
};

// A merge patch of fields we own, refused by the server (409) unless `from` is still the current version.
Write patch(const Resource& resource, const Object& from, boost::json::object body, std::string step);
Write patch_status(const Resource& resource, const Object& from, boost::json::object body, std::string step);
// `body` needs metadata.name (and namespace); apiVersion and kind are filled in.
Write create(const Resource& resource, boost::json::object body, std::string step);
// DELETE with the uid precondition; with the resourceVersion too when `exact` (the verdict depends on the object's
// content).
Write remove(const Resource& resource, const Object& from, bool exact, std::string step);

// A live read before something destructive. Its answer is merged into the store (absence too), the key is planned
// again, and in that next pass View::confirmed says so. A plan with confirms has no writes.
struct Confirm {
  Ref target;
};

// An event about an object. It is sent after all writes of its plan succeeded (an event that rides on a condition is
// thereby sent once); a plan with events and no writes must set `once`.
struct EventNote {
  Ref regarding;
  std::string regarding_uid;
  bool warning = false;
  std::string reason;  // CamelCase
  std::string action;  // CamelCase verb; required by the server
  std::string note;    // one sentence for a person; made printable, and cut to what the server takes
  // Name derived from (uid, reason, note): the same event is never sent twice, not by a restarted process either.
  bool once = false;
};

// A published output of a pass that other keys read by bucket, ordered by `order`, then by publishing key. A pass
// replaces all facts its key published before. Kept by the loop only as the memo of a pure function of the view.
struct Fact {
  std::string bucket;
  std::string order;
  std::string value;
  // The key that looks after the bucket: born (and woken) when the fact appears, changes or goes.
  Key reader;
  friend bool operator==(const Fact&, const Fact&) = default;
};

// A sample for a histogram or counter the controller registered under `metric`.
struct Observation {
  std::string metric;
  double value = 1;
  std::vector<std::pair<std::string, std::string>> labels;
};

// A plan. Empty (nothing to send) means: settled until something that was read changes, or `revisit` has passed.
struct Plan {
  std::vector<Write> writes;
  std::vector<Confirm> confirms;
  std::vector<EventNote> events;
  std::vector<Observation> observations;
  std::vector<Fact> facts;
  // Look again after this long even if nothing changes. The earliest wins over an earlier plan's.
  std::optional<base::Duration> revisit;
  // Names of View::throttle buckets this plan draws one token from (when its writes are sent).
  std::vector<std::string> spends;
  // The key's object is gone and nothing is left to do: forget facts, timers and what the key read.
  bool forget = false;

  bool sends_nothing() const { return writes.empty() && confirms.empty() && events.empty(); }
  void then_look_after(base::Duration d) {
    if (!revisit || d < *revisit) revisit = d;
  }
};

}  // namespace kube
