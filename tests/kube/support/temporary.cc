#include "kube/support/temporary.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace kube::test {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (fs::temp_directory_path() / "kube_test.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, std::string_view text) const {
  const fs::path target = path_ / name;
  fs::create_directories(target.parent_path());
  const fs::path fresh = path_ / (fs::path(name).filename().string() + ".new");
  std::ofstream(fresh, std::ios::binary) << text;
  fs::rename(fresh, target);
  return target.string();
}

std::string TemporaryDirectory::write_script(const std::string& name, const std::string& commands) const {
  const std::string path = write(name, "#!/bin/sh\n" + commands + "\n");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::string TemporaryDirectory::read(const std::string& name) const {
  std::ifstream file(path_ / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace kube::test
