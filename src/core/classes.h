// Which class serves a claim (contract §3.6).
#pragma once

#include <string>
#include <string_view>

#include "api/ipam.h"
#include "core/holds.h"
#include "kube/view.h"

namespace core {

struct Resolution {
  const api::ClassRead* found = nullptr;
  std::string_view reason;  // of condition ClassResolved
  std::string message;
};

// Reads the class, or the classes marked as the default: a claim that cannot be resolved is woken when they change.
Resolution resolve_class(kube::View& view, const api::IPAddressClaim& claim, const Counting& counting);

}  // namespace core
