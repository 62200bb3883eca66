#include "sandbox/data/data_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sandbox::data {
namespace {

std::unexpected<base::Error> error(std::string_view path, std::string_view what) {
  return base::fail(fmt::format("{}: {}: {}", path, what, std::system_category().message(errno)));
}

// Whether `fd` is still what `path` names: it may have been replaced between open and lock.
bool is_named(int fd, const std::string& path) {
  struct stat ours {};
  struct stat named {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

DataFile::~DataFile() {
  if (fd_ >= 0) close(fd_);
}
DataFile::DataFile(DataFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
DataFile& DataFile::operator=(DataFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

base::Result<DataFile> DataFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return error(path, "cannot be opened");
  DataFile file(path, fd);
  struct stat info {};
  if (fstat(fd, &info) != 0) return error(path, "cannot be looked at");
  if (!S_ISREG(info.st_mode)) return base::fail(path + " is no regular file");
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_named(fd, path)) {
    return base::fail(path + " is in use by another sandbox");
  }
  return file;
}

base::Result<DataFile> DataFile::draft(const std::string& path) {
  const std::string name = path + ".new";
  unlink(name.c_str());  // of one that was killed at this
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return error(name, "cannot be made");
  DataFile file(name, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return error(name, "cannot be locked");
  return file;
}

base::Result<void> DataFile::failed(std::string_view what) const { return error(path_, what); }

base::Result<std::size_t> DataFile::size() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return error(path_, "cannot be looked at");
  return static_cast<std::size_t>(info.st_size);
}

base::Result<void> DataFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return failed("cannot be written");
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

base::Result<void> DataFile::sync() {
  if (fdatasync(fd_) != 0) return failed("cannot be written to the disk");
  return {};
}

base::Result<void> DataFile::truncate(std::size_t bytes) {
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return failed("cannot be shortened");
  return {};
}

base::Result<void> DataFile::replace(const std::string& path) {
  if (auto synced = sync(); !synced) return synced;
  if (rename(path_.c_str(), path.c_str()) != 0) return failed("cannot take its place");
  path_ = path;
  const std::string folder = std::filesystem::absolute(path).parent_path();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return error(folder, "cannot be opened");
  const bool good = fsync(fd) == 0;
  close(fd);
  if (!good) return error(folder, "cannot be written to the disk");
  return {};
}

base::Result<MappedFile> MappedFile::map(const DataFile& file, std::size_t size) {
  if (size == 0) return MappedFile(nullptr, 0);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) return base::fail("cannot be read: " + std::system_category().message(errno));
  return MappedFile(data, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace sandbox::data
