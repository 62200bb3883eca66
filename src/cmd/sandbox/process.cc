#include "cmd/sandbox/process.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>

#include "base/log.h"
#include "cmd/sandbox/banner.h"
#include "cmd/sandbox/folder.h"
#include "cmd/sandbox/identities.h"
#include "cmd/sandbox/parts.h"
#include "cmd/sandbox/picture.h"
#include "cmd/sandbox/populate.h"
#include "kube/signals.h"
#include "page/page.h"
#include "sandbox/cluster_controllers.h"
#include "sandbox/data/journal.h"
#include "sandbox/front/api_front.h"
#include "sandbox/metallb.h"
#include "sandbox/workloads.h"
#include "serve/http_server.h"

namespace sandbox_process {
namespace {

using base::log::kv;

constexpr std::size_t k_history = 10'000;  // each change keeps a version of its object alive

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

// Every watch is a connection: as many as the system lets us have.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string_view name_of(base::log::Level level) {
  static constexpr std::string_view names[] = {"debug", "info", "warn", "error"};
  return names[static_cast<std::size_t>(level)];
}

// A browser at the root of the API server. It has no credentials there and is shown the way to the page, which has its
// own door.
bool wants_picture(const serve::Head& head) {
  return head.method == "GET" && head.path == "/" && page::wants_page(head.header("Accept"));
}

serve::Handler way_to_picture(std::string address, serve::Handler otherwise) {
  return [address = std::move(address), otherwise = std::move(otherwise)](serve::Request request,
                                                                          serve::Responder responder) {
    if (!wants_picture(request)) return otherwise(std::move(request), std::move(responder));
    responder.send({.status = 302,
                    .content_type = "text/plain; charset=utf-8",
                    .headers = {{"Location", address}},
                    .body = "The page is at " + address + "\n"});
  };
}

class Process {
 public:
  explicit Process(const Options& options) : options_(options) {}

  int run() {
    auto folder = Folder::open(options_.dir);
    if (!folder) return refuse(folder.error().message);
    auto identities = Identities::make(options_.plain);
    if (!identities) return refuse(identities.error().message);
    const kube::SignalWatcher signals([this](int signal) {
      base::log::info("Received a signal", {kv("signal", signal == SIGTERM ? "SIGTERM" : "SIGINT")});
      reactor_.post([this] { shut_down(); });
    });
    controllers_.emplace(server_, reactor_);
    workloads_.emplace(server_, reactor_);
    if (auto opened = open_data(); !opened) return refuse(opened.error().message);
    if (auto populated = populate(server_); !populated) return refuse(populated.error().message);
    webhook_.emplace(server_);
    const int status = serve(*folder, *identities);
    journal_.reset();
    return failed_ ? 1 : status;
  }

 private:
  int serve(Folder& folder, const Identities& identities) {
    sandbox::FrontOptions front_options;
    front_options.audit_log = options_.audit_log;
    front_options.durability = journal_.get();
    auto page_token = random_token();
    if (!page_token) return refuse(page_token.error().message);
    sandbox::Users users = identities.users();
    users.add_token(*page_token, {"address-sandbox:page", {}});
    sandbox::ApiFront front(server_, reactor_, std::move(users), front_options);
    auto picture =
        Picture::start(reactor_, {.port = options_.page_port, .api = front.handler(), .token = std::move(*page_token)});
    if (!picture) return refuse("page: " + picture.error().message);
    serve::HttpOptions http_options;
    http_options.port = options_.port;
    http_options.tls = identities.tls();
    http_options.refusal = &sandbox::ApiFront::refusal;
    http_options.admit = [&front](const serve::Head& head) {
      return wants_picture(head) ? std::nullopt : front.admit(head);
    };
    auto http = serve::HttpServer::start(reactor_, std::move(http_options));
    if (!http) return refuse(http.error().message);
    (*http)->route_below("/", front.handler());
    (*http)->route("/", way_to_picture((*picture)->address(), front.handler()));
    const std::string url = fmt::format("{}://127.0.0.1:{}", options_.plain ? "http" : "https", (*http)->port());
    if (auto written = identities.write_kubeconfigs(folder, url); !written) return refuse(written.error().message);

    Parts parts(reactor_, {.dir = folder.path(),
                           .metallb_version = options_.metallb_version,
                           .log_level = std::string(name_of(options_.log_level)),
                           .log_format = options_.log_format == base::log::Format::json ? "json" : "text"});
    picture_ = picture->get();
    front_ = &front;
    http_ = http->get();
    parts_ = &parts;
    reactor_.post([this] {
      for (const Part part : options_.parts) parts_->start(part);
    });
    fmt::print("{}", banner(options_, url, folder.path(), picture_->url()));
    std::fflush(stdout);
    if (options_.open) {
      if (auto opened = picture_->open_browser(); !opened)
        base::log::warn("The page is not opened", {kv("error", opened.error().message)});
    }
    reactor_.run();
    parts_ = nullptr;
    picture_ = nullptr;
    return 0;
  }

  base::Result<void> open_data() {
    if (options_.data.empty()) return {};
    sandbox::JournalOptions journal_options;
    journal_options.failed = [this](const std::string& why) {
      base::log::error("The state can no longer be kept; ending", {kv("error", why)});
      failed_ = true;
      shut_down();
    };
    auto journal = sandbox::Journal::open(options_.data, server_, reactor_, std::move(journal_options));
    if (!journal) return std::unexpected(journal.error());
    journal_ = std::move(*journal);
    base::log::info("The state is kept", {kv("file", options_.data), kv("objects", journal_->restored()),
                                          kv("revision", server_.revision())});
    return {};
  }

  // Parts first: they have something to say to the server before they go.
  void shut_down() {
    if (parts_ == nullptr) return reactor_.stop();
    parts_->end([this] {
      front_->end_watches();
      http_->drain();
      picture_->drain();
      reactor_.at(reactor_.now() + std::chrono::milliseconds(50), [this] { reactor_.stop(); });
    });
  }

  static int refuse(const std::string& message) {
    fmt::print(stderr, "address-sandbox: {}\n", message);
    return 1;
  }

  const Options& options_;
  serve::IoReactor reactor_;
  sandbox::ApiServer server_{reactor_, {.seed = random_seed(), .history = k_history, .managed_fields = true}};
  std::optional<sandbox::ClusterControllers> controllers_;
  std::optional<sandbox::Workloads> workloads_;
  std::unique_ptr<sandbox::Journal> journal_;
  std::optional<sandbox::MetalLbWebhook> webhook_;
  sandbox::ApiFront* front_ = nullptr;
  serve::HttpServer* http_ = nullptr;
  Picture* picture_ = nullptr;
  Parts* parts_ = nullptr;
  bool failed_ = false;
};

}  // namespace

int run(const Options& options) {
  allow_many_files();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  return Process(options).run();
}

}  // namespace sandbox_process
