// The processes around the real control plane: both controllers, and MetalLB's.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "api/names.h"
#include "scenarios/real_backend.h"
#include "scenarios/resources.h"
#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// The body of a 200, nothing otherwise.
std::optional<std::string> ask(HttpClient& client, std::string_view path) {
  kube::Request request;
  request.path = path;
  auto answer = client.send(request);
  if (!answer || answer->status != 200) return std::nullopt;
  return std::move(answer->body);
}

std::uint64_t size_of(const std::string& log) { return fs::exists(log) ? fs::file_size(log) : 0; }

// Whether the metrics of a controller say that it is the leader.
bool leads(std::string_view metrics) {
  for (std::size_t at = 0; (at = metrics.find("\nleader_election_master_status{", at)) != std::string_view::npos;
       ++at) {
    const std::string_view line = metrics.substr(at + 1, metrics.find('\n', at + 1) - at - 1);
    if (line.ends_with(" 1")) return true;
  }
  return false;
}

// The numbers of a metric's series, by the series' labels.
std::vector<std::pair<std::string_view, double>> series_of(std::string_view metrics, std::string_view name) {
  std::vector<std::pair<std::string_view, double>> found;
  for (std::size_t from = 0; from < metrics.size();) {
    const std::size_t end = std::min(metrics.find('\n', from), metrics.size());
    const std::string_view line = metrics.substr(from, end - from);
    from = end + 1;
    const std::size_t value = line.rfind(' ');
    if (line.starts_with(name) && line.substr(name.size()).starts_with('{') && value != std::string_view::npos)
      found.emplace_back(line.substr(name.size(), value - name.size()),
                         std::strtod(std::string(line.substr(value + 1)).c_str(), nullptr));
  }
  return found;
}

// The version of the newest object of a kind; 0 if there is none, or it is not served.
double newest_version(Backend& backend, std::string_view kind) {
  const Outcome outcome = Client(backend).list({*resource_of(kind, {}), {}, {}});
  boost::system::error_code error;
  const auto* items = outcome.body.find_pointer("/items", error);
  double newest = 0;
  if (items == nullptr || !items->is_array()) return newest;
  for (const auto& item : items->get_array()) {
    const auto* version = item.find_pointer("/metadata/resourceVersion", error);
    if (version != nullptr) newest = std::max(newest, std::strtod(version->as_string().c_str(), nullptr));
  }
  return newest;
}

// One that nobody listens on just now.
int free_port() {
  boost::asio::io_context io;
  using boost::asio::ip::tcp;
  const tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

// As tests/real/plane calls it.
std::string program_of(Process process) { return process == Process::etcd ? "etcd" : "kube-apiserver"; }

Target lease_of(Process process) {
  const bool core = process == Process::core;
  return {*resource_of("Lease", {}), core ? "address-controller" : "metallb-iad-system",
          std::string(core ? api::core_lease : api::driver_lease)};
}

}  // namespace

std::string RealBackend::log_of(Process process) const {
  return fmt::format("{}/{}.log", options_.plane, to_string(process));
}

bool RealBackend::running(Process process) {
  if (process == Process::metallb) return metallb_running_;
  if (is_server(process)) return !down_.contains(process) && !(is_server_struck() && victim_ == process);
  const auto child = children_.find(process);
  return child != children_.end() && child->second->running();
}

// Only while the driver runs with that flag.
base::Result<void> RealBackend::grant_inventory(bool granted) {
  if (sandbox_ != nullptr || granted == inventory_granted_) return {};
  inventory_granted_ = granted;
  const std::string path = options_.sources + "/deploy/driver-inventory.yaml";
  if (granted) return apply_file(path, "driver");
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  Client client(*this);
  for (auto& document : *documents) {
    auto target = target_of(document.value.as_object(), "default");
    if (!target) return base::fail(target.error().message);
    if (const Outcome outcome = client.remove(*target); !outcome.accepted()) return base::fail(outcome.message());
  }
  return {};
}

base::Result<void> RealBackend::set_driver_flags(const std::vector<std::string>& flags) {
  if (flags == driver_flags_) return {};
  driver_flags_ = flags;
  if (auto granted = grant_inventory(std::ranges::find(flags, "--inventory") != flags.end()); !granted) return granted;
  return stop(Process::driver, false);
}

base::Result<void> RealBackend::set_webhook(bool on) {
  if (on == webhook_) return {};
  if (on && sandbox_ != nullptr) return base::fail("the sandbox has no webhook of MetalLB's");
  webhook_ = on;
  return stop(Process::metallb, false);
}

base::Result<void> RealBackend::set_metallb_version(const std::string& version) {
  const std::string wanted = version.empty() ? options_.metallb : version;
  if (wanted == metallb_version_) return {};
  metallb_version_ = wanted;
  return stop(Process::metallb, false);
}

base::Result<void> RealBackend::run_only(const std::vector<Process>& processes) {
  for (const auto process : {Process::core, Process::driver, Process::metallb}) {
    const bool wanted = std::ranges::find(processes, process) != processes.end();
    if (wanted == running(process)) continue;
    if (auto changed = wanted ? start(process) : stop(process, false); !changed) return changed;
  }
  return {};
}

base::Result<void> RealBackend::plane(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{options_.sources + "/tests/real/plane"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_to_end(argv, options_.plane + "/plane.log");
}

base::Result<void> RealBackend::start(Process process) {
  if (running(process)) return {};
  if (is_server(process)) return serve_again(process);
  if (process != Process::metallb) return start_controller(process, true);
  metallb_running_ = true;
  return start_metallb();
}

base::Result<void> RealBackend::start_metallb() {
  if (sandbox_ == nullptr) {
    std::vector<std::string> arguments{"metallb", options_.plane, metallb_version_};
    if (webhook_) arguments.emplace_back("--webhook");
    return plane(arguments);
  }
  auto child =
      Child::start({options_.sandbox, "part", "metallb", "--kubeconfig=" + options_.plane + "/metallb.kubeconfig",
                    "--metallb-version=" + metallb_version_},
                   log_of(Process::metallb));
  if (!child) return base::fail(child.error().message);
  sandbox_metallb_ = std::move(*child);
  return {};
}

base::Result<void> RealBackend::kill_metallb() {
  if (sandbox_ == nullptr) return plane({"kill", options_.plane, "metallb"});
  sandbox_metallb_.reset();
  return {};
}

std::vector<std::string> RealBackend::command_of(Process process, int probes, int metrics) const {
  const bool core = process == Process::core;
  std::vector<std::string> argv{
      fmt::format("{}/{}", options_.binaries, core ? "address-controller" : "metallb-iad"),
      fmt::format("--kubeconfig={}/{}.kubeconfig", options_.plane, to_string(process)),
      fmt::format("--health-probe-bind-address=127.0.0.1:{}", probes),
      fmt::format("--metrics-bind-address=127.0.0.1:{}", metrics),
      "--leader-elect",
      fmt::format("--leader-election-namespace={}", lease_of(process).ns),
      "--log-level=debug",
  };
  if (!core) argv.insert(argv.end(), driver_flags_.begin(), driver_flags_.end());
  return argv;
}

base::Result<void> RealBackend::start_controller(Process process, bool to_lead) {
  const int probes = options_.port == 0 ? free_port() : options_.port + (process == Process::core ? 0 : 2);
  const int metrics_port = options_.port == 0 ? free_port() : probes + 1;
  said_before_[process] = size_of(log_of(process));
  auto child = Child::start(command_of(process, probes, metrics_port), log_of(process));
  if (!child) return base::fail(child.error().message);
  auto& started = children_[process] = std::move(*child);
  metrics_[process] = metrics_port;
  const auto readiness = HttpClient::plain(fmt::format("http://127.0.0.1:{}", probes));
  const auto metrics = HttpClient::plain(fmt::format("http://127.0.0.1:{}", metrics_port));
  auto ready = wait_until(fmt::format("{} to {}", to_string(process), to_lead ? "lead" : "be ready"), seconds(30), [&] {
    if (!started->running()) return true;
    return ask(*readiness, "/readyz") && (!to_lead || leads(ask(*metrics, "/metrics").value_or("")));
  });
  if (!started->running())
    return base::fail(fmt::format("{} {}; see {}", to_string(process), started->ending(), log_of(process)));
  return ready;
}

// Their metrics are half a second old at most.
std::string RealBackend::unrest() {
  for (const auto process : {Process::core, Process::driver}) {
    if (!running(process)) continue;
    const auto client = HttpClient::plain(fmt::format("http://127.0.0.1:{}", metrics_[process]));
    const std::string metrics = ask(*client, "/metrics").value_or("");
    for (const auto* name : {"workqueue_depth", "workqueue_unfinished_work_seconds"}) {
      for (const auto& [labels, value] : series_of(metrics, name)) {
        if (value > 0) return fmt::format("{} is at work: {}{}", to_string(process), name, labels);
      }
    }
    const auto versions = series_of(metrics, "informer_store_resource_version");
    for (const auto* kind : {"Service", "IPAddress", "IPAddressClaim"}) {
      const std::string label = fmt::format("resource=\"{}\"", (*resource_of(kind, {}))->plural);
      for (const auto& [labels, value] : versions) {
        if (labels.find(label) != std::string_view::npos && value < newest_version(*this, kind))
          return fmt::format("{} has not seen every {} yet", to_string(process), kind);
      }
    }
  }
  return {};
}

base::Result<void> RealBackend::start_behind(Process process) { return start_controller(process, false); }

base::Result<void> RealBackend::start_refused(Process process, const std::string& words) {
  const auto begin = size_of(log_of(process));
  auto child = Child::start(command_of(process, free_port(), free_port()), log_of(process));
  if (!child) return base::fail(child.error().message);
  auto ended = wait_until(fmt::format("{} to end by itself", to_string(process)), seconds(30),
                          [&] { return !(*child)->running(); });
  if (!ended) return ended;
  if (said_since(process, begin).find(words) == std::string::npos)
    return base::fail(fmt::format("{} {} without the words \"{}\"", to_string(process), (*child)->ending(), words));
  return {};
}

base::Result<void> RealBackend::drain(Process process) {
  std::vector<std::string> argv = command_of(process, free_port(), free_port());
  argv.emplace_back("--drain");
  return run_to_end(argv, log_of(process));
}

std::string RealBackend::said_since(Process process, std::uint64_t position) const {
  std::ifstream in(log_of(process), std::ios::binary);
  in.seekg(static_cast<std::streamoff>(position));
  return {std::istreambuf_iterator<char>(in), {}};
}

base::Result<void> RealBackend::kill_after(Process writer, std::size_t writes, Process victim) {
  trap_.reset();
  victim_ = victim;
  struck_ = false;
  if (writes == 0 || !running(writer)) return {};
  if (is_server(victim) && sandbox_ != nullptr) return base::fail("the sandbox keeps nothing when it is killed");
  pid_t pid = 0;
  if (is_server(victim)) {
    std::ifstream(fmt::format("{}/{}.pid", options_.plane, program_of(victim))) >> pid;
    if (pid <= 0) return base::fail(fmt::format("{} is not known to run", to_string(victim)));
  } else {
    pid = children_.at(victim)->pid();
  }
  trap_ = std::make_unique<WriteTrap>(options_.plane + "/audit.log", std::string(to_string(writer)), writes, pid);
  return {};
}

bool RealBackend::is_server_struck() const { return trap_ != nullptr && trap_->has_struck() && is_server(victim_); }

base::Result<void> RealBackend::serve_again(Process part) {
  if (is_server_struck()) {
    struck_ = true;
    trap_.reset();
  }
  interrupted_ = true;
  down_.erase(part);
  if (auto served = plane({part == Process::etcd ? "restart-etcd" : "restart-api", options_.plane}); !served)
    return served;
  start_what_lost_its_lease();
  return {};
}

void RealBackend::start_what_lost_its_lease() {
  if (!interrupted_ || !down_.empty()) return;
  for (const auto process : {Process::core, Process::driver}) {
    const auto child = children_.find(process);
    if (child == children_.end() || child->second->running()) continue;
    if (said_since(process, said_before_[process]).find("Leadership is lost") == std::string::npos) continue;
    children_.erase(child);
    (void)start_controller(process, true);  // if it does not come up the scenario will say so
  }
}

base::Result<void> RealBackend::stop(Process process, bool kill) {
  if (process == Process::metallb) {
    if (std::exchange(metallb_running_, false)) return kill_metallb();
    return {};
  }
  if (is_server(process)) {
    if (sandbox_ != nullptr) return base::fail("the sandbox keeps nothing when it is killed");
    if (!running(process)) return {};
    down_.insert(process);
    return plane({"kill", options_.plane, program_of(process)});
  }
  if (!children_.contains(process)) return {};
  if (victim_ == process) trap_.reset();
  auto& child = children_.at(process);
  bool clean = true;
  if (kill) {
    child->kill();
    Client(*this).remove(lease_of(process));  // as if it had run out: scenarios need not wait for that
  } else {
    clean = child->end(seconds(15));
  }
  const std::string ending = child->ending();
  children_.erase(process);
  if (!clean) return base::fail(fmt::format("{} did not end cleanly: {}", to_string(process), ending));
  return {};
}

}  // namespace scenarios
