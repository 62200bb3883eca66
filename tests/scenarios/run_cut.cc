// `cut`: a controller that is killed between any two of its writes comes to the same end.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "scenarios/run_state.h"

namespace scenarios {
namespace {
constexpr std::size_t k_most = 100;  // writes in what is cut: there would be no end otherwise
}

// Goes through the operations again and again, the process killed right after its first, second, third … write in
// them, until they come to their end with fewer writes than that.
void Run::cut(const json::object& argument) {
  const Process process = check(process_named(check(substitute(argument.at("of"), bindings_)).as_string()));
  const auto least = argument.at("least").to_number<std::size_t>();
  std::size_t writes = 1;
  for (; writes <= k_most; ++writes) {
    bindings_["n"] = writes;
    doomed_ = process;
    backend_.kill_after(process, writes);
    run_all(argument.at("try").as_array(), fmt::format("cut off after {}", writes));
    revive();
    if (doomed_) break;
  }
  if (!doomed_) fail(fmt::format("more than {} writes", k_most));
  doomed_.reset();
  backend_.kill_after(process, 0);
  if (writes - 1 < least)
    fail(fmt::format("{} made {} writes, not {} at least", to_string(process), writes - 1, least));
}

void Run::revive() {
  if (!doomed_ || backend_.running(*doomed_)) return;
  const Process process = *doomed_;
  doomed_.reset();
  check(backend_.stop(process, true));  // what is left of it
  check(backend_.start(process));
}

}  // namespace scenarios
