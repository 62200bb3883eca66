#include "client/remote.h"

#include <cerrno>
#include <csignal>
#include <ctime>

#include "kube/sync_client.h"

namespace client {
namespace {

volatile std::sig_atomic_t interrupts = 0;  // NOLINT: a signal handler can reach nothing else
extern "C" void on_interrupt(int) { interrupts = 1; }

class Remote final : public Server {
 public:
  explicit Remote(std::unique_ptr<kube::SyncClient> client) : client_(std::move(client)) {}

  kube::Answer call(kube::Request request) override { return client_->call(std::move(request)); }
  kube::Answer stream(kube::Request request, const std::function<bool(std::string_view)>& line) override {
    return client_->stream(std::move(request), line);
  }
  base::MonoTime now() const override { return std::chrono::steady_clock::now(); }
  base::WallTime wall() const override { return std::chrono::system_clock::now(); }
  void pause(base::Duration time) override {
    // Ctrl-C is let in only while this sleeps: one that came just before still ends it.
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const timespec limit{.tv_sec = seconds.count(),
                         .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds).count()};
    if (!interrupted()) pselect(0, nullptr, nullptr, nullptr, &limit, &before);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void catch_interrupt() override {
    struct sigaction before = {};
    sigaction(SIGINT, nullptr, &before);
    if (before.sa_handler == SIG_IGN) return;  // started in the background of a script
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
  }
  bool interrupted() const override { return interrupts != 0; }

 private:
  std::unique_ptr<kube::SyncClient> client_;
};

}  // namespace

base::Result<std::unique_ptr<Server>> connect(kube::ClientConfig config, const std::string& user_agent) {
  kube::TransportOptions options;
  options.user_agent = user_agent;
  auto client = kube::SyncClient::connect(std::move(config), std::move(options));
  if (!client) return std::unexpected(client.error());
  return std::make_unique<Remote>(std::move(*client));
}

}  // namespace client
