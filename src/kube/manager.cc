#include "kube/manager.h"

#include <fmt/format.h>
#include <malloc.h>

#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/pulse.h"

namespace kube {
namespace {

using base::log::kv;

constexpr base::Duration k_heartbeat = std::chrono::milliseconds(500);
constexpr base::Duration k_heart_stopped = std::chrono::seconds(30);
constexpr base::Duration k_first_complaint = std::chrono::seconds(5);
constexpr base::Duration k_complain_every = std::chrono::seconds(60);

// What the probes' thread may see.
struct Published {
  base::Pulse pulse;  // of the reactor
  std::mutex mutex;
  std::string unready = "starting";  // guarded; "" = ready

  void set_unready(std::string why) {
    const std::scoped_lock lock(mutex);
    unready = std::move(why);
  }
  std::optional<std::string> why_unready() {
    const std::scoped_lock lock(mutex);
    return unready.empty() ? std::nullopt : std::optional(unready);
  }
};

std::optional<std::string> standstill(const base::Pulse& pulse, base::MonoTime now) {
  const base::Duration age = pulse.age(now);
  if (age <= k_heart_stopped) return std::nullopt;
  return fmt::format("it has not turned for {} s", age / std::chrono::seconds(1));
}

std::string name_of(const Resource& resource) {
  std::string name(resource.plural);
  if (!resource.group.empty()) name += "." + std::string(resource.group);
  return name + "/" + std::string(resource.version);
}

}  // namespace

struct Manager::Impl : std::enable_shared_from_this<Manager::Impl> {
  Impl(const Controller& c, base::Reactor& r, Transport& t, Registry& g, ManagerOptions o)
      : controller(c), reactor(r), transport(t), registry(g), options(std::move(o)) {}

  void open();
  void beat();
  void complain();
  std::string what_is_missing() const;
  void filled();
  void run_for_the_lease();
  bool objects();
  void won();
  void lead();
  void lost(std::string_view reason);
  void end_if_settled();
  void shut_down();
  int status() const;
  void drained();
  void exit(int status, bool at_once);
  void after(base::Duration d, base::TimerId& timer, void (Impl::*what)());

  const Controller& controller;
  base::Reactor& reactor;
  Transport& transport;
  Registry& registry;
  ManagerOptions options;
  std::shared_ptr<Published> published = std::make_shared<Published>();
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Elector> elector;
  base::TimerId beat_timer = base::TimerId::none;
  base::TimerId complaint_timer = base::TimerId::none;
  base::TimerId grace_timer = base::TimerId::none;
  bool ready = false;
  bool settled = false;  // with until_settled
  bool shutting_down = false;
  bool exited = false;
};

void Manager::Impl::after(base::Duration d, base::TimerId& timer, void (Impl::*what)()) {
  timer = reactor.at(reactor.now() + d, [weak = weak_from_this(), what] {
    if (const auto self = weak.lock()) (*self.*what)();
  });
}

void Manager::Impl::open() {
  loop = std::make_unique<Loop>(controller, transport, reactor, registry, options.loop);
  if (!options.leader_elect) return;
  registry.leading(options.lease.name, false);
  Elector::Listener listener;
  listener.became_leader = [this] { won(); };
  listener.lost = [this](std::string_view reason) { lost(reason); };
  listener.observed_leader = [this](std::string_view who) {
    base::log::info("Observed leader", {kv("lease", options.lease.name), kv("leader", who)});
  };
  listener.slow_path = [this] { registry.lease_slow_path(options.lease.name); };
  elector = std::make_unique<Elector>(reactor, transport, options.lease, options.seed, std::move(listener));
  loop->set_lease([this] { return elector->lease_until(); });
}

// Twice a second: what the probes' thread sees, and metrics that age.
void Manager::Impl::beat() {
  published->pulse.beat(reactor.now());
  const auto sources = loop->sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Store& store = *loop->state().stores()[i];
    if (const auto* status = sources[i]->status()) registry.refresh(store.kind().resource, *status, store.size());
    for (const Count& count : store.counts()) registry.refresh(count);
  }
  registry.refresh_queues();
  if (!shutting_down) published->set_unready(ready && loop->whole() ? "" : what_is_missing());
  end_if_settled();
  after(k_heartbeat, beat_timer, &Impl::beat);
}

// Which stores are still empty, and why, in one line.
std::string Manager::Impl::what_is_missing() const {
  std::string missing_kinds;
  std::string waiting;
  std::string trouble;
  const auto sources = loop->sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Store& store = *loop->state().stores()[i];
    const bool optional = controller.watches[i].optional;
    if (store.available() || (optional && (ready || !store.served()))) continue;
    std::string& list = store.served() ? waiting : missing_kinds;
    list += (list.empty() ? "" : ", ") + name_of(store.kind().resource);
    const auto* status = sources[i]->status();
    if (store.served() && status != nullptr && status->trouble && trouble.empty())
      trouble = status->trouble->to_string();
  }
  std::string text;
  if (!missing_kinds.empty()) {
    text = "the server does not serve " + missing_kinds + ": their CustomResourceDefinitions are not installed";
  }
  if (!waiting.empty()) text += (text.empty() ? "" : "; ") + std::string("not listed yet: ") + waiting;
  if (!trouble.empty()) text += " (" + trouble + ")";
  return text.empty() ? "not all is listed yet" : text;
}

// For people who look at the log of a process that does nothing.
void Manager::Impl::complain() {
  if (ready || shutting_down) return;
  base::log::error("Waiting for the API server; trying again until it answers",
                   {kv("server", options.server), kv("reason", what_is_missing())});
  after(k_complain_every, complaint_timer, &Impl::complain);
}

void Manager::Impl::filled() {
  if (shutting_down || objects()) return;
  ready = true;
  published->set_unready("");
  reactor.cancel(std::exchange(complaint_timer, base::TimerId::none));
  malloc_trim(0);  // first lists leave much behind
  run_for_the_lease();
}

void Manager::Impl::run_for_the_lease() {
  if (elector) {
    base::log::info("Running for the lease", {kv("lease", options.lease.name), kv("namespace", options.lease.ns),
                                              kv("identity", options.lease.identity)});
    elector->start();
  } else {
    loop->set_leading(true);
  }
}

// Of what is there now: another process may have led until a moment ago.
bool Manager::Impl::objects() {
  const auto why = loop->state().objection();
  if (!why) return false;
  base::log::error("Refusing to work on what is there", {kv("reason", *why)});
  shutting_down = true;
  published->set_unready(*why);
  if (elector && elector->leading()) {
    elector->release([weak = weak_from_this()](bool) {
      if (const auto self = weak.lock()) self->exit(1, false);
    });
  } else {
    exit(1, false);
  }
  return true;
}

void Manager::Impl::won() {
  loop->when_whole([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->shutting_down && self->elector->leading()) self->lead();
  });
}

// It may object only to what it sees.
void Manager::Impl::lead() {
  if (objects()) return;
  registry.leading(options.lease.name, true);
  // As client-go tells it, for people who look at the Lease.
  EventNote event;
  event.regarding = {&lease_resource(), options.lease.ns, options.lease.name};
  event.regarding_uid = elector->lease_uid();
  event.reason = "LeaderElection";
  event.action = "LeaderElection";
  event.note = options.lease.identity + " became leader";
  loop->events().record(event);
  loop->set_leading(true);
}

void Manager::Impl::lost(std::string_view reason) {
  loop->set_leading(false);
  registry.leading(options.lease.name, false);
  base::log::error("Leadership is lost; exiting", {kv("reason", reason)});
  exit(1, true);
}

void Manager::Impl::end_if_settled() {
  if (!options.until_settled || !ready || !loop->leading()) return;
  if (!loop->idle() || loop->stats().waiting != 0) return;
  settled = true;
  shut_down();
}

// Of a shutdown in good order.
int Manager::Impl::status() const { return options.until_settled && !settled ? 1 : 0; }

void Manager::Impl::shut_down() {
  if (std::exchange(shutting_down, true)) return;
  base::log::info("Shutting down");
  published->set_unready("shutting down");
  // One that does not lead must not begin to now.
  if (elector && !elector->leading()) elector->stop();
  reactor.cancel(std::exchange(complaint_timer, base::TimerId::none));
  if (!ready) return exit(status(), false);  // nothing has begun
  grace_timer = reactor.at(reactor.now() + options.grace_period, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->exited) return;
    base::log::error("Work did not end within the grace period; exiting without giving the lease back");
    self->exit(1, true);
  });
  loop->drain([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->drained();
  });
}

void Manager::Impl::drained() {
  if (exited) return;
  loop->set_leading(false);
  if (!elector || !elector->leading()) return exit(status(), false);
  registry.leading(options.lease.name, false);
  elector->release([weak = weak_from_this()](bool) {
    if (const auto self = weak.lock()) self->exit(self->status(), false);
  });
}

void Manager::Impl::exit(int status, bool at_once) {
  if (std::exchange(exited, true)) return;
  reactor.cancel(std::exchange(grace_timer, base::TimerId::none));
  options.exit(status, at_once);
}

Manager::Manager(const Controller& controller, base::Reactor& reactor, Transport& transport, Registry& registry,
                 ManagerOptions options)
    : impl_(std::make_shared<Impl>(controller, reactor, transport, registry, std::move(options))) {
  impl_->open();
}

Manager::~Manager() {
  for (base::TimerId* timer : {&impl_->beat_timer, &impl_->complaint_timer, &impl_->grace_timer}) {
    impl_->reactor.cancel(std::exchange(*timer, base::TimerId::none));
  }
  impl_->loop.reset();  // asks the elector for the lease
  impl_->elector.reset();
}

void Manager::start() {
  impl_->loop->start();
  impl_->loop->when_synced([weak = std::weak_ptr(impl_)] {
    if (const auto self = weak.lock()) self->filled();
  });
  impl_->beat();
  impl_->after(k_first_complaint, impl_->complaint_timer, &Impl::complain);
}

void Manager::shut_down() { impl_->shut_down(); }

Loop& Manager::loop() { return *impl_->loop; }

std::vector<ProbeCheck> Manager::healthz() const {
  const auto clock = impl_->options.clock;
  std::vector<ProbeCheck> checks;
  checks.push_back({"ping", [] { return std::optional<std::string>(); }});
  checks.push_back({"loop", [published = impl_->published, clock] { return standstill(published->pulse, clock()); }});
  if (const auto pulse = impl_->transport.pulse()) {
    checks.push_back({"transport", [pulse, clock] { return standstill(*pulse, clock()); }});
  }
  if (impl_->elector) {
    checks.push_back(
        {"leader-election", [watchdog = impl_->elector->watchdog(), clock]() -> std::optional<std::string> {
           if (watchdog->healthy(clock())) return std::nullopt;
           return "the lease has not been renewed for too long";
         }});
  }
  return checks;
}

std::vector<ProbeCheck> Manager::readyz() const {
  std::vector<ProbeCheck> checks;
  checks.push_back({"synced", [published = impl_->published] { return published->why_unready(); }});
  return checks;
}

}  // namespace kube
