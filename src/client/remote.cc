#include "client/remote.h"

#include <thread>

#include "kube/sync_client.h"

namespace client {
namespace {

class Remote final : public Server {
 public:
  explicit Remote(std::unique_ptr<kube::SyncClient> client) : client_(std::move(client)) {}

  kube::Answer call(kube::Request request) override { return client_->call(std::move(request)); }
  kube::Answer stream(kube::Request request, const std::function<bool(std::string_view)>& line) override {
    return client_->stream(std::move(request), line);
  }
  base::MonoTime now() const override { return std::chrono::steady_clock::now(); }
  base::WallTime wall() const override { return std::chrono::system_clock::now(); }
  void pause(base::Duration time) override { std::this_thread::sleep_for(time); }

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
