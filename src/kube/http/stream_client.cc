#include "kube/http/stream_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <utility>

namespace kube {
namespace {

constexpr std::size_t k_max_refusal = 1 << 20;
// How much longer than its timeoutSeconds a watch may live.
constexpr base::Duration k_cap_margin = std::chrono::seconds(10);

// A watch's timeoutSeconds, which the server is to obey.
std::optional<base::Duration> server_timeout(const Request& request) {
  for (const auto& [name, value] : request.query) {
    if (name != "timeoutSeconds") continue;
    int seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error == std::errc() && end == value.data() + value.size() && seconds > 0) return std::chrono::seconds(seconds);
  }
  return std::nullopt;
}

std::int64_t in_milliseconds(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

StreamClient::StreamClient(IoContext& context, std::shared_ptr<OpenStreams> open)
    : context_(context), open_(std::move(open)) {}

StreamClient::~StreamClient() { assert(streams_.empty()); }

void StreamClient::open(StreamId id, Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration idle,
                        base::MonoTime started) {
  auto owned = std::make_unique<Stream>();
  Stream& stream = *owned;
  stream.id = id;
  stream.request = std::move(request);
  stream.receiver = std::move(receiver);
  stream.idle = idle;
  stream.started = started;
  streams_.emplace(id, std::move(owned));
  stream.watchdog = context_.io.at(started + stream.request.timeout, [this, &stream] {
    stream.watchdog = base::TimerId::none;
    const auto kind = stream.waits_for_credentials ? TransportError::Kind::credentials : TransportError::Kind::timeout;
    fail(stream, kind, fmt::format("no response headers within {} ms", in_milliseconds(stream.request.timeout)));
  });
  if (const auto timeout = server_timeout(stream.request)) {
    stream.cap = context_.io.at(started + stream.request.timeout + *timeout + k_cap_margin, [this, &stream] {
      stream.cap = base::TimerId::none;
      fail(stream, TransportError::Kind::timeout, "the server did not end the watch after its timeoutSeconds");
    });
  }
  authorise(stream);
}

void StreamClient::authorise(Stream& stream) {
  Credentials::Lookup found = context_.credentials->get(context_.io.now());
  stream.waits_for_credentials = found.pending;
  if (found.pending) return;
  if (!found.credential) return fail(stream, TransportError::Kind::credentials, std::move(found.error));
  stream.credential = std::move(found.credential);
  launch(stream);
}

void StreamClient::credentials_ready() {
  std::vector<Stream*> waiting;
  for (const auto& [id, stream] : streams_) {
    if (stream->waits_for_credentials) waiting.push_back(stream.get());
  }
  for (Stream* stream : waiting) authorise(*stream);
}

void StreamClient::launch(Stream& stream) {
  // A connection of its own has no use for HTTP/2's multiplexing: HTTP/1.1 keeps watches clear of its bookkeeping.
  stream.lane =
      std::make_unique<CurlLane>(context_.io, 1, [this, &stream](CURL*, CURLcode code) { ended(stream, code); });
  stream.transfer = std::make_unique<CurlTransfer>(context_.setup);
  stream.transfer->on_body([this, &stream](std::string_view piece) { return take_data(stream, piece); });
  stream.transfer->prepare({.request = &stream.request,
                            .url = context_.setup.endpoint.url(stream.request),
                            .headers = context_.headers_for(stream.credential, stream.request),
                            .credential = stream.credential,
                            .http2 = false,
                            .compress = false,
                            .owner = &stream});
  stream.transfer->on_head([this, &stream] { note_opened(stream); });
  stream.lane->add(stream.transfer->handle());
}

void StreamClient::note_opened(Stream& stream) {
  const int status = stream.transfer->head().status;
  if (stream.opened || status < 200 || status > 299) return;
  stream.opened = true;
  stream.last_data = context_.io.now();
  context_.io.cancel(stream.watchdog);
  stream.watchdog = context_.io.at(stream.last_data + stream.idle, [this, &stream] { check_silence(stream); });
  context_.report(stream.request, status, true, stream.last_data - stream.started, {}, 0);
  post(stream, stream.receiver->opened(), false);
}

bool StreamClient::take_data(Stream& stream, std::string_view piece) {
  if (!stream.opened) {
    stream.refusal.append(piece.substr(0, k_max_refusal - stream.refusal.size()));
    return true;
  }
  stream.last_data = context_.io.now();
  post(stream, stream.receiver->data(piece), false);
  return true;
}

void StreamClient::check_silence(Stream& stream) {
  stream.watchdog = base::TimerId::none;
  const base::MonoTime due = stream.last_data + stream.idle;
  if (context_.io.now() < due) {
    stream.watchdog = context_.io.at(due, [this, &stream] { check_silence(stream); });
    return;
  }
  fail(stream, TransportError::Kind::timeout,
       fmt::format("no byte for {} ms: the connection counts as dead", in_milliseconds(stream.idle)));
}

void StreamClient::ended(Stream& stream, CURLcode code) {
  if (code != CURLE_OK) return finish(stream, std::unexpected(stream.transfer->error(code)));
  Response response = take_response(*stream.transfer);
  if (!response.warnings.empty()) context_.warnings.note(response.warnings);
  if (response.status == 401 && !stream.reauthorised &&
      context_.credentials->rejected(stream.credential, context_.io.now())) {
    stream.reauthorised = true;
    context_.report_retry(stream.request, 401);
    stream.refusal.clear();
    detach(stream);
    return authorise(stream);
  }
  response.body = std::move(stream.refusal);
  finish(stream, std::move(response));
}

// Lets go of the connection. The lane may be the one that is calling us: it goes later.
void StreamClient::detach(Stream& stream) {
  if (!stream.lane) return;
  stream.lane->remove(stream.transfer->handle());
  stream.transfer.reset();
  context_.io.post([lane = std::move(stream.lane)]() mutable { lane.reset(); });
}

void StreamClient::finish(Stream& stream, Answer how) {
  if (!stream.opened)
    context_.report(stream.request, how ? how->status : 0, true, context_.io.now() - stream.started, {}, 0);
  post(stream, stream.receiver->closed(std::move(how)), true);
  close(stream.id);
}

void StreamClient::fail(Stream& stream, TransportError::Kind kind, std::string message) {
  const bool sent = stream.transfer && stream.transfer->was_sent();
  finish(stream, std::unexpected(TransportError{
                     kind, fmt::format("{} {}: {}", stream.request.method, stream.request.path, message), sent}));
}

void StreamClient::close(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = *found->second;
  context_.io.cancel(stream.watchdog);
  context_.io.cancel(stream.cap);
  detach(stream);
  streams_.erase(found);
}

void StreamClient::close_all_but(const std::shared_ptr<const TlsMaterial>& tls) {
  std::vector<Stream*> outdated;
  for (const auto& [id, stream] : streams_) {
    if (stream->credential && stream->credential->tls != tls) outdated.push_back(stream.get());
  }
  for (Stream* stream : outdated)
    fail(*stream, TransportError::Kind::reset, "closed, because the certificates were replaced");
}

void StreamClient::shutdown() {
  while (!streams_.empty()) {
    fail(*streams_.begin()->second, TransportError::Kind::cancelled, "the transport is shutting down");
  }
}

void StreamClient::post(const Stream& stream, base::Task task, bool last) {
  if (!task && !last) return;
  context_.home.post([open = open_, id = stream.id, last, task = std::move(task)]() mutable {
    if (last ? open->erase(id) == 0 : !open->contains(id)) return;
    if (task) task();
  });
}

}  // namespace kube
