#include "kube/http/unary_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace kube {
namespace {

using base::log::kv;

constexpr std::size_t k_max_spare = 256;
constexpr base::Duration k_min_wait = std::chrono::milliseconds(50);
// However many requests are throttled at once, connections are not renewed faster than this.
constexpr base::Duration k_min_reconnect = std::chrono::seconds(1);

// 504 is left to the caller: the server has already waited, and "resourceVersion too large" wants another request, not
// the same again.
bool invites_retry(const Request& request, int status) {
  if (status == 429) return true;
  return request.method != "POST" && (status == 500 || status == 502 || status == 503);
}

}  // namespace

UnaryClient::UnaryClient(IoContext& context)
    : context_(context), limiter_(context.setup.options.qps, context.setup.options.burst) {}

UnaryClient::~UnaryClient() { assert(exchanges_.empty()); }

void UnaryClient::start(Request request, Receiver receiver, base::MonoTime started) {
  Exchange& exchange = exchanges_.emplace_back();
  exchange.self = std::prev(exchanges_.end());
  exchange.deadline = started + request.timeout;
  exchange.started = started;
  exchange.request = std::move(request);
  exchange.receiver = std::move(receiver);
  admit(exchange);
}

void UnaryClient::admit(Exchange& exchange) {
  if (exchange.request.lane == Lane::lease) return authorise(exchange);
  const base::MonoTime now = context_.io.now();
  const base::Duration wait = limiter_.reserve(now);
  if (wait <= base::Duration::zero()) return authorise(exchange);
  exchange.limited += wait;
  const base::MonoTime when = std::min(now + wait, exchange.deadline);
  exchange.timer = context_.io.at(when, [this, &exchange, waited = now + wait] {
    exchange.timer = base::TimerId::none;
    if (waited < exchange.deadline) return authorise(exchange);
    fail(exchange, TransportError::Kind::timeout, "waited for the client-side rate limit until the time-out");
  });
}

void UnaryClient::authorise(Exchange& exchange) {
  const base::MonoTime now = context_.io.now();
  if (now >= exchange.deadline) return fail(exchange, TransportError::Kind::timeout, "timed out before it was sent");
  Credentials::Lookup found = context_.credentials->get(now);
  if (found.credential) {
    exchange.credential = std::move(found.credential);
    return launch(exchange);
  }
  if (!found.pending) return fail(exchange, TransportError::Kind::credentials, std::move(found.error));
  exchange.waits_for_credentials = true;
  exchange.timer = context_.io.at(exchange.deadline, [this, &exchange] {
    exchange.timer = base::TimerId::none;
    exchange.waits_for_credentials = false;
    fail(exchange, TransportError::Kind::credentials,
         "the credential plugin has not answered within the request's time-out");
  });
}

void UnaryClient::credentials_ready() {
  std::vector<Exchange*> waiting;
  for (Exchange& exchange : exchanges_) {
    if (exchange.waits_for_credentials) waiting.push_back(&exchange);
  }
  for (Exchange* exchange : waiting) {
    exchange->waits_for_credentials = false;
    context_.io.cancel(std::exchange(exchange->timer, base::TimerId::none));
    authorise(*exchange);
  }
}

void UnaryClient::launch(Exchange& exchange) {
  exchange.launched = context_.io.now();
  exchange.transfer = take_transfer();
  exchange.lane = &lane_for(exchange);
  if (exchange.request.sink) {
    exchange.received = 0;
    exchange.request.sink->restart();
    exchange.transfer->on_body([&exchange](std::string_view piece) { return take_piece(exchange, piece); });
  }
  exchange.transfer->prepare({.request = &exchange.request,
                              .url = context_.setup.endpoint.url(exchange.request),
                              .headers = context_.headers_for(exchange.credential, exchange.request),
                              .credential = exchange.credential,
                              .timeout = exchange.deadline - exchange.launched,
                              .fresh_connection = std::exchange(exchange.fresh, false),
                              .owner = &exchange});
  exchange.lane->add(exchange.transfer->handle());
}

// Only what was asked for goes to the sink; a refusal is kept.
bool UnaryClient::take_piece(Exchange& exchange, std::string_view piece) {
  const int status = exchange.transfer->head().status;
  if (status < 200 || status > 299) return false;
  exchange.received += piece.size();
  exchange.request.sink->data(piece);
  return true;
}

void UnaryClient::ended(CURL* handle, CURLcode code) {
  auto& exchange = *static_cast<Exchange*>(CurlTransfer::of(handle).owner());
  exchange.sent = exchange.sent || exchange.transfer->was_sent();
  if (code == CURLE_OPERATION_TIMEDOUT) shut_down_dead_connection(exchange, context_.io.now());
  exchange.lane->remove(handle);
  exchange.lane = nullptr;
  if (!retired_.empty()) context_.io.post([this] { drop_drained_lanes(); });
  if (code == CURLE_OK) {
    answered(exchange);
  } else {
    failed(exchange, exchange.transfer->error(code));
  }
}

void UnaryClient::answered(Exchange& exchange) {
  const int status = exchange.transfer->head().status;
  note_throttling(exchange, status);
  if (status == 401 && try_new_credential(exchange)) return;
  if (exchange.transfer->head().retry_after && invites_retry(exchange.request, status) && try_after_pause(exchange))
    return;
  if (!exchange.transfer->head().warnings.empty()) context_.warnings.note(exchange.transfer->head().warnings);
  Response response = take_response(*exchange.transfer);
  give_back(std::move(exchange.transfer));
  finish(exchange, std::move(response));
}

// A 401 proves that nothing was done: whatever the method, the request may be sent again with another credential.
bool UnaryClient::try_new_credential(Exchange& exchange) {
  if (exchange.reauthorised || !context_.credentials->rejected(exchange.credential, context_.io.now())) return false;
  exchange.reauthorised = true;
  context_.report_retry(exchange.request, 401);
  give_back(std::move(exchange.transfer));
  authorise(exchange);
  return true;
}

bool UnaryClient::try_after_pause(Exchange& exchange) {
  const TransportOptions& options = context_.setup.options;
  const ResponseHead& head = exchange.transfer->head();
  if (exchange.retries >= options.max_retries) return false;
  const base::Duration asked = std::clamp(*head.retry_after, k_min_wait, options.max_retry_wait);
  // Up to half as long again, so that the clients that were turned away together do not come back together.
  const base::Duration wait = asked + std::chrono::duration_cast<base::Duration>(asked * (context_.random.unit() / 2));
  const base::MonoTime when = context_.io.now() + wait;
  if (when >= exchange.deadline) return false;
  ++exchange.retries;
  context_.report_retry(exchange.request, head.status);
  base::log::debug("Request is tried again", {kv("method", exchange.request.method), kv("path", exchange.request.path),
                                              kv("code", head.status), kv("retry", exchange.retries)});
  give_back(std::move(exchange.transfer));
  exchange.timer = context_.io.at(when, [this, &exchange] {
    exchange.timer = base::TimerId::none;
    admit(exchange);
  });
  return true;
}

void UnaryClient::failed(Exchange& exchange, TransportError error) {
  give_back(std::move(exchange.transfer));
  const bool lost = error.kind == TransportError::Kind::reset;
  if (lost && exchange.request.idempotent() && !exchange.repeated && context_.io.now() < exchange.deadline) {
    exchange.repeated = true;
    exchange.fresh = true;
    context_.report_retry(exchange.request, 0);
    return authorise(exchange);
  }
  error.sent = exchange.sent || error.sent;
  finish(exchange, std::unexpected(std::move(error)));
}

void UnaryClient::fail(Exchange& exchange, TransportError::Kind kind, std::string message) {
  finish(exchange, std::unexpected(TransportError{kind, std::move(message), exchange.sent}));
}

void UnaryClient::finish(Exchange& exchange, Answer answer) {
  context_.report(exchange.request, answer ? answer->status : 0, false, context_.io.now() - exchange.started,
                  exchange.limited, answer ? exchange.received + answer->body.size() : 0);
  const auto self = exchange.self;
  Receiver receiver = std::move(exchange.receiver);
  context_.io.cancel(exchange.timer);
  exchanges_.erase(self);
  if (base::Task second = receiver(std::move(answer))) context_.home.post(std::move(second));
}

void UnaryClient::shutdown() {
  while (!exchanges_.empty()) {
    Exchange& exchange = exchanges_.front();
    if (exchange.lane != nullptr) {
      exchange.sent = exchange.sent || exchange.transfer->was_sent();
      exchange.lane->remove(exchange.transfer->handle());
    }
    fail(exchange, TransportError::Kind::cancelled, "the transport is shutting down");
  }
  spare_.clear();
  retired_.clear();
  lanes_ = Lanes();
}

// --- connections
// -----------------------------------------------------------------------------------------------------------

std::unique_ptr<CurlLane> UnaryClient::make_lane() {
  return std::make_unique<CurlLane>(context_.io, context_.setup.options.max_connections,
                                    [this](CURL* handle, CURLcode code) { ended(handle, code); });
}

CurlLane& UnaryClient::lane_for(const Exchange& exchange) {
  // Other certificates need other connections: requests under way finish on the old ones.
  if (lanes_.tls != exchange.credential->tls) {
    retire(std::move(lanes_.normal));
    retire(std::move(lanes_.lease));
    lanes_.tls = exchange.credential->tls;
  }
  std::unique_ptr<CurlLane>& lane = exchange.request.lane == Lane::lease ? lanes_.lease : lanes_.normal;
  if (!lane) lane = make_lane();
  return *lane;
}

void UnaryClient::retire(std::unique_ptr<CurlLane> lane) {
  if (!lane) return;
  retired_.push_back(std::move(lane));
  context_.io.post([this] { drop_drained_lanes(); });  // not now: we may be inside one of its calls
}

void UnaryClient::drop_drained_lanes() {
  std::erase_if(retired_, [](const std::unique_ptr<CurlLane>& lane) { return lane->active() == 0; });
}

// libcurl closes a timed-out HTTP/1.1 connection, but keeps an HTTP/2 one and would send every later request over it,
// dead or not.
void UnaryClient::shut_down_dead_connection(const Exchange& exchange, base::MonoTime now) {
  const auto socket = CurlLane::socket_of(exchange.transfer->handle());
  if (!socket) return;
  const auto last_read = exchange.lane->last_read(*socket);
  const base::Duration patience =
      std::min<base::Duration>(now - exchange.launched, context_.setup.options.dead_after) * 9 / 10;
  if (last_read && now - *last_read < patience) return;  // alive: others get answers on it
  base::log::warn("Connection to the API server is dead, replacing it", {kv("host", context_.setup.endpoint.host)});
  ::shutdown(*socket, SHUT_RDWR);
}

// A connection pins us to one server behind a load balancer: if that one only says "too many", another may have room.
void UnaryClient::note_throttling(const Exchange& exchange, int status) {
  if (exchange.request.lane == Lane::lease) return;
  if (status != 429) {
    throttled_in_a_row_ = 0;
    return;
  }
  const base::MonoTime now = context_.io.now();
  if (++throttled_in_a_row_ < context_.setup.options.throttled_before_reconnect) return;
  if (now - reconnected_ < k_min_reconnect) return;
  throttled_in_a_row_ = 0;
  reconnected_ = now;
  base::log::info("Throttled repeatedly, connecting anew", {kv("host", context_.setup.endpoint.host)});
  retire(std::move(lanes_.normal));
}

std::unique_ptr<CurlTransfer> UnaryClient::take_transfer() {
  if (spare_.empty()) return std::make_unique<CurlTransfer>(context_.setup);
  auto transfer = std::move(spare_.back());
  spare_.pop_back();
  return transfer;
}

void UnaryClient::give_back(std::unique_ptr<CurlTransfer> transfer) {
  if (spare_.size() >= k_max_spare) return;
  transfer->reset();
  spare_.push_back(std::move(transfer));
}

}  // namespace kube
