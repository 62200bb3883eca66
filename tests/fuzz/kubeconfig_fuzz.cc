// A kubeconfig: whatever stands in it, the answer is a configuration or one line that says what is wrong.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "fuzz/fuzz.h"
#include "kube/kubeconfig.h"

namespace {

// A file in memory with that text.
class File {
 public:
  File() : fd_(memfd_create("kubeconfig", MFD_CLOEXEC)) { kube::fuzz::expect(fd_ >= 0, "a file in memory"); }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string holding(std::string_view text) const {
    kube::fuzz::expect(ftruncate(fd_, 0) == 0, "an empty file");
    kube::fuzz::expect(pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "a written file");
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  const auto config = kube::load_kubeconfig({file.holding(kube::fuzz::text_of(data, size))});
  if (config) {
    kube::fuzz::expect(config->server.starts_with("https://") || config->server.starts_with("http://"),
                       "a server is a URL");
    if (config->exec) kube::fuzz::expect(!config->exec->command.empty(), "a plugin has a command");
    kube::fuzz::expect(!config->exec || config->exec->policy.type == kube::PluginPolicy::Type::allow_all,
                       "the file cannot set the policy");
  } else {
    kube::fuzz::expect(!config.error().message.empty(), "an error says what is wrong");
  }
  return 0;
}
