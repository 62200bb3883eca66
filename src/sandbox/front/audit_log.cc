#include "sandbox/front/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "base/log.h"
#include "sandbox/json.h"
#include "sandbox/metadata.h"

namespace sandbox {
namespace {

bool is_read(const std::string& verb) { return verb == "get" || verb == "list" || verb == "watch"; }

json::object reference_to(const RequestInfo& info) {
  json::object reference{{"resource", info.plural}, {"apiVersion", info.version}};
  if (!info.ns.empty()) reference["namespace"] = info.ns;
  if (!info.name.empty()) reference["name"] = info.name;
  if (!info.group.empty()) reference["apiGroup"] = info.group;
  if (!info.subresource.empty()) reference["subresource"] = info.subresource;
  return reference;
}

}  // namespace

AuditLog::AuditLog(const std::string& path)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error(path + ": " + std::system_category().message(errno));
}

AuditLog::~AuditLog() { close(file_); }

void AuditLog::record(const User& user, const kube::Request& request, const kube::Response& response,
                      base::WallTime now) {
  const RequestInfo info = parse_request(request);
  if (!info.resource || (is_read(info.verb) && !user.in("system:serviceaccounts"))) return;
  json::object event{
      {"kind", "Event"},
      {"apiVersion", "audit.k8s.io/v1"},
      {"level", is_read(info.verb) ? "Metadata" : "RequestResponse"},
      {"stage", "ResponseComplete"},
      {"requestURI", request.path},
      {"verb", info.verb},
      {"user", json::object{{"username", user.name}}},
      {"objectRef", reference_to(info)},
      {"responseStatus", json::object{{"code", response.status}}},
      {"stageTimestamp", timestamp(std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count())}};
  if (!is_read(info.verb)) {
    if (auto body = parse_json(request.body)) event["requestObject"] = std::move(*body);
    if (auto body = parse_json(response.body)) event["responseObject"] = std::move(*body);
  }
  const std::string line = to_text(event) + "\n";
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    base::log::warn("The audit log cannot be written", {base::log::kv("error", std::system_category().message(errno))});
  }
}

}  // namespace sandbox
