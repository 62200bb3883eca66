// The sandbox's folder: kubeconfigs and logs, one sandbox at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sandbox_process {

class Folder {
 public:
  // Makes the folder if there is none, readable by its owner alone. Refuses one that belongs to somebody else or is in
  // use by another sandbox.
  static base::Result<Folder> open(const std::string& path);
  ~Folder();
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;

  // Absolute.
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;
  // Writes a file whole or not at all, mode 0600; it goes when the sandbox ends.
  base::Result<void> write(std::string_view name, std::string_view text);

 private:
  Folder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;
  std::vector<std::string> written_;
};

}  // namespace sandbox_process
