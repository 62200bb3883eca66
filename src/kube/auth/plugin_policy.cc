#include "kube/auth/plugin_policy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace kube {
namespace {

namespace fs = std::filesystem;

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> executable_at(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  if (failed || !is_executable(whole)) return std::nullopt;
  return whole.lexically_normal().string();
}

std::unexpected<base::Error> forbidden(const ExecConfig& exec, std::string_view why) {
  return base::fail(fmt::format("the credential plugin {:?} is not allowed: {}", exec.command, why));
}

}  // namespace

std::optional<std::string> look_path(std::string_view command) {
  if (command.empty()) return std::nullopt;
  if (command.find('/') != std::string_view::npos) return executable_at(command);
  const char* list = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  std::string_view folders = list == nullptr ? "" : list;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::string_view folder = folders.substr(0, end);
    folders.remove_prefix(std::min(end + 1, folders.size()));
    if (folder.empty()) continue;
    if (auto found = executable_at(fs::path(folder) / command)) return found;
  }
  return std::nullopt;
}

base::Result<std::string> permitted_command(const ExecConfig& exec) {
  switch (exec.policy.type) {
    case PluginPolicy::Type::allow_all:
      return exec.command;
    case PluginPolicy::Type::deny_all:
      return forbidden(exec, "the policy is DenyAll");
    case PluginPolicy::Type::allowlist:
      break;
  }
  const auto command = look_path(exec.command);
  if (!command) return forbidden(exec, "it was not found, so that it cannot be compared with the allowlist");
  const auto same = [&](const std::string& entry) { return look_path(entry) == command; };
  if (std::ranges::none_of(exec.policy.allowlist, same)) {
    return forbidden(exec, fmt::format("{} is not on the allowlist", *command));
  }
  return *command;
}

}  // namespace kube
