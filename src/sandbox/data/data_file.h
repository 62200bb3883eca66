// The file that holds a sandbox's state: opened, locked, appended to, replaced. Internal to the sandbox.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox::data {

// A file of this process, locked against others. Errors name the file.
class DataFile {
 public:
  DataFile() = default;
  ~DataFile();
  DataFile(DataFile&& other) noexcept;
  DataFile& operator=(DataFile&& other) noexcept;

  // Opens what is there, or makes an empty file, mode 0600.
  static base::Result<DataFile> open(const std::string& path);
  // A new file beside `path`, empty, to take its place by replace().
  static base::Result<DataFile> draft(const std::string& path);

  base::Result<std::size_t> size() const;
  base::Result<void> append(std::string_view bytes);
  base::Result<void> sync();
  base::Result<void> truncate(std::size_t bytes);
  // Takes `path`'s place for good: when this returns, that is on the disk.
  base::Result<void> replace(const std::string& path);

  int descriptor() const { return fd_; }

 private:
  DataFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  base::Result<void> failed(std::string_view what) const;

  std::string path_;
  int fd_ = -1;
};

// The bytes of a file, mapped.
class MappedFile {
 public:
  static base::Result<MappedFile> map(const DataFile& file, std::size_t size);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
  void* data_;
  std::size_t size_;
};

}  // namespace sandbox::data
