#include "serve/io_reactor.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "serve/io_impl.h"

namespace serve {

IoReactor::IoReactor() : impl_(std::make_unique<Impl>()) {}
IoReactor::~IoReactor() { impl_->timers.clear(); }

void IoReactor::post(base::Task task) {
  boost::asio::post(impl_->io, [task = std::move(task)]() mutable { std::exchange(task, nullptr)(); });
}

base::TimerId IoReactor::at(base::MonoTime when, base::Task task) {
  const base::TimerId id = impl_->timers.add(when, std::move(task));
  impl_->arm();
  return id;
}

void IoReactor::cancel(base::TimerId timer) { impl_->timers.cancel(timer); }

void IoReactor::Impl::arm() {
  const auto next = timers.next();
  if (!next || *next >= armed) return;
  armed = *next;
  alarm.expires_at(armed);
  alarm.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled) ring();
  });
}

void IoReactor::Impl::ring() {
  armed = base::MonoTime::max();
  timers.run_due(std::chrono::steady_clock::now(), [this] { return !io.stopped(); });
  arm();
}

void IoReactor::run() {
  impl_->io.restart();
  impl_->io.run();
}

void IoReactor::stop() { impl_->io.stop(); }

}  // namespace serve
