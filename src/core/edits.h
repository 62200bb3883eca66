// Patches of the fields that the core owns (contract §2). Lists are sent whole, so entries of others are carried over.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "kube/finalizers.h"
#include "kube/types.h"

namespace core {

using kube::with_finalizer;
using kube::without_finalizer;

// What one pass has to say in one object's status.conditions. Each type is set, settled or cleared at most once.
class ConditionEdit {
 public:
  // Keeps a reference to `stored`. `generation` is the object's own, for observedGeneration; `now` is RFC 3339.
  ConditionEdit(const std::vector<kube::Condition>& stored, std::int64_t generation, std::string now)
      : stored_(stored), generation_(generation), now_(std::move(now)) {}

  // The transition time moves only when status flips. `type` and `reason` are constants.
  void set(std::string_view type, bool status, std::string_view reason, std::string message);
  // The same for something that is settled: a condition that says True for the same reason is left as it is, text and
  // generation (another implementation of the contract may have written it).
  void settle(std::string_view type, std::string_view reason, std::string message);
  void clear(std::string_view type);

  // The whole list for a patch; nullopt if nothing changes.
  std::optional<boost::json::array> json() const;
  // Newly said: set to another status or reason than what is stored. Events ride on these.
  std::vector<const api::Saying*> news() const;

 private:
  const std::vector<kube::Condition>& stored_;
  std::vector<api::Saying> sayings_;
  std::vector<std::string_view> withdrawn_;
  std::int64_t generation_;
  std::string now_;
};

}  // namespace core
