#include "metallb/driver_fixture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/ip.h"
#include "metallb/placeholder.h"

namespace metallb::testing {

namespace m = api::metallb;

std::string annotation(const kube::Object& object, std::string_view key) {
  return std::string(object.meta.annotations.get(key));
}

std::string name_of(std::string_view ip) { return base::object_name(*base::IpAddress::parse(ip)); }

DriverTest::DriverTest(Options o) : options(std::move(o)), driver(controller(options)), world(driver) {
  world.sync(api::IPAddressPool::kind());
  world.sync(api::L2Advertisement::kind());
  world.sync(api::BGPAdvertisement::kind());
  world.sync(api::Pod::kind());
  world.sync(api::EndpointSlice::kind());
  for (const std::string_view ns : {k_home, std::string_view("metallb-system")}) {
    world.put<api::Namespace>(fmt::format(R"({{"metadata":{{"name":"{}"}},"status":{{"phase":"Active"}}}})", ns));
  }
  put_class();
  world.settle_all();
  world.writes = 0;
}

void DriverTest::put_class(std::string_view name, std::string_view spec) {
  world.put<api::IPAddressClass>(fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"provisioner":"{}","reclaimPolicy":"Retain",{}}}}})", name,
      m::provisioner, spec.empty() ? R"("parameters":{"addresses":["203.0.113.0/29","2001:db8::/126"]})" : spec));
}

void DriverTest::put_unshared_class(std::string_view addresses) {
  put_class(
      "public",
      fmt::format(
          R"("parameters":{{"addresses":[{}],"advertise":{{"l2":{{"serviceSelectors":[{{"matchLabels":{{"a":"b"}}}}]}}}}}})",
          addresses));
  world.settle_all();
  world.writes = 0;
}

void DriverTest::put_foreign_pool(std::string_view name, std::string_view addresses) {
  if (world.get<api::IPAddressPool>("metallb-system", name) != nullptr)
    world.vanish<api::IPAddressPool>("metallb-system", name);
  world.put<api::IPAddressPool>(fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"metallb-system"}},"spec":{{"addresses":[{}]}}}})", name, addresses));
}

const api::IPAddressClaim& DriverTest::put_claim(std::string_view name, std::string_view family) {
  return world.put<api::IPAddressClaim>(fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"tenant-a","uid":"uid-{0}","annotations":{{"{1}":"{2}","{3}":"uid-{0}"}},
          "finalizers":["{4}"]}},
          "spec":{{"className":"public","family":"{5}"}},
          "status":{{"phase":"Pending","className":"public","conditions":[
            {{"type":"ClassResolved","status":"True","reason":"Resolved","message":"","lastTransitionTime":"2025-01-01T00:00:00Z",
              "observedGeneration":1}}]}}}})",
      name, api::provisioner_annotation, m::provisioner, api::recorded_uid_annotation, api::claim_protection, family));
}

void DriverTest::bind(std::string_view name, const std::vector<std::string>& ips) {
  std::vector<std::string> reported;
  for (const std::string& ip : ips) {
    reported.push_back(fmt::format(R"({{"name":"{}","address":"{}"}})", name_of(ip), ip));
    world.change<api::IPAddress>("", name_of(ip), R"({"status":{"phase":"Bound"}})");
  }
  world.change<api::IPAddressClaim>(
      "tenant-a", name, fmt::format(R"({{"status":{{"phase":"Bound","addresses":[{}]}}}})", fmt::join(reported, ",")));
}

std::string DriverTest::put_address(std::string_view ip, std::string_view claim_name, std::string_view extra_spec) {
  std::string ref;
  if (!claim_name.empty()) {
    ref = fmt::format(R"("claimRef":{{"namespace":"tenant-a","name":"{0}","uid":"uid-{0}"}},)", claim_name);
  }
  world.put<api::IPAddress>(fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"uid-{0}","finalizers":["{1}","{2}"]}},
          "spec":{{"address":"{3}","className":"public","reclaimPolicy":"Retain",{4}{5}"source":{{"fromClass":{{}}}}}},
          "status":{{"phase":"{6}"}}}})",
      name_of(ip), api::address_protection, m::teardown, ip, ref, extra_spec,
      claim_name.empty() ? "Available" : "Bound"));
  return name_of(ip);
}

void DriverTest::put_hold(std::string_view ip) {
  const auto value = *base::IpAddress::parse(ip);
  world.put<api::Service>(
      boost::json::serialize(hold_body(options, *address(ip), value, hold_name(address(ip)->meta.name))));
  assign_home(hold_name(address(ip)->meta.name), ip);
}

void DriverTest::put_bound(std::string_view ip, std::string_view claim_name) {
  put_claim(claim_name, base::IpAddress::parse(ip)->family() == base::Family::v6 ? "IPv6" : "IPv4");
  put_address(ip, claim_name);
  put_hold(ip);
  bind(claim_name, {std::string(ip)});
  world.settle_all();
  world.writes = 0;
}

const api::Service& DriverTest::put_service(std::string_view name, std::string_view claim_name, std::string_view spec) {
  const std::string note = claim_name.empty()
                               ? std::string()
                               : fmt::format(R"("annotations":{{"{}":"{}"}},)", api::claim_annotation, claim_name);
  return world.put<api::Service>(fmt::format(
      R"({{"metadata":{{{}"name":"{}","namespace":"tenant-a"}},"spec":{{"type":"LoadBalancer",{}}}}})", note, name,
      spec.empty() ? R"("clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"],"ports":[{"port":80}])" : spec));
}

void DriverTest::put_attached(std::string_view name, const std::vector<std::string>& ips, std::string_view claim_name) {
  const bool dual = ips.size() == 2;
  const bool v6 = !dual && base::IpAddress::parse(ips.front())->family() == base::Family::v6;
  put_service(name, claim_name,
              dual ? R"("clusterIPs":["10.96.0.9","fd00::9"],"ipFamilies":["IPv4","IPv6"])"
                   : (v6 ? R"("clusterIPs":["fd00::9"],"ipFamilies":["IPv6"])"
                         : R"("clusterIPs":["10.96.0.9"],"ipFamilies":["IPv4"])"));
  for (const std::string& ip : ips) {
    world.change<api::IPAddress>(
        "", name_of(ip),
        fmt::format(
            R"({{"status":{{"associatedTo":{{"kind":"Service","namespace":"tenant-a","name":"{0}","uid":"uid-{0}"}}}}}})",
            name));
    if (hold(ip) != nullptr) world.vanish<api::Service>(k_home, hold(ip)->meta.name);
  }
  world.change<api::Service>(
      "tenant-a", name,
      fmt::format(
          R"({{"metadata":{{"finalizers":["{0}"],"annotations":{{"{1}":"{2}","{3}":"iad-public","{4}":"true","{5}":"uid-{6}"}}}}}})",
          m::attached, m::pin, fmt::join(ips, ","), m::pool, m::pinned, m::service_uid, name));
  assign("tenant-a", name, ips);
  world.settle_all();
  world.writes = 0;
}

void DriverTest::assign(std::string_view ns, std::string_view name, const std::vector<std::string>& ips,
                        std::string_view pool) {
  std::vector<std::string> ingress;
  for (const std::string& ip : ips) ingress.push_back(fmt::format(R"({{"ip":"{}"}})", ip));
  world.change<api::Service>(
      ns, name,
      fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}},"status":{{"loadBalancer":{{"ingress":[{}]}}}}}})",
                  m::allocated_from, ips.empty() ? "null" : fmt::format("\"{}\"", pool), fmt::join(ingress, ",")));
}

const api::IPAddress* DriverTest::address(std::string_view ip) { return world.get<api::IPAddress>("", name_of(ip)); }

const api::Service* DriverTest::hold(std::string_view ip) { return placeholder(hold_name(name_of(ip))); }

const api::Service* DriverTest::drawn(std::string_view claim_name, std::string_view suffix) {
  return placeholder(fmt::format("iad-uid-{}{}", claim_name, suffix));
}

std::vector<std::string> DriverTest::placeholders() {
  std::vector<std::string> names;
  world.store(api::Service::kind()).for_each([&](const kube::ObjectPtr& object) {
    if (object->meta.ns == k_home) names.push_back(object->meta.name);
  });
  std::ranges::sort(names);
  return names;
}

std::string DriverTest::provisioning(std::string_view name) {
  const auto* condition = kube::find_condition(claim(name)->conditions, api::condition::provisioning);
  return condition == nullptr ? "" : condition->status + "/" + condition->reason;
}

std::vector<std::string> DriverTest::event_reasons() {
  std::vector<std::string> reasons;
  for (const kube::EventNote& event : world.events) reasons.push_back(event.reason);
  return reasons;
}

bool DriverTest::answer() {
  bool asked = false;
  for (const std::string& name : placeholders()) {
    const api::Service& hold = *placeholder(name);
    if (hold.ingress.empty() || hold.meta.annotations.contains(m::allocated_from)) continue;
    asked = true;
    world.change<api::Service>(
        k_home, name, fmt::format(R"({{"metadata":{{"annotations":{{"{}":"iad-public"}}}}}})", m::allocated_from));
  }
  return asked;
}

int DriverTest::settle() {
  const int before = world.writes;
  do {
    world.settle_all();
  } while (answer());
  return world.writes - before;
}

int DriverTest::settle_after(base::Duration d) {
  world.advance(d);
  const int before = world.writes;
  std::vector<kube::Key> keys;
  world.keys().for_each([&](kube::KeyId, const kube::Key& key) { keys.push_back(key); });
  for (const kube::Key& key : keys) world.settle(key);
  do {
    world.settle_all();
  } while (answer());
  return world.writes - before;
}

std::vector<std::string> DriverTest::steps(const kube::Plan& plan) {
  std::vector<std::string> steps;
  for (const kube::Write& write : plan.writes) steps.push_back(write.step);
  return steps;
}

}  // namespace metallb::testing
