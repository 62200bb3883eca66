#include "sandbox/sim_reactor.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sandbox {

SimProcess::SimProcess(SimReactor& reactor, std::string name, ClockSkew skew)
    : reactor_(reactor), name_(std::move(name)), skew_(skew), lane_(++reactor.lanes_), born_(reactor.now()) {}

SimProcess::~SimProcess() { reactor_.drop(this); }

base::MonoTime SimProcess::now() const {
  const base::Duration passed = reactor_.now() - born_;
  return born_ + passed + base::Duration(std::llround(static_cast<double>(passed.count()) * skew_.rate));
}

base::WallTime SimProcess::wall() const { return reactor_.wall() + skew_.offset; }

void SimProcess::post(base::Task task) { reactor_.schedule(reactor_.now(), this, std::move(task)); }

base::TimerId SimProcess::at(base::MonoTime when, base::Task task) {
  // the true instant at which this process's clock shows `when`, never earlier
  const auto local = static_cast<double>((when - born_).count());
  base::MonoTime instant = born_ + base::Duration(static_cast<std::int64_t>(std::ceil(local / (1 + skew_.rate))));
  if (skew_.rate == 0) instant = when;
  return reactor_.schedule(instant, this, std::move(task));
}

void SimProcess::cancel(base::TimerId timer) { reactor_.cancel(timer); }

base::TimerId SimProcess::after(base::Duration delay, base::Task task) {
  return reactor_.schedule(reactor_.now() + delay, this, std::move(task));
}

SimReactor::SimReactor(Options options) : options_(options), random_(options.seed) {}

SimReactor::~SimReactor() {
  // destroying a task may cancel timers of others: the queue must be empty by then
  std::map<Key, Item> queue = std::move(queue_);
  queue_.clear();
  timers_.clear();
}

base::WallTime SimReactor::wall() const { return options_.start + now_.time_since_epoch(); }

void SimReactor::post(base::Task task) { schedule(now_, nullptr, std::move(task)); }

base::TimerId SimReactor::at(base::MonoTime when, base::Task task) { return schedule(when, nullptr, std::move(task)); }

base::TimerId SimReactor::schedule(base::MonoTime when, SimProcess* process, base::Task task) {
  if (process != nullptr && !process->alive_) return base::TimerId::none;
  Key key{.when = std::max(when, now_), .turn = 0, .sequence = ++sequence_};
  if (options_.shuffle) {
    const std::uint64_t lane = process == nullptr ? 0 : process->lane_;
    const auto instant = static_cast<std::uint64_t>(key.when.time_since_epoch().count());
    key.turn = base::Random(options_.seed ^ (lane * 0x9e3779b97f4a7c15ULL) ^ instant).next();
  }
  timers_.emplace(key.sequence, key);
  queue_.emplace(key, Item{process, std::move(task)});
  return base::TimerId{key.sequence};
}

void SimReactor::cancel(base::TimerId timer) {
  const auto found = timers_.find(static_cast<std::uint64_t>(timer));
  if (found == timers_.end()) return;
  // moved out first: destroying the task may call back
  auto node = queue_.extract(found->second);
  timers_.erase(found);
}

void SimReactor::drop(SimProcess* process) {
  std::vector<std::map<Key, Item>::node_type> dropped;
  for (auto it = queue_.begin(); it != queue_.end();) {
    const auto next = std::next(it);
    if (it->second.process == process) {
      timers_.erase(it->first.sequence);
      dropped.push_back(queue_.extract(it));
    }
    it = next;
  }
}

bool SimReactor::step() {
  if (queue_.empty()) return false;
  auto node = queue_.extract(queue_.begin());
  timers_.erase(node.key().sequence);
  now_ = node.key().when;
  ++steps_;
  const Item& item = node.mapped();
  if (item.process == nullptr || item.process->alive_) node.mapped().task();
  return true;
}

std::optional<base::MonoTime> SimReactor::next() const {
  return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first.when);
}

void SimReactor::run_until(base::MonoTime when) {
  while (!queue_.empty() && queue_.begin()->first.when <= when) step();
  now_ = std::max(now_, when);
}

bool SimReactor::run_until(const std::function<bool()>& done, base::Duration limit) {
  const base::MonoTime end = now_ + limit;
  while (!done()) {
    if (queue_.empty() || queue_.begin()->first.when > end) {
      now_ = std::max(now_, end);
      return done();
    }
    step();
  }
  return true;
}

}  // namespace sandbox
