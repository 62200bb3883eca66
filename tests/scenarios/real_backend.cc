#include "scenarios/real_backend.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

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

// The first time it was carried out perhaps, and nobody heard the answer.
kube::Answer send_again(HttpClient& client, const kube::Request& request) {
  auto answer = client.send(request);
  if (answer && request.method == "DELETE" && answer->status == 404) answer->status = 200;
  if (!answer || request.method != "POST" || answer->status != 409) return answer;
  const json::value object = json::parse(request.body);
  boost::system::error_code error;
  const auto* name = object.find_pointer("/metadata/name", error);
  if (name == nullptr) return answer;
  kube::Request made;
  made.path = fmt::format("{}/{}", request.path, std::string_view(name->as_string()));
  return client.send(made);
}

}  // namespace

RealBackend::RealBackend(RealOptions options)
    : options_(std::move(options)),
      metallb_version_(options_.metallb),
      name_("metallb-" + options_.metallb),
      audit_(options_.plane + "/audit.log") {}

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
  if (auto granted = grant_rights(); !granted) return granted;
  return start(Process::metallb);  // which brings its definitions along
}

// With the namespaces that they are in.
base::Result<void> RealBackend::grant_rights() {
  Client client(*this);
  const json::object metallb{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", "metallb-system"}}}};
  if (auto made = client.apply({*resource_of("Namespace", {}), {}, "metallb-system"}, metallb); !made.accepted()) {
    return base::fail(made.message());
  }
  for (const auto* user : {"core", "driver"}) {
    if (auto applied = apply_file(fmt::format("{}/deploy/{}.yaml", options_.sources, user), user); !applied)
      return applied;
  }
  return {};
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
  auto answer = client->second->send(request);
  // Killed while somebody looked: it is back sooner than those who wait for it would notice.
  const bool unserved = !answer || answer->status >= 500;
  if (!unserved || !is_server_struck()) return answer;
  if (auto served = start(victim_); !served) return answer;
  return send_again(*client->second, request);
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

void RealBackend::let_pass(base::Duration time) {
  std::this_thread::sleep_for(time);
  start_what_lost_its_lease();
}

base::Result<void> RealBackend::wait_until(const std::string& what, base::Duration patience,
                                           const std::function<bool()>& reached) {
  constexpr auto look = milliseconds(20);
  for (base::Duration waited{}; waited < patience; waited += look) {
    if (reached()) return {};
    std::this_thread::sleep_for(look);
  }
  return base::fail(fmt::format("waited {} s for {}", std::chrono::duration_cast<seconds>(patience).count(), what));
}

// --- one scenario
// ------------------------------------------------------------------------------------------------------------------

base::Result<void> RealBackend::begin(const std::string&) {
  for (const auto& entry : fs::directory_iterator(options_.plane)) {
    if (entry.path().extension() == ".log") log_start_[entry.path()] = fs::file_size(entry.path());
  }
  (void)take_breaches();
  trap_.reset();
  interrupted_ = false;
  return {};
}

void RealBackend::end(const std::string& scenario, bool failed) {
  if (!failed) return;
  // The next one is not to suffer from what these remember, nor from what this one has taken and not put back.
  for (const auto process : {Process::core, Process::driver, Process::metallb}) (void)stop(process, true);
  if (sandbox_ == nullptr)
    (void)wait_until("the rights to be there", seconds(60), [&] { return grant_rights().has_value(); });
  if (options_.logs.empty()) return;
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
  // For a moment after its start an API server does not know yet who may do what.
  if (interrupted_) std::erase_if(found, [](const std::string& breach) { return breach.starts_with("forbidden:"); });
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
