#include "base/epoll_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace base {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

struct Pipe {
  std::array<int, 2> fds{};
  Pipe() { EXPECT_EQ(pipe(fds.data()), 0); }
  ~Pipe() {
    close(fds[0]);
    close(fds[1]);
  }
  int out() const { return fds[0]; }
  void put(char c) const { EXPECT_EQ(write(fds[1], &c, 1), 1); }
  char get() const {
    char c = 0;
    EXPECT_EQ(read(fds[0], &c, 1), 1);
    return c;
  }
};

TEST(EpollReactor, CallsBackForReadableDescriptorsUntilUnwatched) {
  EpollReactor reactor;
  Pipe pipe;
  std::vector<char> got;
  reactor.watch(pipe.out(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_TRUE(events & EPOLLIN);
    got.push_back(pipe.get());
    if (got.size() == 2) {
      reactor.unwatch(pipe.out());
      pipe.put('c');
      reactor.at(reactor.now() + milliseconds(5), [&] { reactor.stop(); });
    } else {
      pipe.put('b');
    }
  });
  reactor.post([&] { pipe.put('a'); });
  reactor.run();
  EXPECT_THAT(got, ElementsAre('a', 'b'));
}

TEST(EpollReactor, PostsFromOtherThreadsWakeIt) {
  EpollReactor reactor;
  int count = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        reactor.post([&] {
          if (++count == 20000) reactor.stop();
        });
      }
    });
  }
  reactor.run();
  EXPECT_EQ(count, 20000);
}

TEST(EpollReactor, TimersRunInOrderAndNotEarly) {
  EpollReactor reactor;
  std::vector<int> order;
  const MonoTime start = reactor.now();
  const TimerId dropped = reactor.at(start + milliseconds(1), [&] { order.push_back(0); });
  reactor.at(start + milliseconds(4), [&] {
    order.push_back(2);
    EXPECT_GE(reactor.now() - start, milliseconds(4));
    reactor.stop();
  });
  reactor.at(start + milliseconds(2), [&] { order.push_back(1); });
  reactor.cancel(dropped);
  reactor.run();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(EpollReactor, ACallbackMayReplaceItself) {
  EpollReactor reactor;
  Pipe pipe;
  int first = 0;
  int second = 0;
  reactor.watch(pipe.out(), EPOLLIN, [&](std::uint32_t) {
    ++first;
    reactor.watch(pipe.out(), EPOLLIN, [&](std::uint32_t) {
      ++second;
      pipe.get();
      reactor.stop();
    });
  });
  pipe.put('x');
  reactor.run();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

}  // namespace
}  // namespace base
