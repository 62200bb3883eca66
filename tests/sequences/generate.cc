#include "sequences/generate.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/random.h"
#include "sequences/player.h"

namespace sequences {
namespace {

namespace json = boost::json;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), sharing_(seed % 3 == 0), restarts_(seed % 4 == 1) {}

  std::vector<std::string> run() {
    pools_ = sharing_ ? 1 : 1 + static_cast<int>(random_.below(3));
    for (int i = 0; i < pools_; ++i) make_pool(i);
    const int steps = 6 + static_cast<int>(random_.below(9));
    make_service();
    make_service();
    for (int i = 0; i < steps; ++i) step();
    return std::move(lines_);
  }

 private:
  bool chance(int percent) { return random_.below(100) < static_cast<std::uint64_t>(percent); }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& choices) {
    return choices[random_.below(N)];
  }
  void add(std::string_view what, std::string_view name, const json::object& body) {
    lines_.push_back(fmt::format("{} {} {}", what, name, json::serialize(body)));
  }
  const std::string& someone() { return alive_[random_.below(alive_.size())]; }

  // Pool i has 203.0.113.(16i) to 203.0.113.(16i+15) and 2001:db8:0:i::/64 for itself; few addresses are in use at
  // once.
  json::array addresses(int i) {
    json::array list;
    const int first = 16 * i + static_cast<int>(random_.below(3));
    const int shape = static_cast<int>(random_.below(10));
    if (shape != 0)
      list.emplace_back(fmt::format("203.0.113.{}-203.0.113.{}", first, first + static_cast<int>(random_.below(4))));
    if (shape < 6) list.emplace_back(fmt::format("2001:db8:0:{}::1-2001:db8:0:{}::{}", i, i, 1 + random_.below(3)));
    return list;
  }
  json::object pool_spec(int i) {
    json::object spec{{"addresses", addresses(i)}};
    if (chance(25)) spec["autoAssign"] = false;
    if (chance(15)) spec["avoidBuggyIPs"] = true;
    if (chance(25)) {
      json::object allocation{{"priority", i + 1}};
      if (chance(50)) allocation["namespaces"] = json::array{chance(50) ? "a" : "b"};
      if (chance(30)) allocation["serviceSelectors"] = json::array{json::object{{"matchLabels", {{"tier", "web"}}}}};
      if (chance(30)) allocation["namespaceSelectors"] = json::array{json::object{{"matchLabels", {{"which", "a"}}}}};
      spec["serviceAllocation"] = std::move(allocation);
    }
    return spec;
  }
  void make_pool(int i) { add("pool", fmt::format("p{}", i), {{"spec", pool_spec(i)}}); }

  std::string some_v4() {
    if (sharing_) return fmt::format("203.0.113.{}", 2 + random_.below(2));
    return fmt::format("203.0.113.{}", 16 * random_.below(static_cast<std::uint64_t>(pools_)) + random_.below(6));
  }
  std::string some_v6() {
    if (sharing_) return "2001:db8::1";
    return fmt::format("2001:db8:0:{}::{}", random_.below(static_cast<std::uint64_t>(pools_)), 1 + random_.below(3));
  }
  std::string pin() {
    switch (random_.below(8)) {
      case 0:
        return some_v6();
      case 1:
        return some_v4() + "," + some_v6();
      case 2:
        return some_v6() + ", " + some_v4();
      case 3:
        return one_of(std::array{"203.0.113.1/32", "x", "198.51.100.1", "203.0.113.01"});
      default:
        return some_v4();
    }
  }
  std::string key(std::string_view name) {
    return (chance(30) ? "metallb.universe.tf/" : "metallb.io/") + std::string(name);
  }
  // One annotation that MetalLB reads.
  void annotate(json::object& annotations, bool removals) {
    const bool gone = removals && chance(35);
    const auto put = [&](std::string_view name, std::string value) {
      annotations[key(name)] = gone ? json::value() : json::value(value);
    };
    switch (random_.below(sharing_ ? 5 : 3)) {
      case 0:
        return put("loadBalancerIPs", pin());
      case 1:
        return put("address-pool",
                   chance(10) ? "nowhere" : fmt::format("p{}", random_.below(static_cast<std::uint64_t>(pools_))));
      default:
        return put("allow-shared-ip", chance(85) ? "k" : chance(50) ? "l" : "");
    }
  }
  json::array ports() {
    json::array list;
    const std::uint64_t kinds = sharing_ ? 6 : 3;
    const char* protocol = chance(80) ? "TCP" : chance(60) ? "UDP" : "SCTP";
    list.push_back(json::object{{"name", "one"}, {"port", 80 + random_.below(kinds)}, {"protocol", protocol}});
    if (chance(20)) list.push_back(json::object{{"name", "two"}, {"port", 90 + random_.below(kinds - 1)}});
    return list;
  }

  void make_service() {
    const std::string name = fmt::format("{}/w{}", chance(70) ? "a" : "b", ++made_);
    json::object annotations;
    if (sharing_ && chance(80)) annotations[key("allow-shared-ip")] = chance(90) ? "k" : "l";
    if (sharing_ && chance(60)) annotations[key("loadBalancerIPs")] = some_v4();
    while (chance(45) && annotations.size() < 3) annotate(annotations, false);
    json::object metadata{{"annotations", annotations}};
    if (chance(20)) metadata["labels"] = {{"tier", "web"}};
    json::object spec{{"ports", ports()}};
    switch (random_.below(8)) {
      case 0:
        spec["ipFamilyPolicy"] = "PreferDualStack";
        break;
      case 1:
        spec["ipFamilyPolicy"] = "RequireDualStack";
        break;
      case 2:
        spec["ipFamilies"] = json::array{"IPv6"};
        break;
      case 3:
        spec["ipFamilyPolicy"] = "PreferDualStack";
        spec["ipFamilies"] = json::array{"IPv6", "IPv4"};
        break;
      default:
        break;
    }
    if (chance(sharing_ ? 30 : 12)) spec["externalTrafficPolicy"] = "Local";
    if (chance(25)) spec["selector"] = {{"app", one_of(std::array{"x", "y"})}};
    if (chance(8)) spec["loadBalancerIP"] = some_v4();
    if (chance(8)) spec["loadBalancerClass"] = "other/class";
    if (chance(5)) spec["type"] = "ClusterIP", spec.erase("externalTrafficPolicy"), spec.erase("loadBalancerClass");
    add("service", name, {{"metadata", metadata}, {"spec", spec}});
    alive_.push_back(name);
  }
  void patch_service() {
    const std::string& name = someone();
    json::object annotations;
    json::object metadata;
    json::object spec;
    switch (random_.below(12)) {
      case 0:
        spec["ports"] = ports();
        break;
      case 1:
        spec["externalTrafficPolicy"] = chance(50) ? "Local" : "Cluster";
        break;
      case 2:
        spec["ipFamilyPolicy"] = one_of(std::array{"PreferDualStack", "SingleStack", "RequireDualStack"});
        break;
      case 3:
        spec["type"] = chance(50) ? "ClusterIP" : "LoadBalancer";
        break;
      case 4:
        spec["selector"] = {{"app", one_of(std::array{"x", "y"})}};
        break;
      case 5:
        metadata["labels"] = {{"tier", chance(50) ? json::value("web") : json::value()}};
        break;
      case 6:
        spec["loadBalancerIP"] = chance(50) ? some_v4() : "";
        break;
      default:
        do annotate(annotations, true);
        while (chance(30));
        metadata["annotations"] = annotations;
    }
    json::object body;
    if (!metadata.empty()) body["metadata"] = metadata;
    if (!spec.empty()) body["spec"] = spec;
    add("patch service", name, body);
  }
  void edit_pool() {
    const int i = static_cast<int>(random_.below(static_cast<std::uint64_t>(pools_)));
    const std::string name = fmt::format("p{}", i);
    json::object spec = pool_spec(i);
    if (chance(20) && pools_ > 1) return lines_.push_back("delete pool " + name);
    if (chance(30)) spec = {{"addresses", addresses(chance(15) ? 0 : i)}};
    if (!spec.contains("serviceAllocation") && chance(30)) spec["serviceAllocation"] = nullptr;
    add("patch pool", name, {{"spec", std::move(spec)}});
  }
  void step() {
    const auto choice = random_.below(100);
    if (choice < 24 || alive_.empty()) return make_service();
    if (choice < 64) return patch_service();
    if (choice < 74) {
      const std::size_t at = random_.below(alive_.size());
      lines_.push_back("delete service " + alive_[at]);
      alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    if (choice < 78) {  // by hand: MetalLB adopts what it could have given
      json::array ingress;
      if (chance(80)) ingress.push_back(json::object{{"ip", chance(75) ? some_v4() : some_v6()}});
      return add("status service", someone(), {{"status", {{"loadBalancer", {{"ingress", ingress}}}}}});
    }
    if (choice < 92) return edit_pool();
    if (choice < 94)
      return add("patch namespace", "a", {{"metadata", {{"labels", {{"which", one_of(std::array{"a", "none"})}}}}}});
    if (!restarts_) return patch_service();
    if (choice < 97) return lines_.push_back(chance(80) ? "restart" : "restart other/class");
    lines_.emplace_back("stop");
    patch_service();
    if (chance(50)) edit_pool();
    lines_.emplace_back("start");
  }

  base::Random random_;
  bool sharing_;
  bool restarts_;  // those of a real one take half the time
  std::vector<std::string> lines_;
  int pools_ = 1;
  int made_ = 0;
  std::vector<std::string> alive_;  // "ns/name"
};

constexpr std::string_view prefix = "seed ";

}  // namespace

Sequence generate(std::uint64_t seed) { return {fmt::format("{}{}", prefix, seed), Generator(seed).run()}; }

std::optional<std::uint64_t> seed_of(const std::string& name) {
  std::uint64_t seed = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, seed);
  return error == std::errc() && rest == end ? std::optional(seed) : std::nullopt;
}

bool determinate(const Sequence& sequence) {
  for (const std::string_view version : {"0.15", "0.16"}) {
    std::optional<Outcome> first;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      // how often an event is repeated depends on timing: nothing may come near the limit
      const auto outcome = play(*memory_stage(version, seed, seed % 2 == 0 ? 15 : 25), sequence);
      if (!outcome || (first && *first != *outcome)) return false;
      first = *outcome;
    }
  }
  return true;
}

}  // namespace sequences
