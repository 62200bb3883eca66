// ObjectMeta: which fields there are, what the server sets, what it refuses. Internal to the sandbox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/failure.h"
#include "sandbox/json.h"
#include "sandbox/kind.h"

namespace sandbox {

// Brings metadata into the stored form: unknown fields, managedFields, nulls and empty collections go. The result is a
// complaint about the first value of a wrong type, "" if there is none; removed unknown fields are appended to
// `unknown`.
std::string normalise_metadata(json::object& object, std::vector<std::string>* unknown);

// Names, labels, annotations, finalizers, owner references of a new object.
void validate_metadata(const json::object& object, const Kind& kind, Causes& causes);
// What may not change, and no new finalizers on an object that is being deleted.
void validate_metadata_update(const json::object& object, const json::object& old, const Kind& kind, Causes& causes);

bool is_dns_subdomain(std::string_view name);
std::vector<std::string> finalizers_of(const json::object& object);
void set_finalizers(json::object& object, const std::vector<std::string>& finalizers);

// RFC 3339 in UTC, whole seconds.
std::string timestamp(std::int64_t unix_seconds);

}  // namespace sandbox
