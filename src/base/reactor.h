// One thread's turn-taking: posted tasks and timers. The loop, the reflectors and the elector run on it; in production
// it waits for real time and for the I/O thread, in simulations it is a virtual clock shared by every actor of the
// process.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace base {

using Task = std::move_only_function<void()>;
enum class TimerId : std::uint64_t { none = 0 };

class Reactor {
 public:
  virtual ~Reactor() = default;
  virtual MonoTime now() const = 0;
  virtual WallTime wall() const = 0;
  // Runs `task` on the reactor's thread, after what was posted before it. The only member that other threads may call.
  virtual void post(Task task) = 0;
  // Runs `task` on the reactor's thread not before `when`. Timers of equal time run in the order of their setting.
  virtual TimerId at(MonoTime when, Task task) = 0;
  // Cancelling a timer that has fired, or TimerId::none, does nothing.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace base
