// status.conditions: a list shared by several writers, keyed by type (contract §2.4).
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types.h"

namespace api {

// What the owner of a condition type has to say.
struct Saying {
  std::string_view type;
  std::string_view status;  // "True", "False" or "Unknown"
  std::string_view reason;
  std::string message;  // may quote others: made printable, and cut to what the schema takes
};

// The whole list as it should be: `sayings` in the place of what `current` has of their types (new ones at the end),
// the types in `withdrawn` left out, every other type carried over as it is; nullopt if that changes nothing.
// `generation` is the observed one of what is said; `now` becomes lastTransitionTime where a status is new or flips,
// and there only.
std::optional<boost::json::array> updated_conditions(const std::vector<kube::Condition>& current,
                                                     const std::vector<Saying>& sayings, std::int64_t generation,
                                                     const std::string& now,
                                                     const std::vector<std::string_view>& withdrawn = {});

}  // namespace api
