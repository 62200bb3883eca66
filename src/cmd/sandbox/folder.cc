#include "cmd/sandbox/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sandbox_process {
namespace {

namespace fs = std::filesystem;

base::Result<void> failed(const std::string& path) {
  return base::fail(fmt::format("{}: {}", path, std::system_category().message(errno)));
}

base::Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(fd, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return base::fail(std::system_category().message(errno));
    if (bytes > 0) text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return {};
}

}  // namespace

base::Result<Folder> Folder::open(const std::string& path) {
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).lexically_normal();
  if (error) return base::fail(fmt::format("{}: {}", path, error.message()));
  if (const fs::path parent = fs::path(absolute).parent_path(); !fs::exists(parent, error)) {
    fs::create_directories(parent, error);
  }
  if (mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) return std::unexpected(failed(absolute).error());
  struct stat info {};
  if (lstat(absolute.c_str(), &info) != 0) return std::unexpected(failed(absolute).error());
  if (!S_ISDIR(info.st_mode)) return base::fail(fmt::format("{} is no folder", absolute));
  if (info.st_uid != geteuid() || (info.st_mode & 0022U) != 0) {
    return base::fail(fmt::format("{} belongs to somebody else, or others may write to it; see --dir", absolute));
  }
  const std::string lock_file = absolute + "/lock";
  const int lock = ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return std::unexpected(failed(lock_file).error());
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return base::fail(fmt::format("another sandbox uses {}; give this one a --dir of its own", absolute));
  }
  return Folder(absolute, lock);
}

Folder::Folder(Folder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)), written_(std::move(other.written_)) {}

Folder::~Folder() {
  if (lock_ < 0) return;
  for (const std::string& name : written_) unlink(file(name).c_str());
  close(lock_);
}

std::string Folder::file(std::string_view name) const { return fmt::format("{}/{}", path_, name); }

base::Result<void> Folder::write(std::string_view name, std::string_view text) {
  const std::string target = file(name);
  const std::string draft = target + ".new";
  unlink(draft.c_str());
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed(draft);
  const auto written = write_all(fd, text);
  if (close(fd) != 0 || !written) return failed(draft);
  if (rename(draft.c_str(), target.c_str()) != 0) return failed(target);
  written_.emplace_back(name);
  return {};
}

}  // namespace sandbox_process
