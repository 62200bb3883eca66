#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "sandbox/json.h"
#include "scenarios/child.h"
#include "scenarios/http.h"
#include "sequences/player.h"

namespace sequences {
namespace {

using sandbox::text_at;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// What MetalLB's log tells of its two workers. A pass over all Services that was asked for and has not begun, and a
// Service whose write failed and that has not been taken up again, wait.
class Log {
 public:
  explicit Log(const std::string& path) : in_(path) {}

  void read() {
    in_.clear();
    char buffer[1 << 14];
    while (in_.read(buffer, sizeof buffer), in_.gcount() > 0) {
      rest_.append(buffer, static_cast<std::size_t>(in_.gcount()));
      in_.clear();
      std::size_t from = 0;
      for (std::size_t end = 0; (end = rest_.find('\n', from)) != std::string::npos; from = end + 1)
        take(rest_.substr(from, end - from));
      rest_.erase(0, from);
    }
  }

  bool at_rest() const { return !pass_wanted_ && active_ == 0 && retries_.empty(); }
  // It has read a configuration, good or bad, and has been over all Services once if it was good.
  bool began() const { return unusable_ || passes_ > 0; }
  // How often it could not serve a Service and said so by an event.
  int refusals() const { return refusals_; }
  // Passes begun and Services written so far.
  int deeds() const { return passes_ + writes_; }
  // How often a worker ("ServiceReconciler") was through with a key; and how often it was at the last mark().
  int ends(const std::string& worker_and_key) const { return count(ends_, worker_and_key); }
  int ends_before(const std::string& worker_and_key) const { return count(marked_, worker_and_key); }
  void mark() { marked_ = ends_; }

 private:
  static int count(const std::map<std::string, int>& counts, const std::string& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  }
  void take(const std::string& line) {
    const auto parsed = sandbox::parse_json(line);
    if (!parsed || !parsed->is_object()) return;
    const auto& entry = parsed->get_object();
    const std::string controller(text_at(entry, {"controller"}));
    const std::string_view event = text_at(entry, {"event"});
    if (event == "serviceUpdated" && text_at(entry, {"msg"}) == "updated service object") ++writes_;
    if (text_at(entry, {"op"}) == "allocateIPs") ++refusals_;
    const std::string start(text_at(entry, {"start reconcile"}));
    const std::string end(text_at(entry, {"end reconcile"}));
    const bool pass = controller == "ServiceReconciler - reprocessAll";
    if (controller != "ServiceReconciler" && controller != "PoolReconciler" && !pass) return;
    if (event == "force service reload") pass_wanted_ = true;
    if (event == "failed to handle service" && text_at(entry, {"level"}) == "info")
      retries_.insert(std::string(text_at(entry, {"name"})));
    if (!text_at(entry, {"error"}).empty() && controller == "PoolReconciler") unusable_ = true;
    if (!start.empty()) {
      ++active_;
      retries_.erase(start);
      if (pass) {
        pass_wanted_ = false;
        ++passes_;
      }
    }
    if (!end.empty()) {
      --active_;
      ++ends_[controller + " " + end];
    }
  }

  std::ifstream in_;
  std::string rest_;
  bool pass_wanted_ = false;
  bool unusable_ = false;
  int active_ = 0;
  int passes_ = 0;
  int writes_ = 0;
  int refusals_ = 0;
  std::set<std::string> retries_;
  std::map<std::string, int> ends_;
  std::map<std::string, int> marked_;
};

class RealStage final : public Stage {
 public:
  RealStage(std::unique_ptr<scenarios::HttpClient> client, std::string plane, std::string binaries, std::string version,
            int port)
      : client_(std::move(client)),
        plane_(std::move(plane)),
        binaries_(std::move(binaries)),
        version_(std::move(version)),
        port_(port) {}

  base::Result<void> prepare() {
    send("POST", "/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"settle"}})");
    // a Service of a class that nobody serves: MetalLB takes it from its queue and lets it be
    const auto made =
        send("POST", "/api/v1/namespaces/settle/services",
             R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"tick"},"spec":{"type":"LoadBalancer",)"
             R"("loadBalancerClass":"nobody/s","ports":[{"port":80}]}})");
    if (!made || (made->status != 201 && made->status != 409)) return base::fail("cannot make the Service settle/tick");
    return {};
  }

  kube::Answer send(std::string_view method, std::string_view path, std::string_view body = {}) override {
    kube::Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    if (!body.empty()) request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
    return client_->send(request);
  }

  base::Result<void> start(const std::string& lb_class) override {
    stop();
    const std::string path = fmt::format("{}/sequences-{}-{}.log", plane_, version_, ++starts_);
    std::ofstream(path, std::ios::trunc).flush();  // there before the child is, for the reader
    std::vector<std::string> argv{binaries_ + "/metallb-controller-" + version_,
                                  "--namespace=metallb-system",
                                  "--kubeconfig=" + plane_ + "/metallb.kubeconfig",
                                  "--webhook-mode=disabled",
                                  fmt::format("--port={}", port_ + 3),
                                  "--log-level=info"};
    if (version_ != "0.15") argv.push_back(fmt::format("--health-probe-port={}", port_ + 4));
    if (!lb_class.empty()) argv.push_back("--lb-class=" + lb_class);
    lb_class_ = lb_class;
    deeds_ = -1;
    auto child = scenarios::Child::start(argv, path, {{"METALLB_POD_NAME", "controller"}});
    if (!child) return std::unexpected(child.error());
    child_ = std::move(*child);
    log_ = std::make_unique<Log>(path);
    if (auto began = wait([&] { return log_->began(); }, "MetalLB to begin"); !began) return began;
    return settle("");
  }

  void stop() override {
    if (child_) child_->kill();
    child_.reset();
    log_.reset();
  }

  // Two workers, each with a queue. The pool's worker must have ended with what was changed. Then the Service
  // settle/tick goes through the queue of the other, round after round: when it is through, everything written before
  // it has been handled (one watch brings all Services in the order of their writes, one worker takes them in that
  // order). Rest is a whole round in which MetalLB has written no Service and begun no pass, and at whose end nothing
  // waits.
  base::Result<void> settle(const std::string& configuration) override {
    if (!child_) return base::fail("MetalLB does not run");
    if (!configuration.empty()) {
      const std::string key = "PoolReconciler " + configuration;
      if (auto read = wait([&] { return log_->ends(key) > log_->ends_before(key); }, key); !read) return read;
    }
    const auto limit = steady_clock::now() + seconds(20);
    while (steady_clock::now() < limit) {
      const int deeds = deeds_;
      if (auto ticked = tick(); !ticked) return ticked;
      deeds_ = log_->deeds();
      if (log_->at_rest() && deeds == deeds_) {
        log_->mark();
        return {};
      }
    }
    return base::fail("MetalLB does not come to rest");
  }

  // MetalLB's events leave it in their order, so that the one of a Service that cannot be served is the last. If it
  // does not even say that, it has no pool, and has told nothing since it had one.
  base::Result<void> flush_events() override {
    const std::string name = fmt::format("flush-{}", ++flushes_);
    boost::json::object spec{{"type", "LoadBalancer"},
                             {"ports", boost::json::array{boost::json::object{{"port", 80}}}}};
    if (!lb_class_.empty()) spec["loadBalancerClass"] = lb_class_;
    const boost::json::object service{
        {"apiVersion", "v1"},
        {"kind", "Service"},
        {"metadata", {{"name", name}, {"annotations", {{"metallb.io/loadBalancerIPs", "none"}}}}},
        {"spec", spec}};
    const int before = log_->refusals();
    const auto made = send("POST", "/api/v1/namespaces/settle/services", sandbox::to_text(service));
    if (!made || made->status != 201) return base::fail("cannot make the Service settle/" + name);
    auto told = settle("");
    if (told && log_->refusals() > before) {
      told = wait(
          [&] {
            const auto events = send("GET", "/api/v1/namespaces/settle/events");
            return events && events->body.find("\"" + name + "\"") != std::string::npos;
          },
          "the event about settle/" + name);
    }
    send("DELETE", "/api/v1/namespaces/settle/services/" + name);
    send("DELETE", "/api/v1/namespaces/settle/events");
    return told;
  }

 private:
  template <typename Condition>
  base::Result<void> wait(Condition condition, const std::string& what) {
    const auto limit = steady_clock::now() + seconds(20);
    while (true) {
      log_->read();
      if (condition()) return {};
      if (!child_->running()) return base::fail("MetalLB ended: " + child_->ending());
      if (steady_clock::now() > limit) return base::fail("waited in vain for " + what);
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  base::Result<void> tick() {
    const std::string key = "ServiceReconciler settle/tick";
    log_->read();
    const int before = log_->ends(key);
    const auto patched = send("PATCH", "/api/v1/namespaces/settle/services/tick",
                              fmt::format(R"({{"metadata":{{"annotations":{{"tick":"{}"}}}}}})", ++ticks_));
    if (!patched || patched->status != 200) return base::fail("cannot patch settle/tick");
    return wait([&] { return log_->ends(key) > before; }, key);
  }

  std::unique_ptr<scenarios::HttpClient> client_;
  std::string plane_;
  std::string binaries_;
  std::string version_;
  int port_;
  std::string lb_class_;
  std::unique_ptr<scenarios::Child> child_;
  std::unique_ptr<Log> log_;
  int starts_ = 0;
  int ticks_ = 0;
  int deeds_ = 0;  // of MetalLB, until the last tick
  int flushes_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<Stage>> real_stage(const std::string& plane, const std::string& binaries,
                                                const std::string& version, const std::string& script, int port) {
  const std::string log = plane + "/sequences-plane.log";
  if (auto installed = scenarios::run_to_end({script, "metallb", plane, version}, log); !installed)
    return std::unexpected(installed.error());
  if (auto killed = scenarios::run_to_end({script, "kill", plane, "metallb"}, log); !killed)
    return std::unexpected(killed.error());
  auto client = scenarios::HttpClient::from_kubeconfig(plane + "/kubeconfig");
  if (!client) return std::unexpected(client.error());
  auto stage = std::make_unique<RealStage>(std::move(*client), plane, binaries, version, port);
  if (auto ready = stage->prepare(); !ready) return std::unexpected(ready.error());
  return stage;
}

}  // namespace sequences
