// Follows one collection over a transport: a list, then a watch, and again from the start whenever that ends badly.
// What the models of other people's controllers use for their caches. Internal to the sandbox.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "kube/transport.h"
#include "sandbox/json.h"

namespace sandbox {

class Follower {
 public:
  using Document = std::shared_ptr<const json::object>;
  using Documents = std::map<std::string, Document>;  // by "ns/name" or "name"

  // `changed` is called with the key of every object that appears, changes or goes, after the cache has it.
  Follower(base::Reactor& reactor, kube::Transport& transport, std::string path,
           std::function<void(const std::string&)> changed);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The first list is complete.
  bool synced() const { return synced_; }
  const Documents& documents() const { return documents_; }
  Document get(const std::string& key) const;

 private:
  class Stream;
  void list();
  void watch();
  void again();
  void replace(const json::object& list);
  // False if the watch is of no use any more.
  bool apply(const json::object& event);

  base::Reactor& reactor_;
  kube::Transport& transport_;
  std::string path_;
  std::function<void(const std::string&)> changed_;
  Documents documents_;
  std::string version_;
  bool synced_ = false;
  kube::StreamId stream_ = kube::StreamId::none;
  base::TimerId retry_ = base::TimerId::none;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sandbox
