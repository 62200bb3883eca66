#include "sandbox/front/api_front.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <utility>

#include "base/random.h"
#include "sandbox/failure.h"
#include "sandbox/front/audit_log.h"
#include "sandbox/request.h"

namespace sandbox {
namespace {

using serve::Head;
using serve::Responder;

Failure unauthorized() { return {.code = 401, .reason = "Unauthorized", .message = "Unauthorized", .bare = true}; }

bool is_public(std::string_view path) {
  for (const std::string_view root : {"/healthz", "/livez", "/readyz", "/version"}) {
    if (path == root || (path.starts_with(root) && path.substr(root.size()).starts_with('/'))) return true;
  }
  return false;
}

// As net/http's NewWarningHeader: code 299, no agent, a quoted text.
std::string warning_header(std::string_view text) {
  std::string quoted = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

serve::Response response_of(kube::Response&& from) {
  serve::Response response{.status = from.status, .content_type = std::move(from.content_type)};
  response.headers.emplace_back("Cache-Control", "no-cache, private");
  for (const std::string& warning : from.warnings) response.headers.emplace_back("Warning", warning_header(warning));
  if (from.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*from.retry_after);
    response.headers.emplace_back("Retry-After", std::to_string(seconds.count()));
  }
  response.body = std::move(from.body);
  return response;
}

kube::Request request_of(serve::Request&& from) {
  kube::Request request = make_request(from.method == "HEAD" ? "GET" : from.method, from.target);
  request.content_type = from.header("Content-Type");
  request.accept = from.header("Accept");
  request.body = std::move(from.body);
  return request;
}

}  // namespace

struct ApiFront::Impl : std::enable_shared_from_this<ApiFront::Impl> {
  class Watch;

  Impl(ApiServer& the_server, base::Reactor& the_reactor, Users the_users, FrontOptions the_options)
      : server(the_server), reactor(the_reactor), users(std::move(the_users)), options(std::move(the_options)) {
    if (!options.audit_log.empty()) audit.emplace(options.audit_log);
  }

  std::expected<User, Failure> user_of(const Head& head) const;
  void handle(serve::Request&& from, Responder responder);
  void start_watch(const kube::Request& request, const User& user, const Caller& caller, Responder responder);
  void send(kube::Response&& response, Responder responder);
  std::uint64_t durable() const;
  void when_durable(std::uint64_t revision, base::Task task);

  ApiServer& server;
  base::Reactor& reactor;
  Users users;
  FrontOptions options;
  std::optional<AuditLog> audit;
  std::map<std::uint64_t, std::unique_ptr<Watch>> watches;
  std::uint64_t last_watch = 0;
};

// One watch: from the server's events to the client's stream. Removes itself a little after its end.
class ApiFront::Impl::Watch final : public WatchSink {
 public:
  Watch(Impl& front, std::uint64_t number) : front_(front), number_(number) {}
  ~Watch() override {
    if (id_ != WatchId::none) front_.server.unwatch(id_);
    if (stream_ != nullptr) stream_->on_closed(nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  std::optional<kube::Response> start(const kube::Request& request, const Caller& caller) {
    auto id = front_.server.watch(request, caller, *this);
    if (!id) return std::move(id.error());
    if (!ended_) id_ = *id;
    return std::nullopt;
  }
  void attach(std::shared_ptr<serve::Stream> stream) {
    stream_ = std::move(stream);
    // what a watch begins with may be long; only afterwards the reader is measured by how far it is behind
    stream_->on_drained([this] { stream_->limit_backlog(); });
    stream_->on_closed([this] { leave(); });
    flush();
  }

  void event(std::shared_ptr<const std::string> line) override {
    pending_.emplace_back(front_.server.revision(), std::move(line));
    flush();
  }
  void ended() override {
    ended_ = true;
    id_ = WatchId::none;
    flush();
  }

 private:
  void flush() {
    if (stream_ == nullptr || left_) return;
    const std::uint64_t durable = front_.durable();
    while (!pending_.empty() && pending_.front().first <= durable) {
      const auto line = std::move(pending_.front().second);
      pending_.pop_front();
      stream_->write(line);
      if (left_) return;
    }
    if (!pending_.empty()) return wait();
    if (!ended_) return;
    stream_->end();
    leave();
  }
  void wait() {
    if (std::exchange(waiting_, true)) return;
    front_.when_durable(pending_.front().first, [weak = front_.weak_from_this(), number = number_] {
      const auto front = weak.lock();
      if (front == nullptr) return;
      const auto found = front->watches.find(number);
      if (found == front->watches.end()) return;
      found->second->waiting_ = false;
      found->second->flush();
    });
  }
  // This may run within the server's call of event(): the server is told later.
  void leave() {
    if (std::exchange(left_, true)) return;
    front_.reactor.post([weak = front_.weak_from_this(), number = number_] {
      if (const auto front = weak.lock()) front->watches.erase(number);
    });
  }

  Impl& front_;
  std::uint64_t number_;
  WatchId id_ = WatchId::none;
  std::shared_ptr<serve::Stream> stream_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const std::string>>> pending_;  // by the revision they need
  bool ended_ = false;
  bool waiting_ = false;
  bool left_ = false;
};

std::uint64_t ApiFront::Impl::durable() const {
  return options.durability == nullptr ? ~0ULL : options.durability->durable();
}

void ApiFront::Impl::when_durable(std::uint64_t revision, base::Task task) {
  if (options.durability == nullptr) return task();
  options.durability->when_durable(revision, std::move(task));
}

std::expected<User, Failure> ApiFront::Impl::user_of(const Head& head) const {
  auto user = users.of(head);
  if (!user && user.error() == AuthFailure::unknown_token) return std::unexpected(unauthorized());
  if (!user) {
    return std::unexpected(forbidden({"", "users", std::string(head.header("Impersonate-User"))},
                                     "only members of system:masters can impersonate"));
  }
  const std::string path = percent_decoded(head.path);
  if (user->anonymous() && !is_public(path) && !parse_request(make_request("GET", head.target)).resource) {
    Failure refused = forbidden({}, "");
    std::string verb = head.method;
    for (char& c : verb) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    refused.message = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", user->name, verb, path);
    return std::unexpected(std::move(refused));
  }
  return std::move(*user);
}

void ApiFront::Impl::send(kube::Response&& response, Responder responder) {
  if (options.durability == nullptr) return responder.send(response_of(std::move(response)));
  when_durable(server.revision(),
               [response = response_of(std::move(response)), responder = std::move(responder)]() mutable {
                 responder.send(std::move(response));
               });
}

void ApiFront::Impl::handle(serve::Request&& from, Responder responder) {
  const auto user = user_of(from);
  if (!user) return responder.send(response_of(user.error().response()));
  const std::string accept(from.header("Accept"));
  const std::string agent(from.header("User-Agent"));
  const bool head = from.method == "HEAD";
  const kube::Request request = request_of(std::move(from));
  if (head && parse_request(request).resource) {  // the real server's routes of resources do not know it
    return responder.send(response_of(method_not_allowed().response()));
  }
  const Caller caller{.user = user->name, .groups = user->groups, .accept = accept, .user_agent = agent};
  if (ApiServer::is_watch(request)) return start_watch(request, *user, caller, std::move(responder));
  kube::Response response = server.handle(request, caller);
  if (audit) audit->record(*user, request, response, reactor.wall());
  send(std::move(response), std::move(responder));
}

void ApiFront::Impl::start_watch(const kube::Request& request, const User& user, const Caller& caller,
                                 Responder responder) {
  const std::uint64_t number = ++last_watch;
  auto watch = std::make_unique<Watch>(*this, number);
  auto refused = watch->start(request, caller);
  if (audit) {
    kube::Response started;
    started.status = 200;
    audit->record(user, request, refused ? *refused : started, reactor.wall());
  }
  if (refused) return send(std::move(*refused), std::move(responder));
  auto stream = responder.stream(
      {.status = 200, .content_type = "application/json", .headers = {{"Cache-Control", "no-cache, private"}}});
  Watch& started = *watch;
  watches.emplace(number, std::move(watch));
  started.attach(std::move(stream));
}

ApiFront::ApiFront(ApiServer& server, base::Reactor& reactor, Users users, FrontOptions options)
    : impl_(std::make_shared<Impl>(server, reactor, std::move(users), std::move(options))) {
  server.set_authorizer([](const Access& access) { return access.user != "system:anonymous"; });
}

ApiFront::~ApiFront() {
  impl_->watches.clear();
  impl_->server.set_authorizer(nullptr);
}

std::optional<serve::Response> ApiFront::admit(const Head& head) const {
  const auto user = impl_->user_of(head);
  if (user) return std::nullopt;
  return response_of(user.error().response());
}

serve::Response ApiFront::refusal(int status, std::string_view why) {
  Failure failure{.code = status, .bare = true};
  switch (status) {
    case 413:
      failure.reason = "RequestEntityTooLarge";
      failure.message = fmt::format("Request entity too large: {}", why);
      break;
    case 429:
      failure.reason = "TooManyRequests";
      failure.message = "Too many requests, please try again later.";
      failure.retry_after = 1;
      break;
    case 404:
      return response_of(page_not_found().response());
    case 500:
      failure.reason = "InternalError";
      failure.message = "Internal error occurred: the sandbox has failed to handle this request; see its log";
      break;
    default:  // not HTTP as it should be: in words, as Go's server
      return {.status = status,
              .content_type = "text/plain; charset=utf-8",
              .body = fmt::format("{} Bad Request{}{}", status, why.empty() ? "" : ": ", why)};
  }
  return response_of(failure.response());
}

serve::Handler ApiFront::handler() {
  return [weak = std::weak_ptr(impl_)](serve::Request request, Responder responder) {
    if (const auto impl = weak.lock()) impl->handle(std::move(request), std::move(responder));
  };
}

std::size_t ApiFront::open_watches() const { return impl_->watches.size(); }
void ApiFront::end_watches() { impl_->server.end_watches(); }

}  // namespace sandbox
