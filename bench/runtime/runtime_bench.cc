// What the runtime itself costs: without a network, with real decoders.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <deque>
#include <map>

#include "api/ipam.h"
#include "base/log.h"
#include "kube/loop.h"
#include "kube/work_queue.h"
#include "runtime/bench.h"

namespace kube {
namespace {

std::vector<ObjectPtr> claims(int n, int version) {
  std::vector<ObjectPtr> all;
  all.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    all.push_back(*api::IPAddressClaim::kind().decode(
        claim_json(i, version + i, fmt::format("tenant-{}", i % 100), "", R"("phase":"Bound")")));
  }
  return all;
}

std::vector<IndexSpec> indexes() {
  std::vector<IndexSpec> specs;
  for (const char* name : {"class", "phase", "address"}) {
    specs.push_back({name, [](const Object& o, std::vector<IndexEntry>& out) {
                       const auto& claim = static_cast<const api::IPAddressClaim&>(o);
                       out.push_back({claim.className + "/" + claim.family, claim.meta.name});
                     }});
  }
  return specs;
}

// The first list of 100,000 objects with three indexes, in slices; bytes and the longest slice.
void replace(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  double longest = 0;
  double bytes = 0;
  double objects_bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const std::size_t before = heap();
    auto list = claims(n, 100);
    const std::size_t decoded = heap();
    Store store(api::IPAddressClaim::kind(), indexes(), {{}, {}, {}, [](Store&) {}});
    state.ResumeTiming();
    store.replace(std::move(list), "100000000");
    bool done = false;
    while (!done) {
      const double begin = cpu_ms();
      done = store.resume(2000);
      longest = std::max(longest, cpu_ms() - begin);
    }
    state.PauseTiming();
    bytes = static_cast<double>(heap() - before) / n;
    objects_bytes = static_cast<double>(decoded - before) / n;
    state.ResumeTiming();
  }
  state.counters["bytes_per_object"] = bytes;
  state.counters["of_which_decoded"] = objects_bytes;
  state.counters["longest_slice_ms"] = longest;
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(replace)->Arg(100'000)->Unit(benchmark::kMillisecond);

// A relist of 100,000 objects of which all have changed.
void relist(benchmark::State& state) {
  const int n = 100'000;
  Store store(api::IPAddressClaim::kind(), indexes(), {{}, {}, {}, [](Store&) {}});
  store.replace(claims(n, 100), "100000000");
  while (!store.resume(2000)) {
  }
  int version = 100'000'000;
  double longest = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto list = claims(n, version);
    version += n;
    state.ResumeTiming();
    store.replace(std::move(list), std::to_string(version));
    bool done = false;
    while (!done) {
      const double begin = cpu_ms();
      done = store.resume(2000);
      longest = std::max(longest, cpu_ms() - begin);
    }
  }
  state.counters["longest_slice_ms"] = longest;
}
BENCHMARK(relist)->Unit(benchmark::kMillisecond);

// One watch event that changes an object and its place in three indexes, among 100,000.
void event(benchmark::State& state) {
  const int n = 100'000;
  Store store(api::IPAddressClaim::kind(), indexes(), {});
  store.replace(claims(n, 100), "100000000");
  int version = 100'000'001;
  int i = 0;
  for (auto _ : state) {
    auto next = std::make_shared<api::IPAddressClaim>(static_cast<const api::IPAddressClaim&>(
        *store.find(fmt::format("tenant-{}", i % 100), fmt::format("claim-{:06}", i))->object));
    next->meta.resourceVersion = std::to_string(version);
    next->className = version % 2 == 0 ? "public" : "private";
    store.apply(std::move(next));
    store.advance(std::to_string(version++));
    i = (i + 7919) % n;
  }
}
BENCHMARK(event);

void queue(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  WorkQueue queue(2, 32);
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("tenant-" + std::to_string(i));
  const base::MonoTime now{std::chrono::hours(1)};
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < n; ++i) queue.add(KeyId{i}, names[i % 100], 0, WorkQueue::Lane::fresh, now);
    while (const auto item = queue.pop(now)) queue.done(item->key);
  }
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(queue)->Arg(1000)->Arg(1'000'000);

// --- the loop ---

// Time stands still; tasks run in order.
class InstantReactor final : public base::Reactor {
 public:
  base::MonoTime now() const override { return base::MonoTime(std::chrono::hours(1)); }
  base::WallTime wall() const override { return {}; }
  void post(base::Task task) override { tasks_.push_back(std::move(task)); }
  base::TimerId at(base::MonoTime, base::Task) override { return base::TimerId{1}; }
  void cancel(base::TimerId) override {}
  void run() {
    while (!tasks_.empty()) {
      base::Task task = std::move(tasks_.front());
      tasks_.pop_front();
      if (task) task();
    }
  }

 private:
  std::deque<base::Task> tasks_;
};

// Answers every patch at once with the object, one step further.
class InstantServer final : public Transport {
 public:
  explicit InstantServer(InstantReactor& reactor) : reactor_(reactor) {}
  void send(Request request, Receiver receiver) override {
    const std::size_t at = request.path.find("claim-") + 6;
    const int i = std::stoi(request.path.substr(at, 6));
    const int step = ++steps_[i];
    Response response;
    response.status = 200;
    response.body = claim_json(i, ++version_, fmt::format("tenant-{}", i % 100),
                               R"("local.sdn.cozystack.io/claim-protection")", fmt::format(R"("phase":"{}")", step));
    ++writes;
    reactor_.post(receiver(std::move(response)));
  }
  StreamId open(Request, std::unique_ptr<StreamReceiver>, base::Duration) override { return StreamId::none; }
  void close(StreamId) override {}
  std::uint64_t writes = 0;

 private:
  InstantReactor& reactor_;
  std::map<int, int> steps_;
  int version_ = 200'000'000;
};

// Four writes per claim for 3,000 claims beside 100,000 settled ones: passes, patches, decoding, merging, waking. All
// but HTTP.
void loop(benchmark::State& state) {
  base::log::configure(base::log::Level::error, base::log::Format::text);
  Controller controller;
  controller.name = "bench";
  WatchSpec watch;
  watch.kind = &api::IPAddressClaim::kind();
  watch.indexes = indexes();
  watch.keys = [](const Object& o, std::vector<Key>& out) { out.push_back({"claim", o.meta.ns, o.meta.name}); };
  controller.watches = {watch};
  controller.reconcilers = {{"claim",
                             [](const Key& key, View& view) {
                               Plan plan;
                               const auto* claim = view.get<api::IPAddressClaim>(key.ns, key.name);
                               if (claim == nullptr || claim->phase == "Bound" || claim->phase == "4") return plan;
                               plan.facts.push_back({"waiting/" + claim->className, claim->meta.uid, "", {}});
                               plan.writes.push_back(kube::patch(api::IPAddressClaim::kind().resource, *claim,
                                                                 {{"status", {{"phase", claim->phase + "+"}}}},
                                                                 "step"));
                               return plan;
                             },
                             0}};
  const int settled = 100'000;
  const int fresh = 3'000;
  double per_write = 0;
  for (auto _ : state) {
    state.PauseTiming();
    InstantReactor reactor;
    InstantServer server(reactor);
    MetricsSink metrics;
    struct Nothing final : Source {
      void start() override {}
      void stop() override {}
    };
    Loop loop(controller, server, reactor, metrics, {},
              [](const WatchSpec&, Store&, std::function<void()>) { return std::make_unique<Nothing>(); });
    loop.start();
    loop.set_leading(true);
    Store& store = loop.state().store(api::IPAddressClaim::kind());
    store.replace(claims(settled, 100), "100000000");
    reactor.run();
    std::vector<ObjectPtr> news;
    for (int i = settled; i < settled + fresh; ++i) {
      news.push_back(*api::IPAddressClaim::kind().decode(
          claim_json(i, 100'000'001 + i, fmt::format("tenant-{}", i % 100), "", "")));
    }
    state.ResumeTiming();
    for (ObjectPtr& o : news) {
      const std::string version = o->meta.resourceVersion;
      store.apply(std::move(o));
      store.advance(version);
    }
    const double begin = cpu_ms();
    reactor.run();
    per_write = (cpu_ms() - begin) * 1e3 / static_cast<double>(server.writes);
    if (server.writes != 4ULL * fresh) state.SkipWithError("not four writes per claim");
    state.PauseTiming();
    news.clear();
    state.ResumeTiming();
  }
  state.counters["us_per_write"] = per_write;
  state.counters["us_per_claim"] = per_write * 4;
}
BENCHMARK(loop)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kube
