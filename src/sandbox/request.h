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

}  // namespace sandbox
