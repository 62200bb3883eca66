#include "kube/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace kube {
namespace {

constexpr std::size_t k_max_size = 16 << 20;

base::Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(fmt::format("{}: {}", path, std::generic_category().message(errno)));
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > k_max_size) return base::fail(fmt::format("{}: larger than 16 MiB", path));
  }
}

}  // namespace

base::Result<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return base::fail(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  auto text = read_all(fd, path);
  close(fd);
  return text;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(k_space);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(k_space) - begin + 1));
}

}  // namespace kube
