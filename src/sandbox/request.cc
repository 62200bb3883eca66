#include "sandbox/request.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace sandbox {
std::string percent_decoded(std::string_view part) {
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

namespace {

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) segments.push_back(percent_decoded(path.substr(0, slash)));
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

kube::Request make_request(std::string_view method, std::string_view target, std::string_view body,
                           std::string_view content_type) {
  kube::Request request;
  request.method = method;
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    request.query.emplace_back(percent_decoded(pair.substr(0, equals)),
                               percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  request.body = body;
  request.content_type = content_type;
  if (!body.empty() && content_type.empty()) {
    request.content_type = method != "PATCH"     ? "application/json"
                           : body.front() == '[' ? "application/json-patch+json"
                                                 : "application/merge-patch+json";
  }
  return request;
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
