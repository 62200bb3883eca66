// The core in a whole simulated cluster: the real loop, the in-memory API server with the shipped CRDs, virtual time.
// The core's identity has the rights that its rules declare and no more.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "api/names.h"
#include "base/log.h"
#include "core/controller.h"
#include "kube/loop.h"
#include "kube/metrics.h"
#include "sandbox/world.h"

namespace core {

// One running address-controller that leads.
class CoreProcess final : public sandbox::Actor {
 public:
  explicit CoreProcess(sandbox::Habitat& habitat)
      : loop_(controller_, habitat.transport, habitat.reactor, metrics_, options(habitat.seed)) {
    loop_.start();
    loop_.set_leading(true);
  }
  kube::Loop& loop() { return loop_; }

 private:
  static kube::LoopOptions options(std::uint64_t seed) {
    kube::LoopOptions options;
    options.identity = "address-controller-0";
    options.field_validation = "Strict";
    options.abort_on_flaws = true;
    options.seed = seed;
    return options;
  }
  kube::Controller controller_ = controller();
  kube::MetricsSink metrics_;
  kube::Loop loop_;
};

class CoreSim {
 public:
  static constexpr const char* k_user = "core";

  explicit CoreSim(std::uint64_t seed = 1, bool start_now = true) : world(sandbox::WorldOptions{.seed = seed}) {
    world.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
    world.server().set_authorizer([rules = controller().rules](const sandbox::Access& access) {
      return access.user != k_user || std::ranges::any_of(rules, [&](const kube::Rule& rule) {
               return rule.group == access.group && rule.resource == access.resource &&
                      std::ranges::find(rule.verbs, access.verb) != rule.verbs.end();
             });
    });
    base::log::configure(base::log::Level::error, base::log::Format::text);
    for (const char* ns : {"t", "u"})
      post("/api/v1/namespaces",
           fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns));
    if (start_now) start();
  }
  void start() {
    world.start("core", k_user, [](sandbox::Habitat& h) { return std::make_unique<CoreProcess>(h); });
  }
  kube::Loop* loop() {
    auto* actor = world.actor("core");
    return actor == nullptr ? nullptr : &static_cast<CoreProcess*>(actor)->loop();
  }
  // Longer than a request that hangs and the back-off after it.
  [[nodiscard]] bool settle() { return world.settle(std::chrono::seconds(40), std::chrono::minutes(60)); }

  // --- requests of others; the status code ---
  int post(std::string_view path, std::string_view body) { return note(world.call("POST", path, body)); }
  int patch(std::string_view path, std::string_view body) { return note(world.call("PATCH", path, body)); }
  // The server's words about the last request of these that it refused.
  std::string refusal;
  int remove(std::string_view path) { return world.call("DELETE", path).status; }

  static std::string classes() { return "/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclasses"; }
  static std::string addresses() { return "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses"; }
  static std::string claims(std::string_view ns = "t") {
    return fmt::format("/apis/local.sdn.cozystack.io/v1alpha1/namespaces/{}/ipaddressclaims", ns);
  }
  static std::string address_path(std::string_view name) { return addresses() + "/" + std::string(name); }
  static std::string claim_path(std::string_view name, std::string_view ns = "t") {
    return claims(ns) + "/" + std::string(name);
  }

  int make_class(std::string_view name, bool is_default = false) {
    return post(
        classes(),
        fmt::format(
            R"({{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClass","metadata":{{"name":"{}"{}}},"spec":{{"provisioner":"prov-{}"}}}})",
            name,
            is_default ? R"(,"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"})" : "",
            name));
  }
  int make_claim(std::string_view name, std::string_view spec = R"("className":"public")", std::string_view ns = "t") {
    return post(
        claims(ns),
        fmt::format(
            R"({{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClaim","metadata":{{"name":"{}"}},"spec":{{{}}}}})",
            name, spec));
  }
  int make_address(std::string_view name, std::string_view ip, std::string_view more = "",
                   std::string_view class_name = "public", std::string_view metadata = "") {
    return post(
        addresses(),
        fmt::format(
            R"({{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddress","metadata":{{"name":"{}"{}}},"spec":{{"address":"{}","className":"{}","source":{{"fromClass":{{}}}}{}}}}})",
            name, metadata, ip, class_name, more));
  }
  int set_status(std::string_view path, std::string_view status) {
    return patch(std::string(path) + "/status", fmt::format(R"({{"status":{{{}}}}})", status));
  }

  // --- what is stored ---
  template <class T>
  std::shared_ptr<const T> get(std::string_view path) const {
    const std::string text = world.get(path);
    if (text.empty()) return nullptr;
    auto object = T::kind().decode(text);
    EXPECT_TRUE(object.has_value()) << text;
    return object ? std::static_pointer_cast<const T>(*object) : nullptr;
  }
  std::shared_ptr<const api::IPAddressClaim> claim(std::string_view name, std::string_view ns = "t") const {
    return get<api::IPAddressClaim>(claim_path(name, ns));
  }
  std::shared_ptr<const api::IPAddress> address(std::string_view name) const {
    return get<api::IPAddress>(address_path(name));
  }
  template <class T>
  std::vector<std::shared_ptr<const T>> list() {
    const auto response = world.call("GET", T::kind().resource.collection_path());
    std::vector<std::shared_ptr<const T>> found;
    const auto document = boost::json::parse(response.body);
    for (const auto& item : document.at("items").as_array())
      found.push_back(std::static_pointer_cast<const T>(*T::kind().decode(boost::json::serialize(item))));
    return found;
  }
  std::string phase(std::string_view claim_name, std::string_view ns = "t") const {
    const auto c = claim(claim_name, ns);
    return c == nullptr ? "(absent)" : c->phase;
  }
  std::string reason(std::string_view claim_name) const {
    const auto c = claim(claim_name);
    const auto* bound = c == nullptr ? nullptr : kube::find_condition(c->conditions, "Bound");
    return bound == nullptr ? "" : bound->reason;
  }
  // Requests of the core that changed the store, and those that did not but were sent.
  int writes() const { return world.writes(k_user); }
  int sent() const { return world.writes(k_user, false); }
  // Every request of the core since the audit was forgotten that would change something, for failure messages.
  std::string audit() const {
    std::string text;
    for (const sandbox::AuditEntry& e : world.audit()) {
      if (e.access.user != k_user) continue;
      text += fmt::format("{} {} {}/{} {}{}\n", e.access.verb, e.access.resource, e.access.ns, e.access.name, e.code,
                          e.changed ? "" : " unchanged");
    }
    return text;
  }
  // Reasons of the events stored, each with the object's name.
  std::vector<std::string> events() {
    std::vector<std::string> reasons;
    const auto response = world.call("GET", "/apis/events.k8s.io/v1/events");
    const auto document = boost::json::parse(response.body);
    for (const auto& item : document.at("items").as_array())
      reasons.push_back(std::string(item.at("regarding").at("name").as_string()) + ":" +
                        std::string(item.at("reason").as_string()));
    return reasons;
  }

  // At rest: nothing left to do, nothing overlooked, no defect counted, and a restart writes nothing.
  void expect_at_rest() {
    ASSERT_NE(loop(), nullptr);
    for (const std::string& problem : loop()->verify_settled()) ADD_FAILURE() << problem;
    EXPECT_EQ(loop()->stats().noop_writes, 0U);
    world.forget_audit();
    world.crash("core");
    world.restart("core");
    EXPECT_TRUE(settle());
    EXPECT_EQ(sent(), 0) << "a restart writes: " << audit();
    for (const std::string& problem : loop()->verify_settled()) ADD_FAILURE() << "after a restart: " << problem;
  }

  sandbox::World world;

 private:
  int note(const kube::Response& response) {
    if (response.status >= 400) refusal = response.body;
    return response.status;
  }
};

}  // namespace core
