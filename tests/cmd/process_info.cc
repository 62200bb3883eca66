#include "cmd/process_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cmd_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// "VmRSS:   1234 kB" in /proc/PID/status.
std::size_t status_bytes(pid_t pid, const std::string& name) {
  const std::string status = text_of(fmt::format("/proc/{}/status", pid));
  const std::size_t at = status.find(name + ":");
  return at == std::string::npos ? 0 : 1024 * std::stoul(status.substr(at + name.size() + 1));
}

}  // namespace

std::size_t open_files(pid_t pid) {
  std::error_code gone;
  const fs::directory_iterator files(fmt::format("/proc/{}/fd", pid), gone);
  return gone ? 0 : static_cast<std::size_t>(std::distance(files, fs::directory_iterator()));
}

std::size_t resident_bytes(pid_t pid) { return status_bytes(pid, "VmRSS"); }
std::size_t peak_bytes(pid_t pid) { return status_bytes(pid, "VmHWM"); }

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t other = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), other).ptr != name.data() + name.size()) continue;
    const std::string status = text_of(fmt::format("/proc/{}/status", other));
    if (status.find(fmt::format("\nPPid:\t{}\n", pid)) != std::string::npos) children.push_back(other);
  }
  return children;
}

std::string command_line(pid_t pid) {
  std::string words = text_of(fmt::format("/proc/{}/cmdline", pid));
  std::ranges::replace(words, '\0', ' ');
  return words;
}

}  // namespace cmd_test
