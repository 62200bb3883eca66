// Counts how many objects of a kind have reached a phase, from a watch: tells a benchmark when it is done without
// polling lists.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/thread_reactor.h"
#include "kube/transport.h"
#include "kube/types.h"

namespace bench {

class PhaseWatch {
 public:
  // Watches `path` from the beginning of its history (initial events included).
  PhaseWatch(base::ThreadReactor& reactor, kube::Transport& transport, std::string path, std::string phase);
  ~PhaseWatch();
  PhaseWatch(const PhaseWatch&) = delete;
  PhaseWatch& operator=(const PhaseWatch&) = delete;

  // Runs the reactor until `count` objects are in the phase at once; false if that takes longer than `limit` or the
  // watch ends.
  bool wait(std::size_t count, base::Duration limit);
  // Why wait() returned false, for a person.
  std::string why() const;

 private:
  class Receiver;
  void open();
  void seen(const std::string& name, bool reached);

  base::ThreadReactor& reactor_;
  kube::Transport& transport_;
  std::string path_;
  std::string phase_;
  kube::StreamId stream_{};
  std::set<std::string> reached_;
  std::size_t wanted_ = static_cast<std::size_t>(-1);
  int endings_ = 0;
  std::string ending_;
};

}  // namespace bench
