#include "scenarios/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

namespace scenarios {
namespace json = boost::json;

namespace {
// What scenarios make, in the order it is asked to go.
constexpr std::string_view k_namespaced[] = {"Service", "IPAddressClaim"};
constexpr std::string_view k_global[] = {"IPAddress", "IPAddressClass"};
constexpr std::string_view k_metallb[] = {"IPAddressPool", "L2Advertisement", "BGPAdvertisement"};
constexpr auto k_patience = std::chrono::seconds(30);
constexpr auto k_look = std::chrono::milliseconds(25);

Target target(std::string_view kind, std::string ns, std::string name) {
  return {*resource_of(kind, {}), std::move(ns), std::move(name)};
}
}  // namespace

base::Result<std::string> Cluster::make_namespace(const std::string& prefix, int number) {
  Outcome outcome;
  for (int tries = 0; tries < 1000; ++tries) {
    const std::string name = fmt::format("{}-{}", prefix, number + tries);
    const json::value object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
    outcome = client_.create(target("Namespace", {}, name), object);
    if (outcome.status == 409) continue;
    if (!outcome.accepted()) break;
    namespaces_.push_back(name);
    return name;
  }
  return base::fail(fmt::format("namespace {}: {}", prefix, outcome.message()));
}

std::vector<Target> Cluster::all(std::string_view kind, const std::string& ns) {
  std::vector<Target> out;
  const Outcome outcome = client_.list(target(kind, ns, {}));
  boost::system::error_code error;
  const auto* items = outcome.body.find_pointer("/items", error);
  if (!items) return out;
  for (const auto& item : items->as_array()) {
    const auto& meta = item.at("metadata").as_object();
    const auto* in = meta.if_contains("namespace");
    out.push_back(target(kind, in ? std::string(in->as_string()) : "", std::string(meta.at("name").as_string())));
  }
  return out;
}

// Placeholders and pools go by themselves with what they were made for, so they are waited for, not deleted.
std::vector<Target> Cluster::remaining() {
  std::vector<Target> out;
  const auto add = [&](std::string_view kind, const std::string& ns) {
    std::ranges::move(all(kind, ns), std::back_inserter(out));
  };
  for (const auto kind : k_namespaced) {
    for (const auto& ns : namespaces_) add(kind, ns);
  }
  for (const auto kind : k_global) add(kind, {});
  for (const auto kind : k_metallb) add(kind, options_.metallb_namespace);
  add("Service", options_.placeholder_namespace);
  return out;
}

std::string Cluster::clean_up(bool forgiving) {
  for (const auto& target : created_) client_.remove(target);
  base::Duration waited{};
  std::vector<Target> left = remaining();
  std::set<std::string> asked;
  for (; !left.empty() && waited < k_patience; waited += k_look) {
    for (const auto& object : left) {
      const bool derived = object.ns == options_.placeholder_namespace || object.ns == options_.metallb_namespace;
      if (forgiving) {
        force(object);
      } else if (!derived && asked.insert(object.to_string()).second) {
        client_.remove(object);
      }
    }
    backend_.let_pass(k_look);
    left = remaining();
  }
  std::string problem;
  for (const auto& object : left) problem += (problem.empty() ? "" : ", ") + object.to_string();
  for (const auto& object : left) force(object);
  for (const auto& ns : namespaces_) client_.remove(target("Namespace", {}, ns));
  forget_events();
  namespaces_.clear();
  created_.clear();
  return problem;
}

void Cluster::force(const Target& object) {
  client_.remove(object);
  client_.merge_patch(object, json::value{{"metadata", {{"finalizers", nullptr}}}});
}

void Cluster::forget_events() {
  for (const auto& ns : {std::string("default"), options_.placeholder_namespace, options_.metallb_namespace}) {
    for (const auto& event : all("Event", ns)) client_.remove(event);
  }
}

std::string Cluster::dump() {
  std::string out;
  for (const auto kind :
       {"IPAddressClass", "IPAddress", "IPAddressClaim", "Service", "IPAddressPool", "L2Advertisement", "Event"}) {
    const Outcome outcome = client_.list(target(kind, {}, {}));
    boost::system::error_code error;
    const auto* items = outcome.body.find_pointer("/items", error);
    if (!items) continue;
    for (auto item : items->as_array()) {
      item.as_object()["kind"] = kind;
      out += json::serialize(item) + "\n";
    }
  }
  return out;
}

}  // namespace scenarios
