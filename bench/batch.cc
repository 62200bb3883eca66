#include "batch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bench {
namespace {

class Batch {
 public:
  Batch(base::ThreadReactor& reactor, kube::Transport& transport, std::size_t count,
        const std::function<kube::Request(std::size_t)>& make)
      : reactor_(reactor), transport_(transport), count_(count), make_(make) {}

  BatchResult run(std::size_t window) {
    const base::MonoTime start = reactor_.now();
    reactor_.post([this, window] {
      for (std::size_t i = 0; i < window; ++i) send_next();
      if (count_ == 0) reactor_.stop();
    });
    reactor_.run();
    result_.elapsed = reactor_.now() - start;
    std::ranges::sort(latencies_);
    if (!latencies_.empty()) {
      result_.p50 = latencies_[latencies_.size() / 2];
      result_.p99 = latencies_[latencies_.size() * 99 / 100];
    }
    return std::move(result_);
  }

 private:
  void send_next() {
    if (next_ == count_) return;
    const base::MonoTime sent = reactor_.now();
    transport_.send(make_(next_++), [this, sent](kube::Answer answer) -> base::Task {
      return [this, sent, answer = std::move(answer)] { answered(answer, sent); };
    });
  }

  void answered(const kube::Answer& answer, base::MonoTime sent) {
    latencies_.push_back(reactor_.now() - sent);
    if (!answer || answer->status >= 300) {
      if (result_.failed++ == 0) result_.first_failure = answer ? answer->body : answer.error().message;
    }
    if (latencies_.size() == count_) {
      reactor_.stop();
    } else {
      send_next();
    }
  }

  base::ThreadReactor& reactor_;
  kube::Transport& transport_;
  std::size_t count_;
  const std::function<kube::Request(std::size_t)>& make_;
  std::size_t next_ = 0;
  std::vector<base::Duration> latencies_;
  BatchResult result_;
};

}  // namespace

BatchResult run_batch(base::ThreadReactor& reactor, kube::Transport& transport, std::size_t count, std::size_t window,
                      const std::function<kube::Request(std::size_t)>& make) {
  return Batch(reactor, transport, count, make).run(std::min(window, std::max<std::size_t>(count, 1)));
}

}  // namespace bench
