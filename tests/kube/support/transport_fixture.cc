#include "kube/support/transport_fixture.h"

#include <stdexcept>

#include "base/log.h"
#include "kube/curl_transport.h"

namespace kube::test {
namespace {

class Recorder : public StreamReceiver {
 public:
  explicit Recorder(std::shared_ptr<Recording> recording) : recording_(std::move(recording)) {}
  base::Task opened() override {
    return [recording = recording_] { recording->opened = true; };
  }
  base::Task data(std::string_view bytes) override {
    return [recording = recording_, text = std::string(bytes)] { recording->data += text; };
  }
  base::Task closed(Answer how) override {
    return [recording = recording_, how = std::move(how)]() mutable {
      ++recording->closings;
      recording->closed = std::move(how);
    };
  }

 private:
  std::shared_ptr<Recording> recording_;
};

}  // namespace

void CountingObserver::done(const RequestReport& report) {
  const std::lock_guard lock(mutex_);
  ++counts_[std::string(report.method) + " " + std::to_string(report.code)];
  reports_.push_back(report);
  reports_.back().method = reports_.back().host = reports_.back().path = {};
}

void CountingObserver::retried(std::string_view method, std::string_view, int code) {
  const std::lock_guard lock(mutex_);
  ++counts_["retry " + std::string(method) + " " + std::to_string(code)];
}

void CountingObserver::reloaded(std::string_view what, std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++counts_[std::string(what) + " " + std::string(result)];
}

void CountingObserver::exec_call(int, std::string_view status) {
  const std::lock_guard lock(mutex_);
  ++counts_["exec " + std::string(status)];
}

int CountingObserver::count(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(what);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<RequestReport> CountingObserver::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

TransportFixture::TransportFixture() {
  base::log::configure(base::log::Level::info, base::log::Format::text);  // whatever other tests have chosen
  options.user_agent = "kube_test/1 (linux/amd64) kubernetes/0";
  options.observer = observer;
}

TransportFixture::~TransportFixture() = default;

Transport& TransportFixture::connect(ClientConfig config) {
  auto made = make_transport(std::move(config), reactor, options);
  if (!made) throw std::runtime_error(made.error().message);
  transport_ = std::move(*made);
  return *transport_;
}

Transport& TransportFixture::connect(const std::string& url, const std::string& ca) {
  ClientConfig config;
  config.server = url;
  config.tls.ca_data = ca;
  return connect(std::move(config));
}

bool TransportFixture::run_until(const std::function<bool()>& condition, base::Duration limit) {
  const base::MonoTime end = reactor.now() + limit;
  bool reached = condition();
  std::function<void()> check = [&] {
    reached = condition();
    if (reached || reactor.now() >= end) return reactor.stop();
    reactor.at(reactor.now() + milliseconds(1), [&] { check(); });
  };
  if (reached) return true;
  reactor.post([&] { check(); });
  reactor.run();
  return reached;
}

void TransportFixture::run_for(base::Duration time) {
  reactor.at(reactor.now() + time, [this] { reactor.stop(); });
  reactor.run();
}

std::shared_ptr<std::optional<Answer>> TransportFixture::begin(Request request) {
  auto answer = std::make_shared<std::optional<Answer>>();
  transport_->send(std::move(request), [answer](Answer got) -> base::Task {
    return [answer, got = std::move(got)]() mutable { *answer = std::move(got); };
  });
  return answer;
}

Answer TransportFixture::call(Request request) {
  const auto answer = begin(std::move(request));
  if (!run_until([&] { return answer->has_value(); })) throw std::runtime_error("no answer");
  return std::move(**answer);
}

Answer TransportFixture::get(const std::string& path, base::Duration timeout) {
  return call({.path = path, .timeout = timeout});
}

Answer TransportFixture::write(const std::string& method, const std::string& path, base::Duration timeout) {
  return call({.method = method, .path = path, .content_type = "application/json", .body = "{}", .timeout = timeout});
}

std::shared_ptr<Recording> TransportFixture::watch(const std::string& path, base::Duration idle,
                                                   base::Duration header_timeout, StreamId* id) {
  auto recording = std::make_shared<Recording>();
  const StreamId opened = transport_->open({.path = path, .query = {{"watch", "true"}}, .timeout = header_timeout},
                                           std::make_unique<Recorder>(recording), idle);
  if (id != nullptr) *id = opened;
  return recording;
}

const SharedTls& SharedTls::get() {
  static const SharedTls tls;
  return tls;
}

}  // namespace kube::test
