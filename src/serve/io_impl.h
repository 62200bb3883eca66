// The event loop inside IoReactor. Internal to src/serve.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/timer_queue.h"
#include "serve/io_reactor.h"

namespace serve {

struct IoReactor::Impl {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  base::TimerQueue timers;
  boost::asio::steady_timer alarm{io};
  base::MonoTime armed = base::MonoTime::max();  // when the alarm rings

  void arm();
  void ring();
};

}  // namespace serve
