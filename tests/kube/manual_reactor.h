// A reactor whose time passes only when a test says so.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "base/reactor.h"

namespace kube::testing {

class ManualReactor final : public base::Reactor {
 public:
  base::MonoTime now() const override { return now_; }
  base::WallTime wall() const override { return wall_; }
  void post(base::Task task) override { posted_.push_back(std::move(task)); }
  base::TimerId at(base::MonoTime when, base::Task task) override {
    const auto id = static_cast<base::TimerId>(++last_);
    timers_.emplace(std::pair(when, last_), std::move(task));
    return id;
  }
  void cancel(base::TimerId timer) override {
    std::erase_if(timers_, [&](const auto& t) { return static_cast<base::TimerId>(t.first.second) == timer; });
  }

  // Runs what is due now.
  void run() {
    while (step()) {
    }
  }
  // Lets `d` pass, running what comes due at its time.
  void advance(base::Duration d) {
    const base::MonoTime end = now_ + d;
    run();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      set_now(std::max(now_, timers_.begin()->first.first));
      run();
    }
    set_now(end);
  }
  // The process was stopped for so long: time passed, nothing ran.
  void freeze(base::Duration d) { set_now(now_ + d); }
  // Only the wall clock jumps.
  void jump_wall(base::Duration d) { wall_ += d; }
  std::size_t timers() const { return timers_.size(); }

 private:
  bool step() {
    if (!posted_.empty()) {
      base::Task task = std::move(posted_.front());
      posted_.pop_front();
      if (task) task();
      return true;
    }
    if (timers_.empty() || timers_.begin()->first.first > now_) return false;
    base::Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
    return true;
  }
  void set_now(base::MonoTime now) {
    wall_ += now - now_;
    now_ = now;
  }

  base::MonoTime now_{std::chrono::hours(1)};
  base::WallTime wall_{std::chrono::seconds(1'735'689'600)};
  std::deque<base::Task> posted_;
  std::map<std::pair<base::MonoTime, std::uint64_t>, base::Task> timers_;
  std::uint64_t last_ = 0;
};

}  // namespace kube::testing
