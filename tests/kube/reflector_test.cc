// The reflector between a transport and a store. The protocol itself is tested on the machine.
#include "kube/reflector.h"

#include <gtest/gtest.h>

#include <deque>

#include "kube/manual_reactor.h"
#include "kube/watch_fixture.h"

namespace kube::watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ManualReactor;

struct ScriptedTransport final : Transport {
  explicit ScriptedTransport(ManualReactor& r) : reactor(r) {}
  void send(Request request, Receiver receiver) override {
    requests.push_back(std::move(request));
    receivers.push_back(std::move(receiver));
  }
  StreamId open(Request request, std::unique_ptr<StreamReceiver> receiver, base::Duration silence) override {
    requests.push_back(std::move(request));
    stream = std::move(receiver);
    idle = silence;
    ++opened;
    return StreamId{7};
  }
  void close(StreamId id) override {
    if (id == StreamId{7}) ++closed;
  }

  void answer(int status, std::string body) {
    Response response;
    response.status = status;
    response.body = std::move(body);
    Receiver receiver = std::move(receivers.front());
    receivers.pop_front();
    post(receiver(std::move(response)));
  }
  void headers() { post(stream->opened()); }
  void data(std::string_view bytes) { post(stream->data(bytes)); }
  void post(base::Task task) {
    if (task) reactor.post(std::move(task));
    reactor.run();
  }

  ManualReactor& reactor;
  std::deque<Request> requests;
  std::deque<Receiver> receivers;
  std::unique_ptr<StreamReceiver> stream;
  base::Duration idle{};
  int opened = 0;
  int closed = 0;
};

struct Fixture : ::testing::Test {
  void start(ReflectorOptions options) {
    options.kind = &widget_kind();
    reflector = std::make_unique<Reflector>(
        reactor, transport, store, std::move(options), 1,
        Reflector::Listener{[this] { ++settled; }, [this](bool yes) { available.push_back(yes); }, {}});
    reflector->start();
  }
  static ReflectorOptions pages() {
    ReflectorOptions options;
    options.policy.streaming_list = false;
    return options;
  }
  static std::string list(std::string_view items, int version) {
    return R"({"kind":"WidgetList","metadata":{"resourceVersion":")" + std::to_string(version) + R"("},"items":[)" +
           std::string(items) + "]}";
  }
  static std::string line(std::string_view type, const ObjectPtr& object) {
    return R"({"type":")" + std::string(type) + R"(","object":)" + widget_json(*object) + "}\n";
  }
  std::string version_of(std::string_view name) {
    const Slot* slot = store.find("ns", name);
    return slot == nullptr || !slot->object ? "-" : slot->object->meta.resourceVersion;
  }

  ManualReactor reactor;
  ScriptedTransport transport{reactor};
  Store store{widget_kind(), {}, {}};
  std::unique_ptr<Reflector> reflector;
  int settled = 0;
  std::vector<bool> available;
};
using ReflectorTest = Fixture;

TEST_F(ReflectorTest, T69_NamespaceAndSelectorsAreOnBothRequests) {
  ReflectorOptions options = pages();
  options.ns = "team a";
  options.label_selector = "a in (b,c)";
  options.field_selector = "metadata.name=x";
  start(options);
  transport.answer(200, list("", 5));
  ASSERT_EQ(transport.requests.size(), 2U);
  for (const Request& request : transport.requests) {
    EXPECT_EQ(request.path, "/apis/example.com/v1/namespaces/team%20a/widgets");
    EXPECT_EQ(Harness::param(request.query, "labelSelector"), "a in (b,c)") << "the transport encodes it";
    EXPECT_EQ(Harness::param(request.query, "fieldSelector"), "metadata.name=x");
  }
  EXPECT_EQ(transport.idle, 100s);
}

TEST_F(ReflectorTest, ListsAndEventsReachTheStore) {
  start(pages());
  EXPECT_FALSE(reflector->status().synced);
  transport.answer(200, list(widget_json(*widget("a", 3)) + "," + widget_json(*widget("b", 4)), 10));
  EXPECT_EQ(settled, 1);
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(version_of("a"), "3");
  transport.headers();
  transport.data(line("MODIFIED", widget("a", 11, "u", 9)) + line("DELETED", widget("b", 12)) +
                 line("ADDED", widget("c", 13)).substr(0, 20));
  EXPECT_EQ(version_of("a"), "11");
  EXPECT_EQ(version_of("b"), "-");
  EXPECT_EQ(store.version(), "12");
  transport.data(line("ADDED", widget("c", 13)).substr(20));
  EXPECT_EQ(version_of("c"), "13");
  transport.data(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"40"}}})"
                 "\n");
  EXPECT_EQ(store.version(), "40");
  EXPECT_EQ(reflector->status().version, "40");
  EXPECT_EQ(reflector->status().last_event, reactor.now());
}

TEST_F(ReflectorTest, StreamingListsReachTheStoreWhole) {
  start({});
  transport.headers();
  transport.data(line("ADDED", widget("a", 3)));
  EXPECT_FALSE(store.synced());
  transport.data(
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}})"
      "\n");
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(version_of("a"), "3");
  EXPECT_EQ(transport.opened, 1);
}

TEST_F(ReflectorTest, TroubleIsShownUntilItIsOver) {
  start(pages());
  transport.answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})");
  ASSERT_TRUE(reflector->status().trouble);
  EXPECT_TRUE(reflector->status().trouble->is_forbidden());
  reactor.advance(5s);
  transport.answer(200, list("", 5));
  EXPECT_FALSE(reflector->status().trouble);
}

TEST_F(ReflectorTest, AnUnreadableListIsNoList) {
  start(pages());
  transport.answer(200, "<html>login</html>");
  EXPECT_FALSE(store.synced());
  ASSERT_TRUE(reflector->status().trouble);
  reactor.advance(5s);
  EXPECT_EQ(transport.requests.size(), 2U);
}

TEST_F(ReflectorTest, AvailabilityIsToldOnceEachWay) {
  start(pages());
  for (int i = 0; i < 2; ++i) {
    transport.answer(404, "404 page not found\n");
    reactor.advance(20s);
  }
  transport.answer(200, list("", 5));
  EXPECT_EQ(available, (std::vector<bool>{false, true}));
  EXPECT_EQ(settled, 1) << "a required kind has to come first";
  EXPECT_TRUE(store.available());
}

TEST_F(ReflectorTest, AnOptionalKindThatIsMissingIsSettledAndMayComeAndGo) {
  ReflectorOptions options = pages();
  options.policy.optional = true;
  start(std::move(options));
  EXPECT_EQ(settled, 0);
  transport.answer(404, "404 page not found\n");
  EXPECT_EQ(settled, 1) << "reconcilers may start: nothing is going to come";
  EXPECT_FALSE(store.available());
  reactor.advance(20s);
  transport.answer(200, list(widget_json(*widget("a", 3)), 5));
  EXPECT_EQ(settled, 1);
  EXPECT_TRUE(store.available());
  Response gone;
  gone.status = 404;
  gone.body = "404 page not found\n";
  transport.post(transport.stream->closed(gone));
  EXPECT_TRUE(store.available()) << "one answer is no proof";
  for (int i = 0; i < 2; ++i) {
    reactor.advance(20s);
    transport.answer(404, "404 page not found\n");
  }
  EXPECT_FALSE(store.available());
  EXPECT_TRUE(store.synced());
}

TEST_F(ReflectorTest, NothingHappensAfterStop) {
  start(pages());
  transport.answer(200, list(widget_json(*widget("a", 3)), 10));
  transport.headers();
  // Decoded already, on its way to the reactor.
  reactor.post(transport.stream->data(line("DELETED", widget("a", 11))));
  reflector->stop();
  EXPECT_EQ(transport.closed, 1);
  reactor.run();
  EXPECT_EQ(version_of("a"), "3");
  EXPECT_EQ(reactor.timers(), 0U);
}

TEST_F(ReflectorTest, AnswersAfterItsDestructionAreIgnored) {
  start(pages());
  reflector.reset();
  transport.answer(200, list("", 10));
  EXPECT_FALSE(store.synced());
}

}  // namespace
}  // namespace kube::watch_test
