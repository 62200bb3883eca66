// SIGTERM and SIGINT as calls, outside of signal handlers.
#pragma once

#include <functional>
#include <thread>

namespace kube {

// Blocks both signals in the calling thread and all threads that it starts afterwards: make it first of all. One per
// process.
class SignalWatcher {
 public:
  // `first` is called on the watcher's own thread when a signal comes; a second signal ends the process at once, with
  // status 1.
  explicit SignalWatcher(std::function<void(int signal)> first);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch(const std::function<void(int)>& first) const;

  int signals_ = -1;
  int end_ = -1;
  std::thread thread_;
};

}  // namespace kube
