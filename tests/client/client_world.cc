#include "client/client_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <sstream>

#include "client/kinds.h"
#include "cmd/inventory_command.h"
#include "kube/yaml.h"

namespace client::testing {
namespace {

class MemoryServer final : public Server {
 public:
  explicit MemoryServer(ClientWorld& world) : world_(world) {}

  kube::Answer call(kube::Request request) override {
    world_.requests.push_back(request.method + " " + request.path);
    if (world_.intercept) {
      if (auto answer = world_.intercept(request)) return std::move(*answer);
    }
    return world_.backend().send("admin", request);
  }
  kube::Answer stream(kube::Request request, const std::function<bool(std::string_view)>& line) override {
    // A stream that the test writes: its lines in the body.
    auto answer = call(std::move(request));
    if (!answer) return answer;
    std::istringstream lines(answer->body);
    for (std::string text; std::getline(lines, text);) {
      if (!line(text)) break;
    }
    answer->body.clear();
    return answer;
  }
  base::MonoTime now() const override { return world_.backend().now(); }
  base::WallTime wall() const override { return base::WallTime(std::chrono::seconds(0)); }
  void pause(base::Duration time) override { world_.backend().let_pass(time); }
  void catch_interrupt() override {}
  bool interrupted() const override { return false; }

 private:
  ClientWorld& world_;
};

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  bool quoted = false;
  bool begun = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      begun = true;
    } else if (c == ' ' && !quoted) {
      if (begun) out.push_back(std::move(word));
      word.clear();
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) out.push_back(std::move(word));
  return out;
}

}  // namespace

ClientWorld::ClientWorld() {
  auto backend = scenarios::MemoryBackend::open({.sources = SOURCE_DIR});
  if (!backend) throw std::runtime_error(backend.error().message);
  backend_ = std::move(*backend);
  using scenarios::Process;
  const auto started = backend_->run_only({Process::core, Process::driver, Process::metallb});
  if (!started) throw std::runtime_error(started.error().message);
}

Outcome ClientWorld::run(std::string_view line) {
  std::ostringstream out;
  std::ostringstream err;
  const auto connect = [this](const Connection&) -> base::Result<Connected> {
    return Connected{std::make_unique<MemoryServer>(*this), "default"};
  };
  const int status = client::run(
      words(line), {.version = "0", .out = out, .err = err, .connect = connect, .inventory = inventory_command});
  return {status, out.str(), err.str()};
}

std::string ClientWorld::ok(std::string_view line) {
  const Outcome outcome = run(line);
  EXPECT_EQ(outcome.status, 0) << line << "\n" << outcome.out << outcome.err;
  return outcome.out;
}

void ClientWorld::have(const std::string& yaml) {
  const auto documents = kube::parse_yaml(yaml);
  for (const json::value& value : documents.value()) {
    const json::object& object = value.get_object();
    kube::Request request;
    request.method = "POST";
    request.path = (*kind_of(object))->collection_path(text_at(object, {"metadata", "namespace"}));
    request.content_type = "application/json";
    request.body = json::serialize(object);
    const auto answer = backend_->send("admin", request);
    if (answer->status != 201) throw std::runtime_error(answer->body);
  }
  let_pass(std::chrono::seconds(1));
}

void ClientWorld::have_class(std::string_view policy) {
  have(fmt::format(R"(
apiVersion: local.sdn.cozystack.io/v1alpha1
kind: IPAddressClass
metadata: {{name: public, annotations: {{ipaddressclass.local.sdn.cozystack.io/is-default-class: 'true'}}}}
spec:
  provisioner: metallb.drivers.local.sdn.cozystack.io
  reclaimPolicy: {}
  parameters: {{addresses: [203.0.113.0/29, '2001:db8::/126']}}
)",
                   policy));
}

void ClientWorld::have_service(std::string_view name, std::string_view type, std::string_view family) {
  have(
      fmt::format("apiVersion: v1\nkind: Service\nmetadata: {{name: {}, namespace: default}}\n"
                  "spec: {{type: {}, ipFamilies: [{}], selector: {{app: web}}, ports: [{{port: 80}}]}}\n",
                  name, type, family));
}

std::string ClientWorld::get(const std::string& path) {
  kube::Request request;
  request.path = path;
  return backend_->send("admin", request)->body;
}

kube::Response forbidden(std::string_view what) {
  kube::Response response;
  response.status = 403;
  response.body = fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{} is forbidden","reason":"Forbidden","code":403}})",
      what);
  return response;
}

}  // namespace client::testing
