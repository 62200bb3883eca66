// `cut`: with whatever is killed between any two writes of a controller, all comes to the same end.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {
namespace {
constexpr std::size_t k_most = 100;  // writes in what is cut: there would be no end otherwise
}

// Goes through the operations again and again, the process killed right after its first, second, third … write in
// them, until they come to their end with fewer writes than that. {by: 2}: first, third, fifth …
void Run::cut(const json::object& argument) {
  const Process process = check(process_named(check(substitute(argument.at("of"), bindings_)).as_string()));
  const auto* other = argument.if_contains("kill");
  const Process victim = other == nullptr ? process : check(process_named(other->as_string()));
  const auto least = argument.at("least").to_number<std::size_t>();
  const auto* by = argument.if_contains("by");
  std::size_t writes = 1;
  for (; writes <= k_most; writes += by == nullptr ? 1 : by->to_number<std::size_t>()) {
    bindings_["n"] = writes;
    doomed_ = victim;
    check(backend_.kill_after(process, writes, victim));
    run_all(argument.at("try").as_array(), fmt::format("cut off after {}", writes));
    revive();
    if (doomed_) break;
  }
  if (!doomed_) fail(fmt::format("more than {} writes", k_most));
  doomed_.reset();
  check(backend_.kill_after(process, 0, victim));
  if (writes - 1 < least)
    fail(fmt::format("{} made {} writes, not {} at least", to_string(process), writes - 1, least));
}

void Run::revive() {
  if (!doomed_ || !backend_.has_struck()) return;
  const Process process = *doomed_;
  doomed_.reset();
  if (is_server(process)) return check(backend_.start(process));
  check(backend_.stop(process, true));  // what is left of it
  check(backend_.start(process));
}

}  // namespace scenarios
