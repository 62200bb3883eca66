// When a change is safe from whatever happens to the process.
#pragma once

#include <cstdint>

#include "base/reactor.h"

namespace sandbox {

// Belongs to the reactor's thread.
class Durability {
 public:
  virtual ~Durability() = default;
  // All changes up to this revision are.
  virtual std::uint64_t durable() const = 0;
  // Runs `task` once durable() is at least `revision`; at once if it is.
  virtual void when_durable(std::uint64_t revision, base::Task task) = 0;
};

}  // namespace sandbox
