#include "sandbox/request.h"

#include <charconv>
#include <vector>

namespace sandbox {
namespace {

std::string decode(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    unsigned char byte = 0;
    if (part[i] == '%' && i + 2 < part.size() &&
        std::from_chars(part.data() + i + 1, part.data() + i + 3, byte, 16).ptr == part.data() + i + 3) {
      text += static_cast<char>(byte);
      i += 2;
    } else {
      text += part[i];
    }
  }
  return text;
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) segments.push_back(decode(path.substr(0, slash)));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

std::string verb_of(const kube::Request& request, const RequestInfo& info) {
  const bool named = !info.name.empty();
  if (request.method == "GET" || request.method == "HEAD") {
    if (named) return "get";
    return info.flag("watch") ? "watch" : "list";
  }
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return named ? "delete" : "deletecollection";
  return {};
}

}  // namespace

std::string_view RequestInfo::param(std::string_view key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

bool RequestInfo::flag(std::string_view key) const {
  const std::string_view value = param(key);
  return value == "true" || value == "1";
}

RequestInfo parse_request(const kube::Request& request) {
  RequestInfo info;
  for (const auto& [key, value] : request.query) info.query.emplace(key, value);
  std::vector<std::string> parts = segments_of(request.path);
  for (const std::string& part : parts) info.path += "/" + part;
  std::size_t at = 0;
  if (parts.size() >= 2 && parts[0] == "api") {
    info.version = parts[1];
    at = 2;
  } else if (parts.size() >= 3 && parts[0] == "apis") {
    info.group = parts[1];
    info.version = parts[2];
    at = 3;
  } else {
    return info;
  }
  if (at == parts.size()) return info;
  info.resource = true;
  // "namespaces/x/services" is about services; "namespaces/x", ".../status" and ".../finalize" are about the namespace
  // itself
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
    info.ns = parts[at + 1];
    at += 2;
  }
  info.plural = parts[at++];
  if (at < parts.size()) info.name = parts[at++];
  if (at < parts.size()) info.subresource = parts[at++];
  if (at < parts.size()) info.subresource += "/" + parts[at];
  info.verb = verb_of(request, info);
  return info;
}

}  // namespace sandbox
