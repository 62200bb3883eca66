// The kinds that the client knows by name, as kubectl's users write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/document.h"
#include "kube/types.h"

namespace client {

// "service", "services", "svc", "Service", "ipaddresses.local.sdn.cozystack.io": one kind. "ipam": the three kinds of
// the group. "a,b": several. The error says what is known.
base::Result<std::vector<const kube::Resource*>> kinds_named(std::string_view names);
base::Result<const kube::Resource*> kind_named(std::string_view name);
// By the apiVersion and kind of a document.
base::Result<const kube::Resource*> kind_of(const json::object& document);

// "service", "ipaddressclaim.local.sdn.cozystack.io": how messages name an object's kind.
std::string display_kind(const kube::Resource& resource);
// "service/web".
std::string display_name(const kube::Resource& resource, std::string_view name);

}  // namespace client
