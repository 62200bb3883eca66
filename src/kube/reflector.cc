#include "kube/reflector.h"

#include <utility>

#include "base/log.h"

namespace kube {
namespace {

using base::log::kv;

}  // namespace

// Shared with the continuations, which look whether it is still wanted: requests cannot be recalled.
struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  Impl(base::Reactor& r, Transport& t, Store& s, ReflectorOptions o, std::uint64_t seed, Listener l)
      : reactor(r),
        transport(t),
        store(s),
        options(std::move(o)),
        listener(std::move(l)),
        machine(options.policy, seed) {}

  void run(WatchMachine::Actions actions);
  void perform(WatchMachine::List list);
  void perform(WatchMachine::Watch watch);
  void perform(const WatchMachine::Wait& wait);
  void perform(WatchMachine::Replace replace);
  void perform(const WatchMachine::Apply& apply);
  void perform(const WatchMachine::Report& report);
  void perform(const WatchMachine::Available& available);
  void perform(const WatchMachine::Count& count);
  void perform(WatchMachine::Close) { transport.close(std::exchange(stream, StreamId::none)); }
  void perform(WatchMachine::StopWaiting) { reactor.cancel(std::exchange(timer, base::TimerId::none)); }

  void add_selectors(WatchMachine::Query& query) const;
  void alive();
  void settle();
  void stop();
  // A continuation that runs `f(impl)` unless the reflector has stopped.
  template <class F>
  base::Task later(F f) {
    return [weak = weak_from_this(), f = std::move(f)]() mutable {
      if (const auto self = weak.lock(); self && !self->stopped) f(*self);
    };
  }

  base::Reactor& reactor;
  Transport& transport;
  Store& store;
  ReflectorOptions options;
  Listener listener;
  WatchMachine machine;
  ReflectorStatus status;
  StreamId stream = StreamId::none;
  base::TimerId timer = base::TimerId::none;
  bool settled = false;
  bool stopped = false;
};

namespace {

// Decodes a watch on the transport's thread. Each task goes to the stream's reflector, if it still exists.
class WatchReceiver final : public StreamReceiver {
 public:
  using Opened = std::function<base::Task()>;
  using Batch = std::function<base::Task(WatchBatch)>;
  using Closed = std::function<base::Task(std::optional<ApiError>)>;
  WatchReceiver(const Kind& kind, Opened opened, Batch batch, Closed closed)
      : decoder_(kind), opened_(std::move(opened)), batch_(std::move(batch)), closed_(std::move(closed)) {}

  base::Task opened() override { return opened_(); }
  base::Task data(std::string_view bytes) override {
    WatchBatch batch = decoder_.feed(bytes);
    if (batch.events.empty() && batch.garbage.empty()) return {};
    return batch_(std::move(batch));
  }
  base::Task closed(Answer how) override { return closed_(error_of(how)); }

 private:
  WatchDecoder decoder_;
  Opened opened_;
  Batch batch_;
  Closed closed_;
};

ApiResult<ListPage> read_page(ListDecoder& decoder, const Answer& answer) {
  if (auto error = error_of(answer)) return std::unexpected(std::move(*error));
  decoder.data(answer->body);
  auto page = decoder.finish();
  if (page) return std::move(*page);
  ApiError error;
  error.message = std::move(page.error().message);
  error.transport = TransportError::Kind::reset;
  return std::unexpected(std::move(error));
}

}  // namespace

void Reflector::Impl::run(WatchMachine::Actions actions) {
  for (auto& action : actions) {
    if (stopped) return;
    std::visit([this](auto& a) { perform(std::move(a)); }, action);
  }
  status.version = machine.version();
}

void Reflector::Impl::add_selectors(WatchMachine::Query& query) const {
  if (!options.label_selector.empty()) query.emplace_back("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) query.emplace_back("fieldSelector", options.field_selector);
}

void Reflector::Impl::perform(WatchMachine::List list) {
  Request request;
  request.path = options.kind->resource.collection_path(options.ns);
  request.query = std::move(list.query);
  add_selectors(request.query);
  request.timeout = list.timeout;
  auto decoder = std::make_shared<ListDecoder>(*options.kind);
  request.sink = decoder;
  transport.send(std::move(request), [decoder, weak = weak_from_this()](const Answer& answer) -> base::Task {
    return [weak, page = read_page(*decoder, answer)]() mutable {
      const auto self = weak.lock();
      if (!self || self->stopped) return;
      if (page) self->alive();
      self->run(self->machine.listed(self->reactor.now(), std::move(page)));
    };
  });
}

void Reflector::Impl::perform(WatchMachine::Watch watch) {
  Request request;
  request.path = options.kind->resource.collection_path(options.ns);
  request.query = std::move(watch.query);
  add_selectors(request.query);
  request.timeout = watch.header_timeout;
  // The receiver lives on the transport's thread: it holds no reference that could be the last one.
  const auto task = [weak = weak_from_this()](auto f) -> base::Task {
    return [weak, f = std::move(f)]() mutable {
      if (const auto self = weak.lock(); self && !self->stopped) f(*self);
    };
  };
  auto receiver = std::make_unique<WatchReceiver>(
      *options.kind, [task] { return task([](Impl& self) { self.run(self.machine.opened(self.reactor.now())); }); },
      [task](WatchBatch batch) {
        return task([batch = std::move(batch)](Impl& self) mutable {
          if (!batch.events.empty()) self.alive();
          self.run(self.machine.batch(self.reactor.now(), std::move(batch)));
        });
      },
      [task](std::optional<ApiError> error) {
        return task([error = std::move(error)](Impl& self) mutable {
          self.stream = StreamId::none;
          self.run(self.machine.closed(self.reactor.now(), std::move(error)));
        });
      });
  stream = transport.open(std::move(request), std::move(receiver), options.idle);
}

void Reflector::Impl::perform(const WatchMachine::Wait& wait) {
  reactor.cancel(timer);
  timer = reactor.at(reactor.now() + wait.delay, later([](Impl& self) {
                       self.timer = base::TimerId::none;
                       self.run(self.machine.timer(self.reactor.now()));
                     }));
}

void Reflector::Impl::perform(WatchMachine::Replace replace) {
  base::log::debug("Listed", {kv("kind", options.kind->resource.kind), kv("objects", replace.objects.size()),
                              kv("resourceVersion", replace.version)});
  store.replace(std::move(replace.objects), replace.version);
  status.synced = true;
  settle();
}

void Reflector::Impl::perform(const WatchMachine::Apply& apply) {
  for (const WatchEvent& event : apply.events) {
    if (event.type == WatchEvent::Type::deleted) {
      const Meta& meta = event.object->meta;
      store.erase(meta.ns, meta.name, meta.uid, event.version);
    } else if (event.type != WatchEvent::Type::bookmark) {
      store.apply(event.object);
    }
    store.advance(event.version);
  }
}

void Reflector::Impl::perform(const WatchMachine::Report& report) {
  status.trouble = report.error;
  const auto delay = std::chrono::duration_cast<std::chrono::milliseconds>(report.again).count();
  const auto level = report.quiet ? base::log::Level::debug : base::log::Level::warn;
  if (!base::log::enabled(level)) return;
  base::log::write(level, "Watching is interrupted",
                   {kv("kind", options.kind->resource.kind), kv("group", options.kind->resource.group),
                    kv("doing", report.doing), kv("error", report.error.to_string()), kv("retryInMs", delay)});
}

void Reflector::Impl::perform(const WatchMachine::Available& available) {
  status.available = available.yes;
  store.set_served(available.yes);
  base::log::info(available.yes ? "The server serves this kind now"
                                : "The server does not serve this kind, or does not let it be read",
                  {kv("kind", options.kind->resource.kind), kv("group", options.kind->resource.group)});
  if (listener.available) listener.available(available.yes);
  if (!available.yes && options.policy.optional) settle();
}

void Reflector::Impl::perform(const WatchMachine::Count& count) {
  using Counter = WatchMachine::Counter;
  ++(count.what == Counter::relist          ? status.relists
     : count.what == Counter::watch_restart ? status.watch_restarts
                                            : status.streaming_fallbacks);
  if (listener.counted) listener.counted(count.what, count.reason);
}

// The store's first state is known.
void Reflector::Impl::settle() {
  if (!std::exchange(settled, true) && listener.settled) listener.settled();
}

// A sign of life.
void Reflector::Impl::alive() {
  status.last_event = reactor.now();
  status.trouble.reset();
}

void Reflector::Impl::stop() {
  if (std::exchange(stopped, true)) return;
  transport.close(std::exchange(stream, StreamId::none));
  reactor.cancel(std::exchange(timer, base::TimerId::none));
}

Reflector::Reflector(base::Reactor& reactor, Transport& transport, Store& store, ReflectorOptions options,
                     std::uint64_t seed, Listener listener)
    : impl_(std::make_shared<Impl>(reactor, transport, store, std::move(options), seed, std::move(listener))) {}

Reflector::~Reflector() { impl_->stop(); }

void Reflector::start() { impl_->run(impl_->machine.start(impl_->reactor.now())); }

void Reflector::stop() { impl_->stop(); }

const Kind& Reflector::kind() const { return *impl_->options.kind; }

const ReflectorStatus& Reflector::status() const { return impl_->status; }

}  // namespace kube
