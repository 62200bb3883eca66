// The audit log that kube-apiserver's --audit-log-path gives. Internal to the sandbox.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "kube/transport.h"
#include "sandbox/front/users.h"
#include "sandbox/request.h"

namespace sandbox {

class AuditLog {
 public:
  // Throws std::runtime_error if the file cannot be written to; goes on at its end.
  explicit AuditLog(const std::string& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void record(const User& user, const kube::Request& request, const kube::Response& response, base::WallTime now);

 private:
  int file_ = -1;
};

}  // namespace sandbox
