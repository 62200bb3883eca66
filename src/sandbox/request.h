// What a request asks for, in Kubernetes' terms (RequestInfo of the API machinery). Internal to the sandbox.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kube/transport.h"

namespace sandbox {

struct RequestInfo {
  bool resource = false;  // below /api/v1 or /apis/<group>/<version>, with a resource in the path
  std::string path;       // decoded
  std::string verb;       // get list watch create update patch delete deletecollection
  std::string group;
  std::string version;
  std::string plural;
  std::string subresource;
  std::string ns;
  std::string name;
  std::map<std::string, std::string, std::less<>> query;

  std::string_view param(std::string_view key) const;
  bool flag(std::string_view key) const;  // "true" or "1"
};

RequestInfo parse_request(const kube::Request& request);
std::string percent_decoded(std::string_view part);
// A request from a request line's target ("/path?query", encoded). Without a content type, that of the body's look:
// JSON, a JSON patch (a list) or a merge patch.
kube::Request make_request(std::string_view method, std::string_view target, std::string_view body = {},
                           std::string_view content_type = {});

}  // namespace sandbox
