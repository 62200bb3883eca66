#include "scenarios/backend.h"

#include <fmt/format.h>

namespace scenarios {

std::string_view to_string(Process process) {
  switch (process) {
    case Process::core:
      return "core";
    case Process::driver:
      return "driver";
    case Process::metallb:
      return "metallb";
  }
  return "";
}

base::Result<Process> process_named(std::string_view name) {
  for (const auto process : {Process::core, Process::driver, Process::metallb}) {
    if (to_string(process) == name) return process;
  }
  return base::fail(fmt::format("no process {}; there are core, driver and metallb", name));
}

}  // namespace scenarios
