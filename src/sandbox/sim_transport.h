// kube::Transport in a simulation: requests travel through virtual time to an in-memory server, and back, or do not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "kube/transport.h"
#include "sandbox/api_server.h"
#include "sandbox/faults.h"
#include "sandbox/sim_reactor.h"

namespace sandbox {

// How long things take. Every duration is drawn between its two bounds.
struct Network {
  base::Duration least_latency = std::chrono::microseconds(200);  // one way
  base::Duration most_latency = std::chrono::milliseconds(3);
  base::Duration least_watch_delay =
      std::chrono::microseconds(200);  // from a change to its event; events of one delay come together
  base::Duration most_watch_delay = std::chrono::milliseconds(5);
  bool split_chunks = true;  // cut the bytes of a watch anywhere
};

// Belongs to one process and one user. Destroy it outside the process's tasks; what is under way then is lost.
class SimTransport final : public kube::Transport {
 public:
  // All references outlive the transport. `crash` is called when a fault kills the process.
  SimTransport(SimReactor& world, SimProcess& process, ApiServer& server, std::string user, const Network& network,
               FaultPlan& faults, std::uint64_t seed, std::function<void()> crash);
  ~SimTransport() override;

  void send(kube::Request request, kube::Receiver receiver) override;
  kube::StreamId open(kube::Request request, std::unique_ptr<kube::StreamReceiver> receiver,
                      base::Duration idle) override;
  void close(kube::StreamId stream) override;

  // No watch event arrives before then: the process's caches stay as they are.
  void stall_watches(base::MonoTime until);
  // Resets every open stream, as a proxy that restarts does.
  void reset_watches();
  // Nothing gets through in either direction from here on; requests and streams end by their time-outs.
  void partition(bool cut) { cut_ = cut; }
  // The process is gone: nothing is delivered any more, watches end at the server.
  void detach();

  const std::string& user() const { return user_; }

 private:
  struct Call;
  struct Stream;

  base::Duration draw(base::Duration least, base::Duration most);
  void arrive(const std::shared_ptr<Call>& call, const std::optional<Fault>& fault);
  void deliver(const std::shared_ptr<Call>& call, base::Duration after, kube::Answer answer);
  static void finish(const std::shared_ptr<Call>& call, kube::Answer answer);
  void connect(const std::shared_ptr<Stream>& stream, const std::optional<Fault>& fault);
  void flush(const std::shared_ptr<Stream>& stream);
  void end(const std::shared_ptr<Stream>& stream, kube::Answer how);
  void arm_idle(const std::shared_ptr<Stream>& stream);

  SimReactor& world_;
  SimProcess& process_;
  ApiServer& server_;
  std::string user_;
  const Network& network_;
  FaultPlan& faults_;
  base::Random random_;
  std::function<void()> crash_;
  std::uint64_t last_stream_ = 0;
  std::map<kube::StreamId, std::shared_ptr<Stream>> streams_;
  base::MonoTime stalled_until_{};
  bool cut_ = false;
  // Turns false when the transport is gone: tasks in the world's queue may outlive it.
  std::shared_ptr<bool> attached_ = std::make_shared<bool>(true);
};

}  // namespace sandbox
