// The API server's audit log as the scenarios read it: which writes there were, by whom, and which rules of conduct
// were broken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/backend.h"

namespace scenarios {

// Follows one file of JSON lines as it grows.
class AuditLog {
 public:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  // Knows nothing of what is in it already.
  static AuditLog from_its_end(const std::string& path);

  // Reads what was added. Positions are indexes into writes().
  void refresh();
  const std::vector<WriteRecord>& writes() const { return writes_; }
  // Breaches by the controllers (users core and driver) since the last call: forbidden requests; patches without the
  // version they were planned from and deletions without a uid (contract §2.4, §2.5); writes that changed nothing
  // (§2.6).
  std::vector<std::string> take_breaches();

 private:
  void line(std::string_view text);

  std::string path_;
  std::uint64_t read_ = 0;
  std::string partial_;
  std::vector<WriteRecord> writes_;
  std::vector<std::string> breaches_;
};

}  // namespace scenarios
