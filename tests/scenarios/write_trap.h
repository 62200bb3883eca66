// Kills a process right after one of its writes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

#include "scenarios/audit.h"

namespace scenarios {

// Follows the API server's audit log, which has a request before its answer is sent, on a thread of its own.
class WriteTrap {
 public:
  // Kills `pid` after so many more writes of `user` (at least one). To be destroyed before that number can be another
  // process's. Throws std::system_error if the log cannot be followed.
  WriteTrap(std::string audit_log, std::string user, std::size_t writes, pid_t pid);
  bool has_struck() const { return struck_; }

 private:
  void watch(const std::stop_token& stop, int notifications);

  AuditLog log_;
  std::string user_;
  std::size_t left_;
  pid_t pid_;
  std::atomic<bool> struck_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace scenarios
