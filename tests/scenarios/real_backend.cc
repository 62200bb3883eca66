#include "scenarios/real_backend.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "api/names.h"
#include "scenarios/resources.h"
#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Removes what a schema refuses objects by, so that anything can be stored.
void relax(json::value& schema) {
  if (auto* object = schema.if_object()) {
    for (std::string_view key : {"x-kubernetes-validations", "enum", "pattern", "minLength", "maxLength", "format"}) {
      const auto* member = object->if_contains(key);
      if (member && !member->is_object()) object->erase(key);  // a property may have such a name
    }
    for (auto& member : *object) relax(member.value());
  } else if (auto* list = schema.if_array()) {
    for (auto& item : *list) relax(item);
  }
}

// Binds what the manifest binds to a service account to the user of that controller too.
void bind_user(json::object& document, std::string_view user) {
  const auto* kind = document.if_contains("kind");
  if (!kind || !std::string_view(kind->as_string()).ends_with("RoleBinding")) return;
  document["subjects"].as_array().push_back(
      json::object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", user}});
}

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

RealBackend::RealBackend(RealOptions options)
    : options_(std::move(options)), name_("metallb-" + options_.metallb), audit_(options_.plane + "/audit.log") {}

base::Result<std::unique_ptr<RealBackend>> RealBackend::open(RealOptions options) {
  std::unique_ptr<RealBackend> backend(new RealBackend(std::move(options)));
  if (!backend->options_.sandbox.empty()) {
    if (auto started = backend->start_sandbox(); !started) return std::unexpected(started.error());
  }
  for (const auto& user : {"admin", "core", "driver", "metallb", "tenant"}) {
    const auto file =
        fmt::format("{}/{}", backend->options_.plane,
                    std::string_view(user) == "admin" ? "kubeconfig" : fmt::format("{}.kubeconfig", user));
    auto client = HttpClient::from_kubeconfig(file);
    if (!client) return base::fail(client.error().message);
    backend->clients_[user] = std::move(*client);
  }
  return backend;
}

RealBackend::~RealBackend() {
  for (auto& [process, child] : children_) child->end(seconds(5));
  if (metallb_running_) (void)kill_metallb();
  if (sandbox_ != nullptr) sandbox_->end(seconds(15));
}

base::Result<void> RealBackend::start_sandbox() {
  fs::create_directories(options_.plane);
  for (const auto* old : {"audit.log", "metallb.kubeconfig"}) fs::remove(fs::path(options_.plane) / old);
  auto child = Child::start({options_.sandbox, "--dir=" + options_.plane, "--without=core", "--without=driver",
                             "--without=metallb", "--audit-log-path=" + options_.plane + "/audit.log"},
                            options_.plane + "/sandbox.log");
  if (!child) return base::fail(child.error().message);
  sandbox_ = std::move(*child);
  const std::string last = options_.plane + "/metallb.kubeconfig";  // written when the server listens
  auto ready =
      wait_until("the sandbox to start", seconds(30), [&] { return fs::exists(last) || !sandbox_->running(); });
  if (!sandbox_->running()) return base::fail(fmt::format("the sandbox {}", sandbox_->ending()));
  return ready;
}

// The definitions are built into the sandbox, and it asks nobody for rights.
base::Result<void> RealBackend::prepare(bool with_controllers) {
  if (sandbox_ != nullptr) return with_controllers ? start(Process::metallb) : base::Result<void>();
  for (const auto& entry : fs::directory_iterator(options_.sources + "/crds")) {
    if (auto applied = apply_file(entry.path(), {}); !applied) return applied;
  }
  Client client(*this);
  for (const auto* kind : {"IPAddressClass", "IPAddress", "IPAddressClaim"}) {
    const Target target{*resource_of(kind, {}), {}, {}};
    auto served =
        wait_until(fmt::format("{} to be served", kind), seconds(20), [&] { return client.list(target).accepted(); });
    if (!served) return served;
  }
  if (!with_controllers) return {};
  const json::object metallb{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", "metallb-system"}}}};
  if (auto made = client.apply({*resource_of("Namespace", {}), {}, "metallb-system"}, metallb); !made.accepted()) {
    return base::fail(made.message());
  }
  for (const auto* user : {"core", "driver"}) {
    if (auto applied = apply_file(fmt::format("{}/deploy/{}.yaml", options_.sources, user), user); !applied)
      return applied;
  }
  return start(Process::metallb);  // which brings its definitions along
}

base::Result<void> RealBackend::apply_file(const std::string& path, std::string_view user) {
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  Client client(*this);
  for (auto& document : *documents) {
    auto& object = document.value.as_object();
    if (object["kind"] == "Deployment") continue;
    if (!user.empty()) bind_user(object, user);
    auto target = target_of(object, "default");
    if (!target) return base::fail(fmt::format("{}: {}", path, target.error().message));
    const Outcome outcome = client.apply(*target, object);
    if (!outcome.accepted()) return base::fail(fmt::format("{}: {}: {}", path, target->to_string(), outcome.message()));
  }
  return {};
}

kube::Answer RealBackend::send(std::string_view user, const kube::Request& request) {
  const auto client = clients_.find(user);
  if (client == clients_.end()) {
    return std::unexpected(
        kube::TransportError{kube::TransportError::Kind::credentials, fmt::format("no user {}", user), false});
  }
  return client->second->send(request);
}

base::Result<std::vector<json::value>> RealBackend::changes(const std::string& collection, const std::string& version) {
  kube::Request request;
  request.path = collection;
  request.query = {{"watch", "true"}, {"resourceVersion", version}, {"timeoutSeconds", "1"}};
  const auto answer = send("admin", request);
  if (!answer || answer->status != 200) return base::fail("the watch is refused");
  std::vector<json::value> events;
  std::string_view rest = answer->body;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end != 0) events.push_back(json::parse(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return events;
}

base::MonoTime RealBackend::now() const {
  return std::chrono::time_point_cast<base::Duration>(std::chrono::steady_clock::now());
}

void RealBackend::let_pass(base::Duration time) { std::this_thread::sleep_for(time); }

base::Result<void> RealBackend::wait_until(const std::string& what, base::Duration patience,
                                           const std::function<bool()>& reached) {
  for (const auto deadline = now() + patience; now() < deadline; let_pass(milliseconds(20))) {
    if (reached()) return {};
  }
  return base::fail(fmt::format("waited {} s for {}", std::chrono::duration_cast<seconds>(patience).count(), what));
}

// --- processes
// ---------------------------------------------------------------------------------------------------------------------

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
  if (process != Process::metallb) return start_controller(process);
  metallb_running_ = true;
  return start_metallb();
}

base::Result<void> RealBackend::start_metallb() {
  if (sandbox_ == nullptr) {
    std::vector<std::string> arguments{"metallb", options_.plane, options_.metallb};
    if (webhook_) arguments.emplace_back("--webhook");
    return plane(arguments);
  }
  auto child =
      Child::start({options_.sandbox, "part", "metallb", "--kubeconfig=" + options_.plane + "/metallb.kubeconfig",
                    "--metallb-version=" + options_.metallb},
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

base::Result<void> RealBackend::start_controller(Process process) {
  const bool core = process == Process::core;
  const int probes = options_.port == 0 ? free_port() : options_.port + (core ? 0 : 2);
  const int metrics_port = options_.port == 0 ? free_port() : probes + 1;
  std::vector<std::string> argv{
      fmt::format("{}/{}", options_.binaries, core ? "address-controller" : "metallb-iad"),
      fmt::format("--kubeconfig={}/{}.kubeconfig", options_.plane, to_string(process)),
      fmt::format("--health-probe-bind-address=127.0.0.1:{}", probes),
      fmt::format("--metrics-bind-address=127.0.0.1:{}", metrics_port),
      "--leader-elect",
      fmt::format("--leader-election-namespace={}", lease_of(process).ns),
      "--log-level=debug",
  };
  if (!core) argv.insert(argv.end(), driver_flags_.begin(), driver_flags_.end());
  auto child = Child::start(argv, log_of(process));
  if (!child) return base::fail(child.error().message);
  auto& started = children_[process] = std::move(*child);
  const auto readiness = HttpClient::plain(fmt::format("http://127.0.0.1:{}", probes));
  const auto metrics = HttpClient::plain(fmt::format("http://127.0.0.1:{}", metrics_port));
  auto ready = wait_until(fmt::format("{} to lead", to_string(process)), seconds(30), [&] {
    return !started->running() || (ask(*readiness, "/readyz") && leads(ask(*metrics, "/metrics").value_or("")));
  });
  if (!started->running())
    return base::fail(fmt::format("{} {}; see {}", to_string(process), started->ending(), log_of(process)));
  return ready;
}

base::Result<void> RealBackend::stop(Process process, bool kill) {
  if (!running(process)) return {};
  if (process == Process::metallb) {
    metallb_running_ = false;
    return kill_metallb();
  }
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

// --- one scenario
// ------------------------------------------------------------------------------------------------------------------

base::Result<void> RealBackend::begin(const std::string&) {
  for (const auto& entry : fs::directory_iterator(options_.plane)) {
    if (entry.path().extension() == ".log") log_start_[entry.path()] = fs::file_size(entry.path());
  }
  (void)take_breaches();
  return {};
}

void RealBackend::end(const std::string& scenario, bool failed) {
  if (!failed || options_.logs.empty()) return;
  const fs::path into = fs::path(options_.logs) / name_ / folder_name(scenario);
  fs::create_directories(into);
  for (const auto& entry : fs::directory_iterator(options_.plane)) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const auto from = log_start_.find(entry.path());
    if (from != log_start_.end()) in.seekg(static_cast<std::streamoff>(from->second));
    if (in.peek() == std::ifstream::traits_type::eof()) continue;
    std::ofstream(into / entry.path().filename(), std::ios::binary) << in.rdbuf();
  }
}

std::size_t RealBackend::position() {
  audit_.refresh();
  return audit_.writes().size();
}

std::vector<WriteRecord> RealBackend::writes(std::size_t from) {
  audit_.refresh();
  const auto& all = audit_.writes();
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())), all.end()};
}

std::vector<std::string> RealBackend::take_breaches() {
  audit_.refresh();
  auto found = audit_.take_breaches();
  for (const auto process : {Process::core, Process::driver}) {
    const auto child = children_.find(process);
    if (child == children_.end() || child->second->running()) continue;
    found.push_back(fmt::format("{} ended by itself: {}", to_string(process), child->second->ending()));
    children_.erase(child);
  }
  return found;
}

base::Result<void> RealBackend::store_unchecked(const json::object& object) {
  Client client(*this);
  json::object document = object;
  auto target = target_of(document, "default");
  if (!target) return base::fail(target.error().message);
  const Target crd{*resource_of("CustomResourceDefinition", {}),
                   {},
                   fmt::format("{}.{}", target->resource->plural, target->resource->group)};
  const json::value original = client.get(crd).body;
  json::value relaxed = original;
  relax(relaxed.at("spec").at("versions"));
  const auto replace = [&](json::value definition) {
    definition.at("metadata").at("resourceVersion") = client.get(crd).body.at("metadata").at("resourceVersion");
    return client.put(crd, definition);
  };
  if (auto outcome = replace(relaxed); !outcome.accepted()) return base::fail(outcome.message());
  Outcome stored;
  auto accepted = wait_until("the relaxed schema to be served", seconds(20), [&] {
    stored = client.create(*target, document);
    return stored.accepted();
  });
  if (accepted && document.contains("status")) {
    stored = client.merge_patch(*target, json::object{{"status", document["status"]}}, "status");
    if (!stored.accepted()) accepted = base::fail(stored.message());
  }
  if (auto outcome = replace(original); !outcome.accepted()) return base::fail(outcome.message());
  if (!accepted) return base::fail(fmt::format("{}: {}", accepted.error().message, stored.message()));
  document["metadata"].as_object()["name"] = "must-be-refused";
  document.erase("spec");
  return wait_until("the schema to be served again", seconds(20), [&] {
    return client.create({target->resource, target->ns, {}}, document, true).status == 422;
  });
}

}  // namespace scenarios
