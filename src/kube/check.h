// Invariants that production code asserts: a broken one is a bug, and going on would do harm.
#pragma once

#include <source_location>
#include <string_view>

namespace kube {

// Logs what is broken and where, then aborts.
[[noreturn]] void broken(std::string_view what, std::source_location where = std::source_location::current());

inline void check(bool holds, std::string_view what, std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]] {
    broken(what, where);
  }
}

}  // namespace kube
