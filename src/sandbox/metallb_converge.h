// MetalLB's decision about one Service: the sequence of service.go, step by step. Internal to the sandbox.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sandbox/metallb_allocator.h"

namespace sandbox::metallb_model {

// An event about the Service that is being looked at.
using Tell = std::function<void(std::string_view type, std::string_view reason, const std::string& message)>;

enum class Verdict : char {
  done,
  failed,  // said why by an event, or silently; nothing will look at it again by itself
  kept,    // failed, and the Service stays exactly as it is
};

// Brings `service` (a copy of the cached document) and the table to what MetalLB wants them to be.
Verdict converge(json::object& service, Allocator& allocator, const Tell& tell);

}  // namespace sandbox::metallb_model
