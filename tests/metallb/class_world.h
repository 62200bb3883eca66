// A cluster as the class reconciler sees it, for its tests.
#pragma once

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.h"
#include "api/holds.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"
#include "kube/controller.h"
#include "metallb/class.h"
#include "metallb/rendering.h"
#include "support/fake_world.h"

namespace metallb::testing {

inline ClassSettings settings() { return {"metallb-system", {"metallb-iad-system", "former"}, ""}; }

inline kube::Controller class_controller() {
  kube::Controller c;
  c.name = "test";
  const auto add = [&](const kube::Kind& kind, std::vector<kube::IndexSpec> indexes) -> kube::WatchSpec& {
    kube::WatchSpec watch;
    watch.kind = &kind;
    watch.indexes = std::move(indexes);
    c.watches.push_back(std::move(watch));
    return c.watches.back();
  };
  const auto parameters = std::make_shared<ParameterCache>();
  add(api::IPAddressClass::kind(), {class_overlap_index(parameters)}).keys = [](const kube::Object& o,
                                                                                std::vector<kube::Key>& keys) {
    add_class_key(static_cast<const api::IPAddressClass&>(o), keys);
  };
  std::vector<kube::IndexSpec> ledger = api::holding_indexes();
  ledger.push_back(ledger_index());
  add(api::IPAddress::kind(), std::move(ledger)).keys = [](const kube::Object& o, std::vector<kube::Key>& keys) {
    add_class_key(static_cast<const api::IPAddress&>(o), keys);
  };
  add(api::Service::kind(),
      {placeholder_pool_index(settings()), served_index(settings()), strangers_index(settings())});
  add(api::Namespace::kind(), {});
  for (kube::WatchSpec& watch : metallb_watches(settings())) c.watches.push_back(std::move(watch));
  const auto reconciler = std::make_shared<ClassReconciler>(settings(), parameters);
  c.reconcilers.push_back(
      {std::string(k_class_reconciler),
       [reconciler](const kube::Key& key, kube::View& view) { return reconciler->reconcile(key, view); }, 0});
  return c;
}

class ClassWorld {
 public:
  explicit ClassWorld(bool with_metallb = true) : controller_(class_controller()), world(controller_) {
    put_namespace("Active");
    if (with_metallb) install_metallb();
  }

  void install_metallb() {
    world.sync(api::IPAddressPool::kind());
    world.sync(api::L2Advertisement::kind());
    world.sync(api::BGPAdvertisement::kind());
  }
  // What a process of MetalLB's says about the configuration, in versions that do.
  void put_state(std::string_view name, std::string_view result, std::string_view error = "") {
    if (!world.store(api::ConfigurationState::kind()).synced()) world.sync(api::ConfigurationState::kind());
    world.put<api::ConfigurationState>(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"metallb-system"}},"status":{{"result":"{}","errorSummary":"{}"}}}})",
        name, result, error));
  }
  void put_namespace(std::string_view phase) {
    world.put<api::Namespace>(
        fmt::format(R"({{"metadata":{{"name":"metallb-system"}},"status":{{"phase":"{}"}}}})", phase));
  }
  // A class of ours; `parameters` is JSON.
  void put_class(std::string_view name, std::string_view parameters, int generation = 1,
                 std::string_view provisioner = api::metallb::provisioner) {
    world.put<api::IPAddressClass>(fmt::format(
        R"({{"metadata":{{"name":"{}","generation":{}}},"spec":{{"provisioner":"{}","reclaimPolicy":"Retain","parameters":{}}}}})",
        name, generation, provisioner, parameters));
  }
  // Sets the parameters of a class, as an administrator would.
  void edit_class(std::string_view name, std::string_view parameters, int generation) {
    boost::json::object document = *world.document(api::IPAddressClass::kind(), "", name);
    document["spec"].as_object()["parameters"] = boost::json::parse(parameters);
    document["metadata"].as_object()["generation"] = generation;
    world.put<api::IPAddressClass>(boost::json::serialize(document));
  }
  // An address object of the class; `held`: with our finalizer.
  void put_address(std::string_view ip, std::string_view class_name, bool held = true) {
    world.put<api::IPAddress>(fmt::format(
        R"({{"metadata":{{"name":"{}"{}}},"spec":{{"address":"{}","className":"{}","reclaimPolicy":"Retain","source":{{"fromClass":{{}}}}}}}})",
        object_of(ip), held ? fmt::format(R"(,"finalizers":["{}"])", api::metallb::teardown) : "", ip, class_name));
  }
  void vanish_address(std::string_view ip) { world.vanish<api::IPAddress>("", object_of(ip)); }
  void put_placeholder(std::string_view name, std::string_view pool, std::string_view ingress,
                       std::string_view ns = "metallb-iad-system", bool labelled = true) {
    world.put<api::Service>(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"{}","labels":{{{}}},"annotations":{{"metallb.io/address-pool":"{}"}}}},
            "spec":{{"type":"LoadBalancer"}},"status":{{"loadBalancer":{{"ingress":[{}]}}}}}})",
        name, ns, labelled ? fmt::format(R"("{}":"true")", api::metallb::placeholder) : "", pool,
        ingress.empty() ? "" : fmt::format(R"({{"ip":"{}"}})", ingress)));
  }
  void put_pool(std::string_view name, std::string_view addresses, std::string_view metadata = "") {
    world.put<api::IPAddressPool>(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"metallb-system"{}}},"spec":{{"addresses":{},"autoAssign":true}}}})",
        name, metadata, addresses));
  }

  kube::Plan settle(std::string_view class_name) { return world.settle(class_key(class_name)); }
  kube::Plan run(std::string_view class_name) { return world.run(class_key(class_name)); }
  bool is_woken(std::string_view class_name) const { return world.is_woken(class_key(class_name)); }

  const api::IPAddressPool* pool(std::string_view class_name) {
    return world.get<api::IPAddressPool>("metallb-system", pool_name(class_name));
  }
  const api::L2Advertisement* l2(std::string_view class_name) {
    return world.get<api::L2Advertisement>("metallb-system", pool_name(class_name));
  }
  const api::BGPAdvertisement* bgp(std::string_view class_name) {
    return world.get<api::BGPAdvertisement>("metallb-system", pool_name(class_name));
  }
  std::vector<std::string> addresses(std::string_view class_name) {
    return pool(class_name) == nullptr ? std::vector<std::string>() : pool(class_name)->addresses;
  }
  // "True Rendered", or "" if the class does not have the condition.
  std::string condition(std::string_view class_name, std::string_view type) {
    const auto* condition = kube::find_condition(world.get<api::IPAddressClass>("", class_name)->conditions, type);
    return condition == nullptr ? "" : condition->status + " " + condition->reason;
  }
  std::string message(std::string_view class_name, std::string_view type) {
    const auto* condition = kube::find_condition(world.get<api::IPAddressClass>("", class_name)->conditions, type);
    return condition == nullptr ? "" : condition->message;
  }
  boost::json::object status(std::string_view class_name) {
    const auto& text = world.get<api::IPAddressClass>("", class_name)->status;
    return text.empty() ? boost::json::object() : boost::json::parse(text).as_object();
  }

 private:
  static std::string object_of(std::string_view ip) { return base::object_name(*base::IpAddress::parse(ip)); }
  kube::Controller controller_;

 public:
  kube::testing::FakeWorld world;
};

inline boost::json::object json(std::string_view text) { return boost::json::parse(text).as_object(); }

}  // namespace metallb::testing
