// A base::Reactor on the event loop that the HTTP server lives on: for those who must share its thread.
#pragma once

#include <memory>

#include "base/reactor.h"

namespace serve {

// As base::ThreadReactor: post() and stop() from any thread, everything else on the thread that is inside run() (or
// before it). Outlives the servers on it.
class IoReactor final : public base::Reactor {
 public:
  IoReactor();
  ~IoReactor() override;
  IoReactor(const IoReactor&) = delete;
  IoReactor& operator=(const IoReactor&) = delete;

  base::MonoTime now() const override { return std::chrono::steady_clock::now(); }
  base::WallTime wall() const override { return std::chrono::system_clock::now(); }
  void post(base::Task task) override;
  base::TimerId at(base::MonoTime when, base::Task task) override;
  void cancel(base::TimerId timer) override;

  // Runs until stop(). A later run() goes on with what was left.
  void run();
  void stop();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace serve
