// MetalLB's decision about one Service: the sequence of service.go, step by step. Internal to the sandbox.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sandbox/metallb_allocator.h"

namespace sandbox::metallb_model {

// An event about the Service that is being looked at.
using Tell = std::function<void(std::string_view type, std::string_view reason, const std::string& message)>;

// Brings `service` (a copy of the cached document) and the table to what MetalLB wants them to be. Where that fails, an
// event may say why, and nothing will look at the Service again by itself.
void converge(json::object& service, Allocator& allocator, const Tell& tell);

}  // namespace sandbox::metallb_model
