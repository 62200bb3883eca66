// Keeps a Store equal to a collection of the API server: runs the WatchMachine over a Transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "kube/store.h"
#include "kube/transport.h"
#include "kube/watch_machine.h"

namespace kube {

struct ReflectorOptions {
  const Kind* kind = nullptr;
  std::string ns;  // "" = all namespaces
  std::string label_selector;
  std::string field_selector;
  WatchPolicy policy;
  // The longest silence of a watch. Servers send a bookmark about once a minute.
  base::Duration idle = std::chrono::seconds(100);
};

// What people and metrics want to know of a reflector.
struct ReflectorStatus {
  bool synced = false;    // the store has had its first complete list
  bool available = true;  // the server serves the kind, as far as is known
  std::string version;
  std::optional<base::MonoTime> last_event;  // the last sign of life: an event, a bookmark, a page
  std::optional<ApiError> trouble;           // why it is waiting now; nothing while all is well
  std::uint64_t relists = 0;
  std::uint64_t watch_restarts = 0;
  std::uint64_t streaming_fallbacks = 0;
};

// Belongs to the reactor's thread. Decoding happens on the transport's thread.
class Reflector {
 public:
  // All of them optional, and called after the store is up to date.
  struct Listener {
    // Once: the store has its first complete list (see Store::replacing), or the optional kind is known to be missing.
    std::function<void()> settled;
    std::function<void(bool)> available;  // the kind went missing, or is there again
    std::function<void(WatchMachine::Counter, std::string_view reason)> counted;
  };

  // `reactor`, `transport` and `store` must outlive it. `seed` should differ between processes and kinds.
  Reflector(base::Reactor& reactor, Transport& transport, Store& store, ReflectorOptions options, std::uint64_t seed,
            Listener listener);
  // Stops.
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Once.
  void start();
  // No change reaches the store and no listener is called after this.
  void stop();

  const Kind& kind() const;
  const ReflectorStatus& status() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
