// The core's keys on a fake world: tests put objects, let the keys settle, and look at what is stored.
#pragma once

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/ipam.h"
#include "api/names.h"
#include "core/controller.h"
#include "core/reasons.h"
#include "support/fake_world.h"

namespace core {

class CoreTest : public ::testing::Test {
 protected:
  using Address = api::IPAddress;
  using Claim = api::IPAddressClaim;

  // --- objects; claims are in namespace "t" ---
  void make_class(std::string_view name, std::string_view provisioner = "prov", bool is_default = false) {
    world.put<api::ClassRead>(fmt::format(
        R"({{"metadata":{{"name":"{0}"{2}}},"spec":{{"provisioner":"{1}"}}}})", name, provisioner,
        is_default ? R"(,"annotations":{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"true"})" : ""));
  }
  // `spec` is JSON without braces: R"("className":"public")".
  void make_claim(std::string_view name, std::string_view spec = "", std::string_view status = "",
                  std::string_view metadata = "") {
    world.put<Claim>(
        fmt::format(R"({{"metadata":{{"namespace":"t","name":"{0}"{3}}},"spec":{{{1}}},"status":{{{2}}}}})", name, spec,
                    status, metadata));
  }
  // An address without any status, or with the finalizer and annotation of the core if it has one.
  void make_address(std::string_view name, std::string_view ip, std::string_view class_name = "public",
                    std::string_view spec = "", std::string_view status = "", std::string_view metadata = "") {
    world.put<Address>(fmt::format(
        R"({{"metadata":{{"name":"{0}"{5}}},"spec":{{"address":"{1}","className":"{2}","source":{{"fromClass":{{}}}}{3}}},"status":{{{4}}}}})",
        name, ip, class_name, spec, status, metadata));
  }
  static std::string claim_ref(std::string_view name, std::string_view uid = "") {
    return fmt::format(R"(,"claimRef":{{"namespace":"t","name":"{}"{}}})", name,
                       uid.empty() ? "" : fmt::format(R"(,"uid":"{}")", uid));
  }
  // A claim that has its address and is settled.
  void make_bound_pair(std::string_view claim, std::string_view address, std::string_view ip,
                       std::string_view policy = "Retain") {
    make_address(address, ip, "public", fmt::format(R"(,"reclaimPolicy":"{}")", policy));
    make_claim(claim, fmt::format(R"("className":"public","addressName":"{}","family":"{}")", address,
                                  ip.find(':') == std::string_view::npos ? "IPv4" : "IPv6"));
    settle();
    ASSERT_EQ(phase(claim), "Bound");
    clear();
  }

  void settle() { world.settle_all(5000); }
  void clear() {
    world.events.clear();
    world.writes = 0;
  }

  // --- what is stored ---
  const Claim* claim(std::string_view name) { return world.get<Claim>("t", name); }
  const Address* address(std::string_view name) { return world.get<Address>("", name); }
  std::string phase(std::string_view claim_name) {
    return claim(claim_name) == nullptr ? "(absent)" : claim(claim_name)->phase;
  }
  std::string address_phase(std::string_view name) {
    return address(name) == nullptr ? "(absent)" : address(name)->phase;
  }
  // "namespace/name/uid" or "".
  std::string ref(std::string_view name) {
    const auto* a = address(name);
    if (a == nullptr) return "(absent)";
    return a->claimRef ? a->claimRef->ns + "/" + a->claimRef->name + "/" + a->claimRef->uid : "";
  }
  // The addresses that a claim reports, joined by spaces.
  std::string reported(std::string_view name) {
    std::string text;
    for (const auto& a : claim(name)->addresses) text += (text.empty() ? "" : " ") + a.address;
    return text;
  }
  static std::string reason_of(const std::vector<kube::Condition>& conditions, std::string_view type) {
    const auto* c = kube::find_condition(conditions, type);
    return c == nullptr ? "" : c->status + "/" + c->reason;
  }
  std::string bound_reason(std::string_view name) { return reason_of(claim(name)->conditions, "Bound"); }
  std::string class_reason(std::string_view name) { return reason_of(claim(name)->conditions, "ClassResolved"); }
  std::string address_reason(std::string_view name, std::string_view type = "Bound") {
    return reason_of(address(name)->conditions, type);
  }
  std::string stamp(std::string_view name) {
    return std::string(claim(name)->meta.annotations.get(api::provisioner_annotation));
  }
  std::vector<std::string> event_reasons() const {
    std::vector<std::string> reasons;
    for (const auto& e : world.events) reasons.push_back(e.regarding.name + ":" + e.reason);
    return reasons;
  }
  void change_claim(std::string_view name, std::string_view patch) { world.change<Claim>("t", name, patch); }
  void change_address(std::string_view name, std::string_view patch) { world.change<Address>("", name, patch); }
  // Everybody looks again, as after a restart: nothing may be written.
  void expect_quiet() {
    const int before = world.writes;
    kube::testing::FakeWorld fresh(controller_);
    for (const auto& store : world.stores()) {
      store->for_each([&](const kube::ObjectPtr& object) {
        const auto* document = world.document(store->kind(), object->meta.ns, object->meta.name);
        fresh.put(store->kind(), boost::json::serialize(*document));
      });
    }
    fresh.settle_all(5000);
    EXPECT_EQ(fresh.writes, 0) << "a restart writes";
    EXPECT_TRUE(fresh.events.empty()) << "a restart repeats events";
    EXPECT_EQ(world.writes, before);
  }

  kube::Controller controller_ = controller();
  kube::testing::FakeWorld world{controller_};
};

}  // namespace core
