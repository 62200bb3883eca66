// Core and driver look at the same objects and must agree on who holds what (contract §2), whatever the objects are:
// random ledgers, few IPs and few claims, so that several objects for one IP and all their causes come up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/ipam.h"
#include "base/random.h"
#include "core/controller.h"
#include "core/holds.h"
#include "metallb/controller.h"
#include "metallb/ledger.h"
#include "support/fake_world.h"

namespace {

class Ledger {
 public:
  explicit Ledger(std::uint64_t seed) : random_(seed) {
    for (const char* name : {"c0", "c1", "c2"}) {
      if (!chance(5)) put<api::IPAddressClaim>(claim(name));
    }
    const std::uint64_t size = 2 + random_.below(6);
    for (std::uint64_t i = 0; i < size; ++i) put<api::IPAddress>(address(fmt::format("a{}", i)));
  }

  // What each claim counts and who holds each address, as text: by the core, and by the driver.
  std::string core_view() {
    return look(core_world_,
                [](kube::View& view, const api::IPAddressClaim& claim) {
                  const core::Counting counting = core::count(view, claim);
                  return std::pair(counting.v4, counting.v6);
                }) +
           look_at_addresses(core_world_, [](kube::View& view, const api::IPAddress& address) {
             const core::Holder holder = core::holder_of(view, address);
             return holder.holds() ? holder.claim : nullptr;
           });
  }
  std::string driver_view() {
    return look(driver_world_,
                [](kube::View& view, const api::IPAddressClaim& claim) {
                  const metallb::Halves halves = metallb::counted(view, claim);
                  return std::pair(halves.v4, halves.v6);
                }) +
           look_at_addresses(driver_world_, [](kube::View& view, const api::IPAddress& address) {
             return metallb::holder_of(view, address);
           });
  }

 private:
  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }
  std::string pick(std::initializer_list<const char*> from) { return from.begin()[random_.below(from.size())]; }

  std::string claim(std::string_view name) {
    std::string reported;
    if (chance(2))
      reported = fmt::format(R"("addresses":[{{"name":"a{}","address":"{}"}}])", random_.below(4),
                             pick({"203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:DB8::1"}));
    return fmt::format(
        R"({{"metadata":{{"namespace":"t","name":"{0}","uid":"u-{0}"{1}}},"spec":{{"family":"{2}"{3}}},"status":{{{4}}}}})",
        name, chance(6) ? R"(,"finalizers":["x/y"],"deletionTimestamp":"2024-05-05T00:00:00Z")" : "",
        pick({"IPv4", "IPv4", "IPv6", "Dual"}), chance(3) ? R"(,"className":"public")" : "", reported);
  }

  std::string address(const std::string& name) {
    std::string ref;
    if (!chance(5)) {
      const std::string of = pick({"c0", "c1", "c2"});
      const std::string uid = chance(4) ? std::string() : "u-" + (chance(6) ? std::string("former") : of);
      ref = fmt::format(R"(,"claimRef":{{"namespace":"t","name":"{}","uid":"{}"}})", of, uid);
    }
    return fmt::format(
        R"({{"metadata":{{"name":"{0}","creationTimestamp":"2024-01-0{1}T00:00:00Z"}},"spec":{{"address":"{2}","className":"{3}"{4}}},"status":{{"phase":"{5}"}}}})",
        name, 1 + random_.below(3),
        pick({"203.0.113.1", "203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8:0::1", "127.0.0.1", "odd"}),
        pick({"public", "public", "other"}), ref,
        pick({"Bound", "Bound", "Pending", "Released", "Lost", "Conflict", "Available"}));
  }

  template <class T>
  void put(const std::string& json) {
    core_world_.put<T>(json);
    driver_world_.put<T>(json);
  }

  template <class T, class Ask>
  static void each(kube::testing::FakeWorld& world, Ask ask) {
    kube::KeyMemory memory;
    world.dependencies().begin_pass();
    kube::View view(world, memory);
    world.store(T::kind()).for_each([&](const kube::ObjectPtr& object) { ask(view, static_cast<const T&>(*object)); });
    world.dependencies().end_pass(world.keys().intern({"claim", "", "probe"}));
  }

  template <class Ask>
  static std::string look(kube::testing::FakeWorld& world, Ask ask) {
    std::map<std::string, std::string> text;
    each<api::IPAddressClaim>(world, [&](kube::View& view, const api::IPAddressClaim& claim) {
      const auto [v4, v6] = ask(view, claim);
      text[claim.meta.name] = fmt::format("{} counts {} {}\n", claim.meta.name, v4 == nullptr ? "-" : v4->meta.name,
                                          v6 == nullptr ? "-" : v6->meta.name);
    });
    return joined(text);
  }

  template <class Ask>
  static std::string look_at_addresses(kube::testing::FakeWorld& world, Ask ask) {
    std::map<std::string, std::string> text;
    each<api::IPAddress>(world, [&](kube::View& view, const api::IPAddress& address) {
      const api::IPAddressClaim* claim = ask(view, address);
      text[address.meta.name] =
          fmt::format("{} is held by {}\n", address.meta.name, claim == nullptr ? "nobody" : claim->meta.name);
    });
    return joined(text);
  }

  static std::string joined(const std::map<std::string, std::string>& lines) {
    std::string text;
    for (const auto& [name, line] : lines) text += line;
    return text;
  }

  base::Random random_;
  kube::Controller core_ = core::controller();
  kube::Controller driver_ = metallb::controller({});
  kube::testing::FakeWorld core_world_{core_};
  kube::testing::FakeWorld driver_world_{driver_};
};

TEST(HoldingAgreement, CoreAndDriverSeeTheSameHoldersInRandomLedgers) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Ledger ledger(seed);
    const std::string text = ledger.core_view();
    ASSERT_EQ(ledger.driver_view(), text) << "seed " << seed;
    for (std::size_t at = text.find("held by c"); at != std::string::npos; at = text.find("held by c", at + 1)) ++held;
  }
  EXPECT_GT(held, 200) << "ledgers in which nothing is held prove nothing";
}

}  // namespace
