#include "sandbox/sim_transport.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sandbox/failure.h"

namespace sandbox {
namespace {

using kube::Answer;
using kube::Response;
using kube::TransportError;
using Effect = Fault::Effect;

Answer reset(bool sent) {
  return std::unexpected(TransportError{TransportError::Kind::reset, "connection reset by peer", sent});
}

Answer timed_out() { return std::unexpected(TransportError{TransportError::Kind::timeout, "time-out", true}); }

Answer status_answer(const Fault& fault) {
  Failure failure = internal_error("injected fault");
  failure.code = fault.code;
  if (fault.code == 429) failure.reason = "TooManyRequests";
  if (fault.code == 409) failure.reason = "Conflict";
  if (fault.code == 404) failure.reason = "NotFound";
  if (fault.code == 403) failure.reason = "Forbidden";
  if (fault.code == 503) failure.reason = "ServiceUnavailable";
  if (fault.code == 410) failure.reason = "Expired";
  Response response = failure.response();
  response.retry_after = fault.retry_after;
  return response;
}

}  // namespace

struct SimTransport::Call {
  kube::Request request;
  kube::Receiver receiver;
  base::TimerId timeout = base::TimerId::none;
  bool done = false;
};

// The client's end of a watch; the server writes into it.
struct SimTransport::Stream final : WatchSink {
  kube::StreamId id = kube::StreamId::none;
  kube::Request request;
  std::unique_ptr<kube::StreamReceiver> receiver;
  base::Duration idle{};
  WatchId watch = WatchId::none;
  std::string pending;
  bool opened = false;
  bool over = false;    // the server ended it
  bool closed = false;  // the receiver was told, or does not want to know any more
  bool flushing = false;
  base::TimerId idle_timer = base::TimerId::none;
  std::function<void()> wake;  // schedules a flush

  void event(std::shared_ptr<const std::string> line) override {
    pending += *line;
    wake();
  }
  void ended() override {
    watch = WatchId::none;
    over = true;
    wake();
  }
};

SimTransport::SimTransport(SimReactor& world, SimProcess& process, ApiServer& server, std::string user,
                           const Network& network, FaultPlan& faults, std::uint64_t seed, std::function<void()> crash)
    : world_(world),
      process_(process),
      server_(server),
      user_(std::move(user)),
      network_(network),
      faults_(faults),
      random_(seed),
      crash_(std::move(crash)) {}

SimTransport::~SimTransport() { detach(); }

base::Duration SimTransport::draw(base::Duration least, base::Duration most) {
  const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>((most - least).count(), 0)) + 1;
  return least + base::Duration(static_cast<std::int64_t>(random_.below(width)));
}

void SimTransport::send(kube::Request request, kube::Receiver receiver) {
  if (!*attached_) return;
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->receiver = std::move(receiver);
  call->timeout = process_.at(process_.now() + call->request.timeout, [call] {
    call->timeout = base::TimerId::none;
    finish(call, timed_out());
  });
  const std::optional<Fault> fault = faults_.decide(user_, call->request, random_);
  base::Duration latency = draw(network_.least_latency, network_.most_latency);
  if (cut_) return;
  if (fault) {
    if (fault->effect == Effect::crash_before) {
      crash_();
      return;
    }
    if (fault->effect == Effect::hang_before) return;
    if (fault->effect == Effect::fail_before) return deliver(call, latency, reset(false));
    if (fault->effect == Effect::delay) latency += fault->delay;
  }
  // the request is on its way: it arrives even if its sender dies meanwhile
  world_.after(latency, [this, attached = attached_, &server = server_, user = user_, call, fault] {
    if (*attached) return arrive(call, fault);
    (void)server.handle(call->request, user);
  });
}

void SimTransport::arrive(const std::shared_ptr<Call>& call, const std::optional<Fault>& fault) {
  const base::Duration back = draw(network_.least_latency, network_.most_latency);
  if (cut_) return;
  if (fault && fault->effect == Effect::status) return deliver(call, back, status_answer(*fault));
  if (fault && fault->effect == Effect::expired) return deliver(call, back, expired("injected fault").response());
  Response response = server_.handle(call->request, user_);
  if (!fault) return deliver(call, back, std::move(response));
  switch (fault->effect) {
    case Effect::fail_after:
      return deliver(call, back, reset(true));
    case Effect::hang_after:
      return;
    case Effect::crash_after:
      return crash_();
    case Effect::delay_answer:
      return deliver(call, back + fault->delay, std::move(response));
    default:
      return deliver(call, back, std::move(response));
  }
}

void SimTransport::deliver(const std::shared_ptr<Call>& call, base::Duration after, Answer answer) {
  process_.after(after, [this, call, answer = std::move(answer)]() mutable {
    process_.cancel(call->timeout);
    finish(call, std::move(answer));
  });
}

void SimTransport::finish(const std::shared_ptr<Call>& call, Answer answer) {
  if (std::exchange(call->done, true)) return;
  base::Task task = call->receiver(std::move(answer));
  call->receiver = {};
  if (task) task();
}

kube::StreamId SimTransport::open(kube::Request request, std::unique_ptr<kube::StreamReceiver> receiver,
                                  base::Duration idle) {
  auto stream = std::make_shared<Stream>();
  stream->id = kube::StreamId{++last_stream_};
  stream->request = std::move(request);
  stream->receiver = std::move(receiver);
  stream->idle = idle;
  stream->wake = [this, weak = std::weak_ptr(stream)] {
    const auto locked = weak.lock();
    if (locked == nullptr || locked->flushing) return;
    locked->flushing = true;
    const base::Duration delay = draw(network_.least_watch_delay, network_.most_watch_delay);
    process_.after(std::max(delay, stalled_until_ - world_.now()), [this, locked] { flush(locked); });
  };
  if (!*attached_) return stream->id;
  streams_.emplace(stream->id, stream);
  stream->idle_timer =
      process_.at(process_.now() + stream->request.timeout, [this, stream] { end(stream, timed_out()); });
  const std::optional<Fault> fault = faults_.decide(user_, stream->request, random_);
  base::Duration latency = draw(network_.least_latency, network_.most_latency);
  if (cut_) return stream->id;
  if (fault) {
    if (fault->effect == Effect::crash_before) {
      crash_();
      return stream->id;
    }
    if (fault->effect == Effect::hang_before || fault->effect == Effect::hang_after) return stream->id;
    if (fault->effect == Effect::fail_before) {
      process_.after(latency, [this, stream] { end(stream, reset(false)); });
      return stream->id;
    }
    if (fault->effect == Effect::delay) latency += fault->delay;
  }
  world_.after(latency, [this, attached = attached_, stream, fault] {
    if (*attached && !stream->closed) connect(stream, fault);
  });
  return stream->id;
}

void SimTransport::connect(const std::shared_ptr<Stream>& stream, const std::optional<Fault>& fault) {
  const base::Duration back = draw(network_.least_latency, network_.most_latency);
  const auto refuse_with = [&](Answer answer) {
    process_.after(back, [this, stream, answer = std::move(answer)]() mutable { end(stream, std::move(answer)); });
  };
  if (fault && fault->effect == Effect::status) return refuse_with(status_answer(*fault));
  if (fault && (fault->effect == Effect::fail_after || fault->effect == Effect::crash_after)) {
    if (fault->effect == Effect::crash_after) return crash_();
    return refuse_with(reset(true));
  }
  if (fault && fault->effect == Effect::expired) {
    stream->pending = "{\"type\":\"ERROR\",\"object\":" + expired("too old resource version").body() + "}\n";
    stream->over = true;
    return stream->wake();
  }
  auto watch = server_.watch(stream->request, user_, *stream);
  if (!watch) return refuse_with(std::move(watch.error()));
  if (!stream->over) stream->watch = *watch;
  stream->wake();
  if (fault && fault->effect == Effect::drop_watch) {
    process_.after(back + fault->delay, [this, stream] { end(stream, reset(true)); });
  }
}

void SimTransport::flush(const std::shared_ptr<Stream>& stream) {
  stream->flushing = false;
  if (stream->closed || cut_) return;
  if (stalled_until_ > world_.now()) return stream->wake();
  const auto run = [&stream](base::Task task) {
    if (task && !stream->closed) task();
  };
  if (!std::exchange(stream->opened, true)) run(stream->receiver->opened());
  arm_idle(stream);
  const std::string bytes = std::exchange(stream->pending, {});
  if (!bytes.empty()) {
    const bool split = network_.split_chunks && bytes.size() > 1 && random_.below(4) == 0;
    const std::size_t cut = split ? 1 + random_.below(bytes.size() - 1) : bytes.size();
    if (!stream->closed) run(stream->receiver->data(std::string_view(bytes).substr(0, cut)));
    if (split && !stream->closed) run(stream->receiver->data(std::string_view(bytes).substr(cut)));
  }
  if (stream->closed || !stream->over) return;
  Response finished;
  finished.status = 200;
  end(stream, std::move(finished));
}

void SimTransport::arm_idle(const std::shared_ptr<Stream>& stream) {
  process_.cancel(stream->idle_timer);
  stream->idle_timer = base::TimerId::none;
  if (stream->closed) return;
  stream->idle_timer = process_.at(process_.now() + stream->idle, [this, stream] { end(stream, timed_out()); });
}

void SimTransport::end(const std::shared_ptr<Stream>& stream, Answer how) {
  if (std::exchange(stream->closed, true)) return;
  process_.cancel(stream->idle_timer);
  server_.unwatch(std::exchange(stream->watch, WatchId::none));
  streams_.erase(stream->id);
  base::Task task = stream->receiver->closed(std::move(how));
  if (task) task();
}

void SimTransport::close(kube::StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::shared_ptr<Stream> stream = found->second;
  stream->closed = true;
  process_.cancel(stream->idle_timer);
  server_.unwatch(std::exchange(stream->watch, WatchId::none));
  streams_.erase(found);
}

void SimTransport::stall_watches(base::MonoTime until) { stalled_until_ = std::max(stalled_until_, until); }

void SimTransport::reset_watches() {
  std::vector<std::shared_ptr<Stream>> open;
  for (const auto& [id, stream] : streams_) open.push_back(stream);
  for (const auto& stream : open) {
    process_.after(draw(network_.least_latency, network_.most_latency), [this, stream] { end(stream, reset(true)); });
  }
}

void SimTransport::detach() {
  *attached_ = false;
  for (const auto& [id, stream] : streams_) {
    stream->closed = true;
    process_.cancel(stream->idle_timer);
    server_.unwatch(std::exchange(stream->watch, WatchId::none));
  }
  streams_.clear();
}

}  // namespace sandbox
