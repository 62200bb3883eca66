// A directory that goes with the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kube::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Replaces a file in one step; returns its path.
  std::string write(const std::string& name, std::string_view text) const;
  // An executable shell script.
  std::string write_script(const std::string& name, const std::string& commands) const;
  // "" if it does not exist.
  std::string read(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace kube::test
