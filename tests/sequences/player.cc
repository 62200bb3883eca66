#include "sequences/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <sstream>
#include <vector>

#include "sandbox/json.h"

namespace sequences {
namespace {

namespace json = boost::json;
using sandbox::array_at;
using sandbox::parse_json;
using sandbox::text_at;

constexpr std::string_view pools_path = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools";
constexpr std::string_view namespaces[] = {"a", "b"};

std::string in_namespace(std::string_view ns, std::string_view collection) {
  return fmt::format("/api/v1/namespaces/{}/{}", ns, collection);
}

// MetalLB names the sharers of an address in no particular order.
std::string ordered(const std::string& line) {
  constexpr std::string_view marker = "address also in use by ";
  const std::size_t at = line.find(marker);
  if (at == std::string::npos) return line;
  std::set<std::string> names;
  std::istringstream rest(line.substr(at + marker.size()));
  for (std::string name; std::getline(rest, name, ',');) names.insert(name);
  return fmt::format("{}{}", line.substr(0, at + marker.size()), fmt::join(names, ","));
}

// One line of a sequence.
struct Step {
  std::string verb;  // "make" for a line that begins with a kind
  std::string kind;  // "service", "pool" or "namespace"; "" for the controller
  std::string ns;    // of a Service
  std::string name;  // or the class
  json::object body;
  std::string path() const {
    if (kind == "pool") return fmt::format("{}/{}", pools_path, name);
    if (kind == "namespace") return "/api/v1/namespaces/" + name;
    return in_namespace(ns, "services") + "/" + name;
  }
};

base::Result<Step> parse_step(const std::string& line) {
  Step step;
  std::istringstream in(line);
  std::string rest;
  in >> step.verb;
  if (step.verb == "stop" || step.verb == "start" || step.verb == "restart") {
    in >> step.name;
    return step;
  }
  if (step.verb == "patch" || step.verb == "delete" || step.verb == "status") {
    in >> step.kind;
  } else {
    step.kind = std::exchange(step.verb, "make");
  }
  in >> step.name;
  std::getline(in, rest);
  if (const std::size_t slash = step.name.find('/'); slash != std::string::npos) {
    step.ns = step.name.substr(0, slash);
    step.name.erase(0, slash + 1);
  }
  const bool known = step.kind == "pool" || step.kind == "namespace" || step.kind == "service";
  if (!known || step.name.empty() || (step.kind == "service") == step.ns.empty())
    return base::fail("this is neither \"service ns/name\" nor a pool nor a namespace");
  if (step.verb == "delete") return step;
  const auto body = parse_json(rest);
  if (!body || !body->is_object()) return base::fail("after the name there must be a JSON object");
  step.body = body->get_object();
  return step;
}

class Play {
 public:
  explicit Play(Stage& stage) : stage_(stage) {}

  // Ends with a controller that runs, serves Services without a class and has come to rest.
  base::Result<void> clean() {
    for (const std::string_view ns : namespaces) {
      for (const json::object& service : list(in_namespace(ns, "services")))
        remove(in_namespace(ns, "services"), service);
    }
    std::string last;
    for (const json::object& pool : list(pools_path)) {
      remove(pools_path, pool);
      last = fmt::format("metallb-system/{}", text_at(pool, {"metadata", "name"}));
    }
    if (auto settled = stage_.settle(last); !settled) {
      if (auto started = stage_.start(""); !started) return started;
    }
    for (const std::string_view ns : namespaces) {
      send("DELETE", in_namespace(ns, "events"));
      if (auto ready = prepare_namespace(ns); !ready) return ready;
    }
    return {};
  }

  base::Result<Outcome> run(const Sequence& sequence) {
    for (const std::string& line : sequence.lines) {
      ++number_;
      const auto step = parse_step(line);
      const auto done = step ? act(*step) : std::unexpected(step.error());
      if (!done) return base::fail(fmt::format("step {}: {}", number_, done.error().message));
      read_services();
    }
    if (running_) {
      if (auto flushed = stage_.flush_events(); !flushed) return std::unexpected(flushed.error());
    }
    read_events();
    if (running_ && lb_class_.empty()) clean_end_ = true;
    return std::move(outcome_);
  }
  // The controller can go on with another sequence.
  bool clean_end() const { return clean_end_; }

 private:
  base::Result<void> act(const Step& step) {
    const bool ends = step.verb == "stop" || step.verb == "restart";
    // MetalLB tells nothing any more when it has ended or has no pool
    if (running_ && (ends || (step.verb == "delete" && step.kind == "pool"))) {
      if (auto flushed = stage_.flush_events(); !flushed) return flushed;
    }
    if (ends) stage_.stop();
    if (step.verb == "stop") running_ = false;
    if (step.verb == "start" || step.verb == "restart") {
      running_ = true;
      lb_class_ = step.name;
      return stage_.start(step.name);
    }
    if (step.verb == "stop") return {};
    const kube::Answer answer =
        step.verb == "make"     ? send("POST", step.path().substr(0, step.path().rfind('/')), document_of(step))
        : step.verb == "delete" ? send("DELETE", step.path())
                                : send("PATCH", step.path() + (step.verb == "status" ? "/status" : ""), step.body);
    if (!answer) return base::fail(answer.error().message);
    if (answer->status >= 300) outcome_.insert(fmt::format("{:02} | refused | {}", number_, answer->status));
    const bool read_again = answer->status < 300 && step.kind != "service" && looks_new(step, answer->body);
    if (!running_) return {};
    return stage_.settle(!read_again ? "" : (step.kind == "pool" ? "metallb-system/" : "/") + step.name);
  }

  static json::object document_of(const Step& step) {
    json::object body = step.body;
    const bool pool = step.kind == "pool";
    body["apiVersion"] = pool ? "metallb.io/v1beta1" : "v1";
    body["kind"] = pool ? "IPAddressPool" : "Service";
    json::object& metadata = sandbox::make_object(body, {"metadata"});
    metadata["name"] = step.name;
    metadata["namespace"] = pool ? "metallb-system" : step.ns;
    if (pool) return body;
    json::object& spec = sandbox::make_object(body, {"spec"});
    spec.emplace("type", "LoadBalancer");
    spec.emplace("ports", json::array{json::object{{"name", "one"}, {"port", 80}}});
    return body;
  }

  base::Result<void> prepare_namespace(std::string_view ns) {
    const json::object metadata{{"name", ns}, {"labels", {{"kubernetes.io/metadata.name", ns}, {"which", ns}}}};
    const json::object wanted{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", metadata}};
    const std::string path = fmt::format("/api/v1/namespaces/{}", ns);
    const kube::Answer is = send("GET", path);
    std::string& look = config_looks_[path];
    look = labels_of(wanted);
    if (!is) return base::fail(is.error().message);
    if (is->status == 200 && labels_of(parse_json(is->body)->get_object()) == look) return {};
    if (is->status == 200) {
      send("PUT", path, wanted);
    } else {
      send("POST", "/api/v1/namespaces", wanted);
    }
    return stage_.settle(fmt::format("/{}", ns));
  }

  // Whether a pool or namespace has changed in what MetalLB reads its configuration again for.
  bool looks_new(const Step& step, const std::string& body) {
    std::string look = "gone";
    if (step.verb != "delete") {
      const json::object object = parse_json(body)->get_object();
      look = step.kind == "pool" ? fmt::format("{}", sandbox::int_at(object, {"metadata", "generation"}))
                                 : labels_of(object);
    }
    return std::exchange(config_looks_[step.path()], look) != look;
  }
  static std::string labels_of(const json::object& object) {
    const json::value* labels = sandbox::find(object, {"metadata", "labels"});
    std::map<std::string, std::string> sorted;
    if (labels != nullptr && labels->is_object()) {
      for (const auto& label : labels->get_object()) sorted.emplace(label.key(), label.value().as_string());
    }
    std::string text;
    for (const auto& [key, value] : sorted) text += fmt::format("{}={},", key, value);
    return text;
  }

  kube::Answer send(std::string_view method, std::string_view path, const json::object& body = {}) {
    return stage_.send(method, path, body.empty() ? "" : json::serialize(body));
  }
  void remove(std::string_view collection, const json::object& object) {
    send("DELETE", fmt::format("{}/{}", collection, text_at(object, {"metadata", "name"})));
  }

  std::vector<json::object> list(std::string_view path) {
    std::vector<json::object> objects;
    const kube::Answer answer = stage_.send("GET", path);
    if (!answer || answer->status != 200) return objects;
    const auto parsed = parse_json(answer->body);
    if (const json::array* items = array_at(parsed->get_object(), {"items"})) {
      for (const json::value& item : *items) objects.push_back(item.get_object());
    }
    return objects;
  }

  // Notes what looks otherwise than after the step before.
  void read_services() {
    for (const json::object& service : list("/api/v1/services")) {
      const std::string_view ns = text_at(service, {"metadata", "namespace"});
      if (std::ranges::find(namespaces, ns) == std::end(namespaces)) continue;
      std::vector<std::string> ips;
      if (const json::array* ingress = array_at(service, {"status", "loadBalancer", "ingress"})) {
        for (const json::value& entry : *ingress) ips.emplace_back(text_at(entry.get_object(), {"ip"}));
      }
      const auto output = [&](std::string_view prefix) {
        return text_at(service, {"metadata", "annotations", fmt::format("{}/ip-allocated-from-pool", prefix)});
      };
      uids_.emplace(text_at(service, {"metadata", "uid"}));
      const std::string name = fmt::format("{}/{}", ns, text_at(service, {"metadata", "name"}));
      const std::string_view old = output("metallb.universe.tf");
      const std::string look =
          fmt::format("{} | {}{}{}", fmt::join(ips, ","), output("metallb.io"), old.empty() ? "" : " | ", old);
      if (looks_[name] == look) continue;
      looks_[name] = look;
      outcome_.insert(fmt::format("{:02} | {} | {}", number_, name, look));
    }
  }

  void read_events() {
    for (const std::string_view ns : namespaces) {
      for (const json::object& event : list(in_namespace(ns, "events"))) {
        if (text_at(event, {"source", "component"}) != "metallb-controller") continue;
        // those of another sequence may still have been under way
        if (!uids_.contains(std::string(text_at(event, {"involvedObject", "uid"})))) continue;
        outcome_.insert(
            ordered(fmt::format("event | {}/{} | {} | {} | {}", ns, text_at(event, {"involvedObject", "name"}),
                                text_at(event, {"type"}), text_at(event, {"reason"}), text_at(event, {"message"}))));
      }
    }
  }

  Stage& stage_;
  Outcome outcome_;
  std::map<std::string, std::string> looks_;         // by "ns/name"
  std::set<std::string> uids_;                       // of all Services there have been
  std::map<std::string, std::string> config_looks_;  // by path
  int number_ = 0;
  std::string lb_class_;
  bool running_ = true;
  bool clean_end_ = false;
};

}  // namespace

base::Result<Outcome> play(Stage& stage, const Sequence& sequence) {
  Play play(stage);
  if (auto cleaned = play.clean(); !cleaned) return base::fail("cleaning up: " + cleaned.error().message);
  auto outcome = play.run(sequence);
  if (!play.clean_end()) stage.stop();
  return outcome;
}

}  // namespace sequences
