#include "phase_watch.h"

#include <boost/json/parse.hpp>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr int k_most_endings = 100;

std::string text_at(const boost::json::value& event, const char* pointer) {
  boost::system::error_code error;
  const boost::json::value* found = event.find_pointer(pointer, error);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

class PhaseWatch::Receiver final : public kube::StreamReceiver {
 public:
  explicit Receiver(PhaseWatch& owner) : owner_(owner) {}

  base::Task opened() override { return {}; }

  base::Task data(std::string_view bytes) override {
    buffer_ += bytes;
    std::vector<std::pair<std::string, bool>> seen;
    std::size_t start = 0;
    for (std::size_t end = 0; (end = buffer_.find('\n', start)) != std::string::npos; start = end + 1) {
      const boost::json::value event = boost::json::parse(std::string_view(buffer_).substr(start, end - start));
      const std::string name =
          text_at(event, "/object/metadata/namespace") + "/" + text_at(event, "/object/metadata/name");
      seen.emplace_back(
          name, text_at(event, "/type") != "DELETED" && text_at(event, "/object/status/phase") == owner_.phase_);
    }
    buffer_.erase(0, start);
    return [this, seen = std::move(seen)] {
      for (const auto& [name, reached] : seen) owner_.seen(name, reached);
    };
  }

  // A server under load ends watches that it cannot feed fast enough: begin again.
  base::Task closed(kube::Answer how) override {
    return [&owner = owner_, how = std::move(how)] {
      owner.ending_ = how ? std::to_string(how->status) + " " + how->body : how.error().message;
      if (++owner.endings_ < k_most_endings) owner.open();
    };
  }

 private:
  PhaseWatch& owner_;
  std::string buffer_;
};

PhaseWatch::PhaseWatch(base::ThreadReactor& reactor, kube::Transport& transport, std::string path, std::string phase)
    : reactor_(reactor), transport_(transport), path_(std::move(path)), phase_(std::move(phase)) {
  open();
}

void PhaseWatch::open() {
  kube::Request request;
  request.path = path_;
  request.query = {{"watch", "true"},
                   {"sendInitialEvents", "true"},
                   {"resourceVersionMatch", "NotOlderThan"},
                   {"allowWatchBookmarks", "true"},
                   {"timeoutSeconds", "3600"}};
  stream_ = transport_.open(std::move(request), std::make_unique<Receiver>(*this), std::chrono::hours(1));
}

PhaseWatch::~PhaseWatch() { transport_.close(stream_); }

void PhaseWatch::seen(const std::string& name, bool reached) {
  if (reached) {
    reached_.insert(name);
  } else {
    reached_.erase(name);
  }
  if (reached_.size() >= wanted_) reactor_.stop();
}

std::string PhaseWatch::why() const {
  return std::to_string(reached_.size()) + " are " + phase_ +
         (ending_.empty() ? "" : "; the watch ended " + std::to_string(endings_) + " times, last with " + ending_);
}

bool PhaseWatch::wait(std::size_t count, base::Duration limit) {
  wanted_ = count;
  if (reached_.size() < count) {
    const base::TimerId timer = reactor_.at(reactor_.now() + limit, [this] { reactor_.stop(); });
    const base::MonoTime deadline = reactor_.now() + limit;
    while (reached_.size() < count && reactor_.now() < deadline) reactor_.run();
    reactor_.cancel(timer);
  }
  wanted_ = static_cast<std::size_t>(-1);
  return reached_.size() >= count;
}

}  // namespace bench
