// T09: a long list and a busy watch neither stall the I/O thread nor pile up.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "kube/reflector.h"
#include "kube/support/fake_server.h"
#include "kube/support/transport_fixture.h"
#include "kube/watch_fixture.h"

namespace kube::test {
namespace {

using watch_test::widget;
using watch_test::widget_kind;

constexpr int k_objects = 20'000;
constexpr int k_changes = 400;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// How much of its thread's time one call took at most: not the clock's, since other processes come in between.
struct Meter {
  std::atomic<double> longest = 0;
  std::atomic<std::size_t> pieces = 0;
  std::atomic<std::size_t> biggest_piece = 0;
  std::atomic<std::size_t> most_heap = 0;

  template <class F>
  auto of(std::string_view piece, F f) {
    const double begin = cpu_ms();
    auto result = f();
    longest = std::max(longest.load(), cpu_ms() - begin);
    ++pieces;
    biggest_piece = std::max(biggest_piece.load(), piece.size());
    most_heap = std::max(most_heap.load(), mallinfo2().uordblks);
    return result;
  }
};

class MeteredStream final : public StreamReceiver {
 public:
  MeteredStream(std::unique_ptr<StreamReceiver> to, Meter& meter) : to_(std::move(to)), meter_(meter) {}
  base::Task opened() override { return to_->opened(); }
  base::Task data(std::string_view bytes) override {
    return meter_.of(bytes, [&] { return to_->data(bytes); });
  }
  base::Task closed(Answer how) override { return to_->closed(std::move(how)); }

 private:
  std::unique_ptr<StreamReceiver> to_;
  Meter& meter_;
};

class MeteredSink final : public BodySink {
 public:
  MeteredSink(std::shared_ptr<BodySink> to, Meter& meter) : to_(std::move(to)), meter_(meter) {}
  void restart() override { to_->restart(); }
  void data(std::string_view bytes) override {
    meter_.of(bytes, [&] {
      to_->data(bytes);
      return 0;
    });
  }

 private:
  std::shared_ptr<BodySink> to_;
  Meter& meter_;
};

// Measures what happens on the I/O thread.
class MeteredTransport final : public Transport {
 public:
  MeteredTransport(Transport& to, Meter& meter) : to_(to), meter_(meter) {}
  void send(Request request, Receiver receiver) override {
    if (request.sink) request.sink = std::make_shared<MeteredSink>(std::move(request.sink), meter_);
    to_.send(std::move(request), [this, receiver = std::move(receiver)](Answer answer) mutable {
      return meter_.of({}, [&] { return receiver(std::move(answer)); });
    });
  }
  StreamId open(Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration idle) override {
    return to_.open(std::move(request), std::make_unique<MeteredStream>(std::move(receiver), meter_), idle);
  }
  void close(StreamId stream) override { to_.close(stream); }

 private:
  Transport& to_;
  Meter& meter_;
};

// A kilobyte that nobody reads, as managedFields are.
std::string object_json(int i, int version) {
  static const std::string ballast(1000, 'f');
  return R"({"metadata":{"namespace":"ns","name":"w)" + std::to_string(i) + R"(","uid":"u","resourceVersion":")" +
         std::to_string(version) + R"(","managedFields":[{"fieldsV1":")" + ballast + R"("}]},"spec":{"size":)" +
         std::to_string(version) + "}}";
}

bool has(const FakeExchange& exchange, std::string_view text) {
  return exchange.request.target.find(text) != std::string::npos;
}

struct Load : TransportFixture, ::testing::Test {
  // Serves k_objects and, once they are there, k_changes, 200 a second.
  FakeServer::Script script() {
    return [this](FakeExchange& exchange) {
      exchange.start_stream();
      if (has(exchange, "sendInitialEvents")) {
        everything(exchange, R"({"type":"ADDED","object":)", "}\n", "\n");
        exchange.chunk(
            R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"100000","annotations":{"k8s.io/initial-events-end":"true"}}}})"
            "\n");
        churn(exchange);
      } else if (has(exchange, "watch=true")) {
        churn(exchange);
      } else {
        exchange.chunk(R"({"kind":"WidgetList","metadata":{"resourceVersion":"100000"},"items":[)");
        everything(exchange, "", "", ",");
        exchange.chunk("]}");
        exchange.end_stream();
      }
    };
  }
  static void everything(FakeExchange& exchange, std::string_view before, std::string_view after,
                         std::string_view between) {
    std::string piece;
    for (int i = 0; i < k_objects; ++i) {
      piece += before;
      piece += object_json(i, 1 + i);
      piece += after;
      if (i + 1 < k_objects) piece += between;
      if (piece.size() < 100'000 && i + 1 < k_objects) continue;
      exchange.chunk(piece);
      piece.clear();
    }
  }
  void churn(FakeExchange& exchange) {
    for (int i = 0; i < k_changes && !over; i += 10) {
      std::string piece;
      for (int j = i; j < i + 10; ++j) {
        piece += R"({"type":"MODIFIED","object":)" + object_json(j, 100'001 + j) + "}\n";
      }
      exchange.chunk(piece);
      std::this_thread::sleep_for(milliseconds(50));
    }
    exchange.wait_until([this] { return over.load(); });
  }
  void sync(WatchPolicy policy) {
    FakeServer server(script());
    MeteredTransport metered(connect(server.url()), meter);
    Store store(widget_kind(), {}, {});
    ReflectorOptions what;
    what.kind = &widget_kind();
    what.policy = policy;
    const std::size_t before = mallinfo2().uordblks;
    Reflector reflector(reactor, metered, store, what, 1, {});
    reflector.start();
    EXPECT_TRUE(run_until([&] { return store.version() == std::to_string(100'000 + k_changes); }, seconds(100)));
    const std::size_t after = mallinfo2().uordblks;
    over = true;
    EXPECT_EQ(store.size(), static_cast<std::size_t>(k_objects));
    EXPECT_GT(meter.pieces, 100u);
    EXPECT_LT(meter.biggest_piece, std::size_t{256} << 10) << "the thread is never given much at once";
    EXPECT_LT(meter.longest, 50) << "ms; leases are renewed by this thread, too";
    // The list is 22 MB long. At no time is more of it there than the objects made of it.
    const std::size_t margin = std::size_t{8} << 20;
    EXPECT_LT(meter.most_heap, std::max(before, after) + margin);
    int watches = 0;
    for (const SeenRequest& request : server.requests()) {
      watches += request.target.find("watch=true") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(watches, 1);
  }

  Meter meter;
  std::atomic<bool> over = false;
};

TEST_F(Load, T09_AStreamingListAndAChurningWatch) { sync({}); }

TEST_F(Load, T09_AListInOnePieceAndAChurningWatch) {
  WatchPolicy policy;
  policy.streaming_list = false;
  sync(policy);
}

}  // namespace
}  // namespace kube::test
