#include "kube/leader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "kube/api_error.h"
#include "kube/loop.h"
#include "kube/types.h"

namespace kube {
namespace {

using base::log::kv;
using std::chrono::seconds;

constexpr Resource k_leases{"coordination.k8s.io", "v1", "leases", "Lease", true};
constexpr base::Duration k_release_within = seconds(5);
constexpr base::Duration k_release_retry = std::chrono::milliseconds(250);

ApiError said(std::string message) {
  ApiError error;
  error.message = std::move(message);
  return error;
}

// The parts of a Lease that decide.
struct Record {
  std::string holder;
  base::Duration duration{};  // zero if absent
  std::int64_t transitions = 0;
  std::string raw;  // the whole spec, to see changes

  static Record of(const boost::json::object& lease) {
    Record record;
    const auto* spec = lease.if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return record;
    const boost::json::object& fields = spec->as_object();
    record.raw = boost::json::serialize(fields);
    if (const auto* v = fields.if_contains("holderIdentity"); v && v->is_string())
      record.holder = v->as_string().c_str();
    if (const auto* v = fields.if_contains("leaseDurationSeconds"); v && v->is_int64()) {
      record.duration = seconds(std::clamp<std::int64_t>(v->as_int64(), 0, 86400));
    }
    if (const auto* v = fields.if_contains("leaseTransitions"); v && v->is_int64()) record.transitions = v->as_int64();
    return record;
  }
};

}  // namespace

base::Result<void> LeaderOptions::validate() const {
  if (ns.empty() || name.empty() || identity.empty()) {
    return base::fail("leader election needs a namespace, a name and an identity");
  }
  if (lease_duration <= renew_deadline)
    return base::fail("the lease's duration must be longer than its renew deadline");
  if (const auto write = LoopOptions().write_timeout; lease_duration <= write) {
    return base::fail(
        fmt::format("the lease's duration must be longer than the {} s that a write may take: none would be sent",
                    std::chrono::duration_cast<seconds>(write).count()));
  }
  if (lease_duration % seconds(1) != base::Duration::zero()) {
    return base::fail("the lease's duration must be whole seconds");
  }
  if (retry_period <= base::Duration::zero()) return base::fail("the lease's retry period must be positive");
  if (std::chrono::duration<double>(renew_deadline) <= k_jitter * std::chrono::duration<double>(retry_period)) {
    return base::fail(fmt::format("the lease's renew deadline must be longer than {} retry periods", k_jitter));
  }
  return {};
}

const Resource& lease_resource() { return k_leases; }

std::string leader_identity() {
  std::array<char, 256> host{};
  const char* pod = std::getenv("POD_NAME");  // NOLINT(concurrency-mt-unsafe): at start-up
  const bool named = pod != nullptr && *pod != '\0';
  if (!named && gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("{}_{}", named ? pod : host.data(), boost::uuids::to_string(boost::uuids::random_generator()()));
}

bool LeaderWatchdog::healthy(base::MonoTime now, base::Duration tolerance) const {
  const auto renewed = renewed_.load();
  return renewed == 0 || now.time_since_epoch() - base::Duration(renewed) <= lease_duration_ + tolerance;
}

// One attempt is a sequence of requests, never two at a time: (PUT) or (GET, then PUT or POST).
struct Elector::Impl : std::enable_shared_from_this<Elector::Impl> {
  Impl(base::Reactor& r, Transport& t, LeaderOptions o, std::uint64_t seed, Listener l)
      : reactor(r), transport(t), options(std::move(o)), listener(std::move(l)), random(seed) {
    watchdog->lease_duration_ = options.lease_duration;
  }

  // An attempt and its steps.
  void attempt();
  void get();
  void got(const Answer& answer);
  void decide();
  void create();
  void put(bool fast);
  void put_done(const Answer& answer, base::MonoTime sent_at, bool fast);
  void failed(const ApiError& error, std::string_view doing);

  void renewed(base::MonoTime sent_at);
  void lose(const std::string& reason);
  void keep(boost::json::object fresh);
  bool held_by_another() const;

  void release(std::function<void(bool)> done);
  void release_step();
  void put_release();
  void finish_release(bool released);

  boost::json::object fill(std::string_view holder, base::Duration duration) const;
  base::Duration request_timeout() const;
  void send(std::string method, std::string path, std::string body, std::function<void(Impl&, const Answer&)> then);
  void wake_at(base::MonoTime when, void (Impl::*what)());
  void stop();

  base::Reactor& reactor;
  Transport& transport;
  LeaderOptions options;
  Listener listener;
  base::Random random;
  std::shared_ptr<LeaderWatchdog> watchdog = std::make_shared<LeaderWatchdog>();

  boost::json::object lease;    // the document as the server has it, unknown fields and all
  Record record;                // of `lease`
  base::MonoTime changed_at{};  // when this process saw the record change
  std::string announced = "?";  // the holder that listener.observed_leader was told of
  bool known = false;           // `lease` may be written without reading it first

  bool leading = false;
  base::MonoTime renewed_at{};  // when the last successful renewal was sent
  base::MonoTime attempt_at{};
  bool in_flight = false;
  bool stopped = false;
  base::TimerId next = base::TimerId::none;
  base::TimerId deadline = base::TimerId::none;

  std::function<void(bool)> released;  // set while releasing
  base::MonoTime release_by{};
};

void Elector::Impl::wake_at(base::MonoTime when, void (Impl::*what)()) {
  reactor.cancel(next);
  next = reactor.at(when, [weak = weak_from_this(), what] {
    const auto self = weak.lock();
    if (!self || self->stopped) return;
    self->next = base::TimerId::none;
    (*self.*what)();
  });
}

// Half a renew deadline, so that one hung request does not cost the lease; never past the moment at which it would be
// lost.
base::Duration Elector::Impl::request_timeout() const {
  base::Duration timeout = std::max<base::Duration>(seconds(1), options.renew_deadline / 2);
  if (leading) timeout = std::min(timeout, renewed_at + options.renew_deadline - reactor.now());
  return std::max<base::Duration>(timeout, std::chrono::milliseconds(1));
}

void Elector::Impl::send(std::string method, std::string path, std::string body,
                         std::function<void(Impl&, const Answer&)> then) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = std::move(body);
  if (!request.body.empty()) request.content_type = "application/json";
  request.timeout = request_timeout();
  request.lane = Lane::lease;
  in_flight = true;
  transport.send(std::move(request), [weak = weak_from_this(), then = std::move(then)](Answer answer) -> base::Task {
    return [weak, then, answer = std::move(answer)] {
      const auto self = weak.lock();
      if (!self || self->stopped) return;
      self->in_flight = false;
      then(*self, answer);
    };
  });
}

void Elector::Impl::attempt() {
  attempt_at = reactor.now();
  if (leading && known) {
    put(true);
  } else {
    if (leading && listener.slow_path) listener.slow_path();
    get();
  }
}

void Elector::Impl::get() {
  send("GET", k_leases.object_path(options.ns, options.name), "", [](Impl& self, const Answer& a) { self.got(a); });
}

void Elector::Impl::got(const Answer& answer) {
  if (released) return release_step();
  const auto error = error_of(answer);
  if (error && error->is_not_found()) return create();
  if (error) return failed(*error, "reading the lease");
  boost::system::error_code broken;
  boost::json::value document = boost::json::parse(answer->body, broken);
  if (broken || !document.is_object()) return failed(said("unreadable Lease"), "reading the lease");
  keep(std::move(document.as_object()));
  decide();
}

// Takes over a fresh document. A change of the record is a sign of its holder's life, seen now.
void Elector::Impl::keep(boost::json::object fresh) {
  lease = std::move(fresh);
  Record now_held = Record::of(lease);
  if (now_held.raw != record.raw || changed_at == base::MonoTime{}) changed_at = reactor.now();
  record = std::move(now_held);
  if (record.holder == announced) return;
  announced = record.holder;
  if (listener.observed_leader) listener.observed_leader(announced);
}

bool Elector::Impl::held_by_another() const {
  if (record.holder.empty() || record.holder == options.identity) return false;
  const base::Duration duration = record.duration > base::Duration::zero() ? record.duration : options.lease_duration;
  return changed_at + duration > reactor.now();
}

void Elector::Impl::decide() {
  if (leading && record.holder != options.identity) {
    return lose(record.holder.empty() ? "the lease was taken away" : "the lease is held by " + record.holder);
  }
  if (!held_by_another()) return put(false);
  failed({}, "");
}

boost::json::object Elector::Impl::fill(std::string_view holder, base::Duration duration) const {
  boost::json::object document = lease;
  if (document.empty()) {
    document = {{"apiVersion", "coordination.k8s.io/v1"},
                {"kind", "Lease"},
                {"metadata", {{"namespace", options.ns}, {"name", options.name}}}};
  }
  auto& value = document["spec"];
  if (!value.is_object()) value.emplace_object();
  boost::json::object& spec = value.as_object();
  const std::string now = micro_time(reactor.wall());
  if (record.holder != holder || !spec.contains("acquireTime")) spec["acquireTime"] = now;
  if (!holder.empty() && record.holder != holder) {
    spec["leaseTransitions"] = lease.empty() ? 0 : record.transitions + 1;
  }
  spec["holderIdentity"] = holder;
  spec["leaseDurationSeconds"] = std::chrono::duration_cast<seconds>(duration).count();
  spec["renewTime"] = now;
  return document;
}

void Elector::Impl::create() {
  if (leading) base::log::warn("The lease is gone; creating it again", {kv("lease", options.name)});
  lease.clear();
  record = {};
  send("POST", k_leases.collection_path(options.ns),
       boost::json::serialize(fill(options.identity, options.lease_duration)),
       [sent_at = reactor.now()](Impl& self, const Answer& a) { self.put_done(a, sent_at, false); });
}

void Elector::Impl::put(bool fast) {
  send("PUT", k_leases.object_path(options.ns, options.name),
       boost::json::serialize(fill(options.identity, options.lease_duration)),
       [sent_at = reactor.now(), fast](Impl& self, const Answer& a) { self.put_done(a, sent_at, fast); });
}

void Elector::Impl::put_done(const Answer& answer, base::MonoTime sent_at, bool fast) {
  const auto error = error_of(answer);
  known = !error;
  if (!error) {
    boost::system::error_code broken;
    boost::json::value document = boost::json::parse(answer->body, broken);
    known = !broken && document.is_object();
    if (known) keep(std::move(document.as_object()));
  }
  if (released) return release_step();
  if (!error) return renewed(sent_at);
  if (!fast || error->is_transport()) return failed(*error, "writing the lease");
  // Somebody changed it, or it is gone: look at it, still within this attempt.
  if (listener.slow_path) listener.slow_path();
  get();
}

void Elector::Impl::renewed(base::MonoTime sent_at) {
  if (reactor.now() - sent_at >= options.renew_deadline) return failed(said("the answer came too late"), "renewing");
  renewed_at = sent_at;
  watchdog->renewed_ = std::max<base::Duration::rep>(1, sent_at.time_since_epoch().count());
  reactor.cancel(deadline);
  deadline = reactor.at(sent_at + options.renew_deadline, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->stopped || self->released) return;
    self->deadline = base::TimerId::none;
    self->lose("the lease could not be renewed in time");
  });
  wake_at(std::max(reactor.now(), attempt_at + options.retry_period), &Impl::attempt);
  if (std::exchange(leading, true)) return;
  base::log::info("Became leader", {kv("lease", options.name), kv("identity", options.identity)});
  if (listener.became_leader) listener.became_leader();
}

void Elector::Impl::failed(const ApiError& error, std::string_view doing) {
  known = false;
  if (!doing.empty()) {
    base::log::warn("Leader election was hindered",
                    {kv("lease", options.name), kv("doing", doing), kv("error", error.to_string())});
  }
  base::Duration delay = options.retry_period;
  if (!leading) {
    const double jittered = (1 + LeaderOptions::k_jitter * random.unit()) * static_cast<double>(delay.count());
    wake_at(reactor.now() + base::Duration(static_cast<base::Duration::rep>(jittered)), &Impl::attempt);
  } else {
    // A request that hung has used up the pause; one that failed at once has not.
    wake_at(std::max(reactor.now(), attempt_at + delay), &Impl::attempt);
  }
}

void Elector::Impl::lose(const std::string& reason) {
  stop();
  base::log::error("Lost leadership", {kv("lease", options.name), kv("reason", reason)});
  if (listener.lost) listener.lost(reason);
}

// --- giving it back
// -------------------------------------------------------------------------------------------------------------

void Elector::Impl::release(std::function<void(bool)> done) {
  released = std::move(done);
  release_by = reactor.now() + k_release_within;
  reactor.cancel(std::exchange(deadline, base::TimerId::none));
  watchdog->renewed_ = 0;
  if (!std::exchange(leading, false)) {
    // Not the holder, as far as is known; an acquisition that is under way expires by itself.
    reactor.cancel(std::exchange(next, base::TimerId::none));
    reactor.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->finish_release(false);
    });
    return;
  }
  reactor.cancel(std::exchange(next, base::TimerId::none));
  if (!in_flight) put_release();  // else its answer continues
}

void Elector::Impl::put_release() {
  send("PUT", k_leases.object_path(options.ns, options.name), boost::json::serialize(fill("", seconds(1))),
       [](Impl& self, const Answer& answer) {
         const auto error = error_of(answer);
         if (!error) return self.finish_release(true);
         if (error->is_not_found()) return self.finish_release(false);
         self.release_step();
       });
}

// Reads the lease and, if it is still ours, tries again.
void Elector::Impl::release_step() {
  if (reactor.now() >= release_by) return finish_release(false);
  if (known) {
    known = false;
    return put_release();
  }
  send("GET", k_leases.object_path(options.ns, options.name), "", [](Impl& self, const Answer& answer) {
    boost::system::error_code broken;
    if (error_of(answer)) return self.wake_at(self.reactor.now() + k_release_retry, &Impl::release_step);
    boost::json::value document = boost::json::parse(answer->body, broken);
    if (broken || !document.is_object()) return self.finish_release(false);
    self.keep(std::move(document.as_object()));
    if (self.record.holder != self.options.identity) return self.finish_release(false);
    self.put_release();
  });
}

void Elector::Impl::finish_release(bool given) {
  stop();
  if (given) base::log::info("Released the lease", {kv("lease", options.name)});
  if (const auto done = std::exchange(released, nullptr)) done(given);
}

void Elector::Impl::stop() {
  stopped = true;
  leading = false;
  watchdog->renewed_ = 0;
  reactor.cancel(std::exchange(next, base::TimerId::none));
  reactor.cancel(std::exchange(deadline, base::TimerId::none));
}

Elector::Elector(base::Reactor& reactor, Transport& transport, LeaderOptions options, std::uint64_t seed,
                 Listener listener)
    : impl_(std::make_shared<Impl>(reactor, transport, std::move(options), seed, std::move(listener))) {}

Elector::~Elector() { impl_->stop(); }

void Elector::start() { impl_->attempt(); }

bool Elector::leading() const { return impl_->leading; }

base::MonoTime Elector::lease_until() const {
  return impl_->leading ? impl_->renewed_at + impl_->options.lease_duration : base::MonoTime{};
}

std::string Elector::lease_uid() const {
  const auto* metadata = impl_->lease.if_contains("metadata");
  const auto* uid = metadata != nullptr && metadata->is_object() ? metadata->as_object().if_contains("uid") : nullptr;
  return uid != nullptr && uid->is_string() ? std::string(uid->as_string()) : std::string();
}

void Elector::release(std::function<void(bool)> done) { impl_->release(std::move(done)); }

void Elector::stop() { impl_->stop(); }

std::shared_ptr<const LeaderWatchdog> Elector::watchdog() const { return impl_->watchdog; }

}  // namespace kube
