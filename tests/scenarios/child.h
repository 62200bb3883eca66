// A child process that never outlives its parent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace scenarios {

class Child {
 public:
  // Starts argv[0] with its output appended to the file `log` and `environment` added to ours. It is killed when we
  // die.
  static base::Result<std::unique_ptr<Child>> start(
      const std::vector<std::string>& argv, const std::string& log,
      const std::vector<std::pair<std::string, std::string>>& environment = {});
  // Kills it if it still runs.
  ~Child();

  pid_t pid() const { return pid_; }
  bool running();
  // Sends SIGTERM and waits; after `patience` SIGKILL. False if it had to be killed or ended with a failure.
  bool end(std::chrono::milliseconds patience);
  void kill();
  // "exited with 1", "killed by signal 11"; "" while it runs.
  std::string ending() const { return ending_; }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  void reap(int status);

  pid_t pid_;
  bool reaped_ = false;
  bool clean_ = false;
  std::string ending_;
};

// Runs argv to its end; its output goes to `log`. An error if it cannot be run or does not exit with 0.
base::Result<void> run_to_end(const std::vector<std::string>& argv, const std::string& log);

}  // namespace scenarios
