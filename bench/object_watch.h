// Follows the objects of one collection by a watch and tells how far each has come: a benchmark waits for that without
// polling lists.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "base/thread_reactor.h"
#include "kube/transport.h"

namespace bench {

class ObjectWatch {
 public:
  // How far an object has come, from 0 on. Called on the transport's thread.
  using Stage = std::function<int(const boost::json::value& object)>;

  // Watches `path` from the beginning of its history (initial events included).
  ObjectWatch(base::ThreadReactor& reactor, kube::Transport& transport, std::string path, Stage stage);
  ~ObjectWatch();
  ObjectWatch(const ObjectWatch&) = delete;
  ObjectWatch& operator=(const ObjectWatch&) = delete;

  // Each runs the reactor until what it waits for is so; false if that takes longer than `limit`.
  // `count` objects are at stage 1 or further.
  bool wait(std::size_t count, base::Duration limit);
  // The object "namespace/name" is at `stage` or further.
  bool wait_for(const std::string& key, int stage, base::Duration limit);
  // No more than `count` objects are left.
  bool wait_for_only(std::size_t count, base::Duration limit);
  // What has been reached when one of them returned false, for a person.
  std::string why() const;

 private:
  class Receiver;
  void open();
  void seen(const std::string& key, int stage);  // stage -1: deleted
  void drop_older();
  bool run_until(std::function<bool()> done, base::Duration limit);

  base::ThreadReactor& reactor_;
  kube::Transport& transport_;
  std::string path_;
  Stage stage_;
  kube::StreamId stream_{};
  struct Seen {
    int stage = 0;
    int opening = 0;  // of the watch, that told it
  };
  std::map<std::string, Seen> objects_;
  int opening_ = 0;
  std::size_t reached_ = 0;  // objects at stage 1 or further
  std::function<bool()> done_;
  int endings_ = 0;
  std::string ending_;
};

// Stage 1: status.phase is `phase`.
ObjectWatch::Stage in_phase(std::string phase);

}  // namespace bench
