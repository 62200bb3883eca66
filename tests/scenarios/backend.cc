#include "scenarios/backend.h"

#include <fmt/format.h>

#include <cctype>

namespace scenarios {

std::string_view to_string(Process process) {
  switch (process) {
    case Process::core:
      return "core";
    case Process::driver:
      return "driver";
    case Process::metallb:
      return "metallb";
    case Process::apiserver:
      return "apiserver";
    case Process::etcd:
      return "etcd";
  }
  return "";
}

bool is_server(Process process) { return process == Process::apiserver || process == Process::etcd; }

std::string folder_name(std::string_view scenario) {
  std::string out(scenario);
  for (char& c : out) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '-';
  }
  return out;
}

base::Result<Process> process_named(std::string_view name) {
  for (const auto process : {Process::core, Process::driver, Process::metallb, Process::apiserver, Process::etcd}) {
    if (to_string(process) == name) return process;
  }
  return base::fail(fmt::format("no process {}; there are core, driver, metallb, apiserver and etcd", name));
}

}  // namespace scenarios
