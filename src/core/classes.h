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

// The class that a claim belongs to by what it has: its status says it once anything is reported; before that, the
// address that counts does. What status said earlier may be of a class that was the default then, or that the claim no
// longer asks for. "" if it has nothing and its status says nothing.
std::string settled_class(const api::IPAddressClaim& claim, const Counting& counting);

// What is said of a claim that names an address which is not there.
std::string absent_address(std::string_view name);

// Reads the class, or the classes marked as the default: a claim that cannot be resolved is woken when they change.
Resolution resolve_class(kube::View& view, const api::IPAddressClaim& claim, const Counting& counting);

}  // namespace core
