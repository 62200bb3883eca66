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

// Whether the metrics of a controller say that it is the leader.
bool leads(std::string_view metrics) {
  for (std::size_t at = 0; (at = metrics.find("\nleader_election_master_status{", at)) != std::string_view::npos;
       ++at) {
    const std::string_view line = metrics.substr(at + 1, metrics.find('\n', at + 1) - at - 1);
    if (line.ends_with(" 1")) return true;
  }
  return false;
}

// One that nobody listens on just now.
int free_port() {
  boost::asio::io_context io;
  using boost::asio::ip::tcp;
  const tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

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
  auto child = Child::start(command_of(process, probes, metrics_port), log_of(process));
  if (!child) return base::fail(child.error().message);
  auto& started = children_[process] = std::move(*child);
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

base::Result<void> RealBackend::start_behind(Process process) { return start_controller(process, false); }

base::Result<void> RealBackend::start_refused(Process process, const std::string& words) {
  const std::string log = log_of(process);
  const auto begin = fs::exists(log) ? fs::file_size(log) : 0;
  auto child = Child::start(command_of(process, free_port(), free_port()), log);
  if (!child) return base::fail(child.error().message);
  auto ended = wait_until(fmt::format("{} to end by itself", to_string(process)), seconds(30),
                          [&] { return !(*child)->running(); });
  if (!ended) return ended;
  std::ifstream in(log, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(begin));
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  if (said.find(words) == std::string::npos)
    return base::fail(fmt::format("{} {} without the words \"{}\"", to_string(process), (*child)->ending(), words));
  return {};
}

base::Result<void> RealBackend::drain(Process process) {
  std::vector<std::string> argv = command_of(process, free_port(), free_port());
  argv.emplace_back("--drain");
  return run_to_end(argv, log_of(process));
}

void RealBackend::kill_after(Process process, std::size_t writes) {
  trap_.reset();
  if (writes == 0 || !running(process)) return;
  trap_ = std::make_unique<WriteTrap>(options_.plane + "/audit.log", std::string(to_string(process)), writes,
                                      children_.at(process)->pid());
}

base::Result<void> RealBackend::stop(Process process, bool kill) {
  if (process == Process::metallb) {
    if (std::exchange(metallb_running_, false)) return kill_metallb();
    return {};
  }
  if (!children_.contains(process)) return {};
  trap_.reset();
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
