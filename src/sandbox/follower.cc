#include "sandbox/follower.h"

#include <boost/json/array.hpp>
#include <set>
#include <utility>
#include <vector>

namespace sandbox {
namespace {

constexpr auto retry_delay = std::chrono::milliseconds(500);
constexpr auto idle_limit = std::chrono::seconds(150);

std::string key_of(const json::object& object) {
  std::string key(text_at(object, {"metadata", "namespace"}));
  if (!key.empty()) key += '/';
  return key.append(text_at(object, {"metadata", "name"}));
}

}  // namespace

class Follower::Stream final : public kube::StreamReceiver {
 public:
  Stream(Follower& follower, std::shared_ptr<bool> alive) : follower_(follower), alive_(std::move(alive)) {}
  base::Task opened() override { return {}; }
  base::Task data(std::string_view bytes) override {
    buffer_ += bytes;
    std::vector<json::object> events;
    for (std::size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n')) {
      if (auto event = parse_json(std::string_view(buffer_).substr(0, end)); event && event->is_object()) {
        events.push_back(std::move(event->get_object()));
      }
      buffer_.erase(0, end + 1);
    }
    return [this, alive = alive_, events = std::move(events)] {
      if (!*alive) return;
      for (const json::object& event : events) {
        if (follower_.apply(event)) continue;
        follower_.transport_.close(std::exchange(follower_.stream_, kube::StreamId::none));
        return follower_.again();
      }
    };
  }
  base::Task closed(kube::Answer how) override {
    // a regular end: the next watch goes on where this one stopped
    const bool regular = how && how->status == 200;
    return [this, alive = alive_, regular] {
      if (!*alive) return;
      follower_.stream_ = kube::StreamId::none;
      return regular ? follower_.watch() : follower_.again();
    };
  }

 private:
  Follower& follower_;
  std::shared_ptr<bool> alive_;
  std::string buffer_;
};

Follower::Follower(base::Reactor& reactor, kube::Transport& transport, std::string path,
                   std::function<void(const std::string&)> changed)
    : reactor_(reactor), transport_(transport), path_(std::move(path)), changed_(std::move(changed)) {
  list();
}

Follower::~Follower() {
  *alive_ = false;
  reactor_.cancel(retry_);
  transport_.close(stream_);
}

Follower::Document Follower::get(const std::string& key) const {
  const auto found = documents_.find(key);
  return found == documents_.end() ? nullptr : found->second;
}

void Follower::again() {
  reactor_.cancel(retry_);
  retry_ = reactor_.at(reactor_.now() + retry_delay, [this] { list(); });
}

void Follower::list() {
  kube::Request request;
  request.path = path_;
  transport_.send(std::move(request), [this, alive = alive_](kube::Answer answer) -> base::Task {
    auto body = answer && answer->status == 200 ? parse_json(answer->body) : base::fail("");
    return [this, alive, body = std::move(body)] {
      if (!*alive) return;
      if (!body || !body->is_object()) return again();
      replace(body->get_object());
      watch();
    };
  });
}

void Follower::replace(const json::object& list) {
  std::set<std::string> changed;
  for (const auto& [key, document] : documents_) changed.insert(key);
  Documents fresh;
  if (const json::array* items = array_at(list, {"items"})) {
    for (const json::value& item : *items) {
      const std::string key = key_of(item.as_object());
      const auto known = documents_.find(key);
      if (known != documents_.end() && same(*known->second, item)) changed.erase(key);
      if (known == documents_.end()) changed.insert(key);
      fresh.emplace(key, std::make_shared<const json::object>(item.as_object()));
    }
  }
  documents_ = std::move(fresh);
  version_ = text_at(list, {"metadata", "resourceVersion"});
  synced_ = true;
  for (const std::string& key : changed) changed_(key);
  if (changed.empty()) changed_({});
}

void Follower::watch() {
  kube::Request request;
  request.path = path_;
  request.query = {{"watch", "true"}, {"allowWatchBookmarks", "true"}, {"resourceVersion", version_}};
  stream_ = transport_.open(std::move(request), std::make_unique<Stream>(*this, alive_), idle_limit);
}

bool Follower::apply(const json::object& event) {
  const std::string_view type = text_at(event, {"type"});
  const json::object* object = object_at(event, {"object"});
  if (object == nullptr || type == "ERROR") return false;
  version_ = text_at(*object, {"metadata", "resourceVersion"});
  if (type == "BOOKMARK") return true;
  const std::string key = key_of(*object);
  if (type == "DELETED") {
    documents_.erase(key);
  } else {
    documents_[key] = std::make_shared<const json::object>(*object);
  }
  changed_(key);
  return true;
}

}  // namespace sandbox
