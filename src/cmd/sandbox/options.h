// The command line of address-sandbox.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "sandbox/metallb.h"

namespace sandbox_process {

// What runs besides the API server, each as a process of its own.
enum class Part : char { core, driver, metallb };
inline constexpr Part all_parts[] = {Part::core, Part::driver, Part::metallb};
std::string_view to_string(Part part);

struct Options {
  std::uint16_t port = 0;
  bool plain = false;
  std::uint16_t page_port = 0;
  bool open = false;
  std::string dir = {};   // never empty after parsing
  std::string data = {};  // empty: in memory only
  std::string metallb_version = "0.16";
  std::vector<Part> parts = {};
  std::string audit_log = {};
  base::log::Level log_level = base::log::Level::info;
  base::log::Format log_format = base::log::Format::text;
};

// The options, or the exit status after --help, --version or a mistake, which has been said.
std::expected<Options, int> parse_options(int argc, const char* const* argv);

// Where kubeconfig and logs go by default: $XDG_RUNTIME_DIR/address-sandbox, else address-sandbox-<uid> in $TMPDIR or
// /tmp.
std::string default_dir();

}  // namespace sandbox_process
