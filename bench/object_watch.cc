#include "object_watch.h"

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

class ObjectWatch::Receiver final : public kube::StreamReceiver {
 public:
  explicit Receiver(ObjectWatch& owner) : owner_(owner) {}

  base::Task opened() override { return {}; }

  base::Task data(std::string_view bytes) override {
    buffer_ += bytes;
    std::vector<std::pair<std::string, int>> seen;
    std::size_t start = 0;
    for (std::size_t end = 0; (end = buffer_.find('\n', start)) != std::string::npos; start = end + 1) {
      const boost::json::value event = boost::json::parse(std::string_view(buffer_).substr(start, end - start));
      const std::string type = text_at(event, "/type");
      if (type == "BOOKMARK" && !text_at(event, "/object/metadata/annotations/k8s.io~1initial-events-end").empty()) {
        seen.emplace_back("", 0);
      }
      if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") continue;
      seen.emplace_back(text_at(event, "/object/metadata/namespace") + "/" + text_at(event, "/object/metadata/name"),
                        type == "DELETED" ? -1 : owner_.stage_(event.at("object")));
    }
    buffer_.erase(0, start);
    return [this, seen = std::move(seen)] {
      for (const auto& [key, stage] : seen) key.empty() ? owner_.drop_older() : owner_.seen(key, stage);
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
  ObjectWatch& owner_;
  std::string buffer_;
};

ObjectWatch::ObjectWatch(base::ThreadReactor& reactor, kube::Transport& transport, std::string path, Stage stage)
    : reactor_(reactor), transport_(transport), path_(std::move(path)), stage_(std::move(stage)) {
  open();
}

void ObjectWatch::open() {
  ++opening_;
  kube::Request request;
  request.path = path_;
  request.query = {{"watch", "true"},
                   {"sendInitialEvents", "true"},
                   {"resourceVersionMatch", "NotOlderThan"},
                   {"allowWatchBookmarks", "true"},
                   {"timeoutSeconds", "3600"}};
  stream_ = transport_.open(std::move(request), std::make_unique<Receiver>(*this), std::chrono::hours(1));
}

ObjectWatch::~ObjectWatch() { transport_.close(stream_); }

void ObjectWatch::seen(const std::string& key, int stage) {
  const auto at = objects_.try_emplace(key).first;
  if (at->second.stage >= 1) --reached_;
  if (stage >= 1) ++reached_;
  at->second = {stage, opening_};
  if (stage < 0) objects_.erase(at);
  if (done_ && done_()) reactor_.stop();
}

// The initial events are complete: what was not among them is gone.
void ObjectWatch::drop_older() {
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects_) {
    if (object.opening != opening_) gone.push_back(key);
  }
  for (const std::string& key : gone) seen(key, -1);
}

std::string ObjectWatch::why() const {
  return std::to_string(reached_) + " of the " + std::to_string(objects_.size()) + " that are there" +
         (objects_.empty() ? "" : ", " + objects_.begin()->first + " among them") +
         (ending_.empty() ? "" : "; the watch ended " + std::to_string(endings_) + " times, last with " + ending_);
}

bool ObjectWatch::wait(std::size_t count, base::Duration limit) {
  return run_until([this, count] { return reached_ >= count; }, limit);
}

bool ObjectWatch::wait_for(const std::string& key, int stage, base::Duration limit) {
  const auto reached = [this, &key, stage] {
    const auto found = objects_.find(key);
    return found != objects_.end() && found->second.stage >= stage;
  };
  return run_until(reached, limit);
}

bool ObjectWatch::wait_for_only(std::size_t count, base::Duration limit) {
  return run_until([this, count] { return objects_.size() <= count; }, limit);
}

bool ObjectWatch::run_until(std::function<bool()> done, base::Duration limit) {
  done_ = std::move(done);
  if (!done_()) {
    const base::MonoTime deadline = reactor_.now() + limit;
    const base::TimerId timer = reactor_.at(deadline, [this] { reactor_.stop(); });
    while (!done_() && reactor_.now() < deadline) reactor_.run();
    reactor_.cancel(timer);
  }
  return std::exchange(done_, {})();
}

ObjectWatch::Stage in_phase(std::string phase) {
  return [phase = std::move(phase)](const boost::json::value& object) {
    return text_at(object, "/status/phase") == phase ? 1 : 0;
  };
}

}  // namespace bench
