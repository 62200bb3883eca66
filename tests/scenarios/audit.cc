#include "scenarios/audit.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "api/names.h"

namespace scenarios {
namespace {

namespace json = boost::json;

const json::value* at(const json::value& event, std::string_view pointer) {
  boost::system::error_code error;
  return event.find_pointer(pointer, error);
}
std::string text(const json::value& event, std::string_view pointer) {
  const auto* value = at(event, pointer);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

// The scenarios' name of a user: in the sandbox the controllers are service accounts.
std::string short_name(std::string user) {
  static const std::map<std::string, std::string, std::less<>> names{
      {"kubernetes-admin", "admin"},
      {"system:serviceaccount:address-controller:address-controller", "core"},
      {"system:serviceaccount:metallb-iad-system:metallb-iad", "driver"},
      {"system:serviceaccount:metallb-system:controller", "metallb"},
  };
  const auto found = names.find(user);
  return found == names.end() ? std::move(user) : found->second;
}

WriteRecord record_of(const json::value& event) {
  WriteRecord record{.user = short_name(text(event, "/user/username")),
                     .verb = text(event, "/verb"),
                     .plural = text(event, "/objectRef/resource"),
                     .subresource = text(event, "/objectRef/subresource"),
                     .ns = text(event, "/objectRef/namespace"),
                     .name = text(event, "/objectRef/name")};
  if (const auto* code = at(event, "/responseStatus/code")) record.code = static_cast<int>(code->to_number<int>());
  if (record.name.empty()) record.name = text(event, "/responseObject/metadata/name");
  return record;
}

// Nothing but the annotation whose change MetalLB is to see.
bool is_reminder(const json::value& event) {
  const auto* request = at(event, "/requestObject");
  const auto* annotations = at(event, "/requestObject/metadata/annotations");
  if (annotations == nullptr || !annotations->is_object() || request->get_object().contains("spec")) return false;
  return annotations->get_object().size() == 1 && annotations->get_object().contains(api::metallb::touched);
}

bool is_state(const WriteRecord& record) { return record.plural != "events" && record.plural != "leases"; }

}  // namespace

std::string WriteRecord::to_string() const {
  return fmt::format("{} {} {}{}{} {}{}{} -> {}{}", user, verb, plural, subresource.empty() ? "" : "/", subresource, ns,
                     ns.empty() ? "" : "/", name, code, changed ? "" : " (changed nothing)");
}

AuditLog AuditLog::from_its_end(const std::string& path) {
  AuditLog log(path);
  log.read_ = std::filesystem::file_size(path);
  return log;
}

void AuditLog::refresh() {
  std::ifstream in(path_, std::ios::binary);
  if (!in) return;
  in.seekg(static_cast<std::streamoff>(read_));
  char block[65536];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    read_ += static_cast<std::uint64_t>(in.gcount());
    partial_.append(block, static_cast<std::size_t>(in.gcount()));
  }
  std::size_t from = 0;
  for (std::size_t end; (end = partial_.find('\n', from)) != std::string::npos; from = end + 1) {
    line(std::string_view(partial_).substr(from, end - from));
  }
  partial_.erase(0, from);
}

void AuditLog::line(std::string_view content) {
  boost::system::error_code error;
  const json::value event = json::parse(content, error);
  if (error || text(event, "/stage") != "ResponseComplete") return;
  WriteRecord record = record_of(event);
  const bool ours = record.user == "core" || record.user == "driver";
  // A request that it has the right to may be refused all the same: by a webhook, or since its kind is on its way out.
  const bool allowed = text(event, "/annotations/authorization.k8s.io~1decision") == "allow";
  if (ours && record.code == 403 && !allowed) breaches_.push_back("forbidden: " + record.to_string());
  static constexpr std::string_view k_reads[] = {"get", "list", "watch"};
  for (auto verb : k_reads) {
    if (record.verb == verb) return;
  }
  const std::string from = text(event, "/requestObject/metadata/resourceVersion");
  const std::string to = text(event, "/responseObject/metadata/resourceVersion");
  const bool has_bodies = at(event, "/requestObject") != nullptr;
  const bool done = record.code >= 200 && record.code < 300;
  // A patch that takes the last finalizer of a deleted object is answered with the version before it: the object is
  // gone.
  const bool gone = at(event, "/responseObject/metadata/deletionTimestamp") != nullptr &&
                    at(event, "/responseObject/metadata/finalizers") == nullptr;
  record.changed = done && (gone || record.verb != "patch" || from.empty() || from != to);
  record.reminder = record.verb == "patch" && has_bodies && is_reminder(event);
  if (ours && has_bodies && is_state(record)) {
    if (record.verb == "patch" && from.empty())
      breaches_.push_back("patch without resourceVersion: " + record.to_string());
    if (record.verb == "delete" && text(event, "/requestObject/preconditions/uid").empty()) {
      breaches_.push_back("deletion without uid: " + record.to_string());
    }
    if (done && !record.changed) breaches_.push_back("write without change: " + record.to_string());
  }
  writes_.push_back(std::move(record));
}

std::vector<std::string> AuditLog::take_breaches() { return std::exchange(breaches_, {}); }

}  // namespace scenarios
