// Random histories by seed: tenants, an administrator and a driver act at random while calls fail, watches break and
// the core crashes. What must never happen (contract §8) is checked after every step, and that everything settles at
// the end.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "api/conditions.h"
#include "api/holds.h"
#include "base/ip.h"
#include "core/indexes.h"
#include "core_sim.h"

namespace core {
namespace {

using Effect = sandbox::Fault::Effect;
using AddressPtr = std::shared_ptr<const api::IPAddress>;
using ClaimPtr = std::shared_ptr<const api::IPAddressClaim>;

// What is stored at one moment, and what must hold of it.
class Snapshot {
 public:
  explicit Snapshot(CoreSim& sim) : addresses(sim.list<api::IPAddress>()), claims(sim.list<api::IPAddressClaim>()) {
    for (const ClaimPtr& c : claims) by_uid[c->meta.uid] = c;
  }
  // The live claim whose uid the address carries, if that claim reports it.
  ClaimPtr served(const api::IPAddress& a) const {
    if (!a.claimRef) return nullptr;
    const auto it = by_uid.find(a.claimRef->uid);
    if (it == by_uid.end() || it->second->meta.deleting || it->second->phase != "Bound") return nullptr;
    const bool reports = std::ranges::any_of(it->second->addresses,
                                             [&](const api::ReportedAddress& r) { return r.name == a.meta.name; });
    return reports ? it->second : nullptr;
  }
  std::vector<AddressPtr> addresses;
  std::vector<ClaimPtr> claims;
  std::map<std::string, ClaimPtr> by_uid;
};

// Of the claims that addresses created too late were meant for.
constexpr std::string_view k_uid_of_one_that_went = "uid-of-one-that-went";

// What happened in all histories of a test: histories in which nothing happens prove nothing.
struct Tally {
  int bound = 0, lost = 0, released = 0, deleted = 0, surplus = 0, juniors = 0, unpromised = 0, restored = 0,
      returned = 0, crashes = 0;
};

class History {
 public:
  History(std::uint64_t seed, bool faults, Tally& tally)
      : random_(seed * 7919), sim_(seed), tally_(tally), faults_(faults) {
    for (const char* name : {"public", "other"}) sim_.make_class(name, name == std::string_view("public"));
  }

  void run(int steps) {
    if (faults_) arm();
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      act();
      note_policies();
      sim_.world.run_for(std::chrono::microseconds(random_.below(random_.below(4) == 0 ? 2'000'000 : 20'000)));
      check_always();
    }
    sim_.world.faults().clear();
    drive_to_rest();
    ASSERT_TRUE(sim_.settle()) << "does not settle";
    check_always();
    check_at_rest();
    for (const std::string& event : sim_.events()) {
      tally_.bound += event.ends_with(":Bound") ? 1 : 0;
      tally_.lost += event.ends_with(":AddressLost") ? 1 : 0;
      tally_.released += event.ends_with(":Released") ? 1 : 0;
      tally_.deleted += event.ends_with(":Reclaimed") ? 1 : 0;
      tally_.surplus += event.ends_with(":Surplus") ? 1 : 0;
      tally_.juniors += event.ends_with(":DuplicateAddress") ? 1 : 0;
    }
    tally_.crashes += sim_.world.crashes();
    sim_.expect_at_rest();
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + random_.below(of.size()));
  }
  bool chance(std::uint64_t one_in) { return random_.below(one_in) == 0; }

  void arm() {
    for (const Effect effect :
         {Effect::fail_before, Effect::fail_after, Effect::hang_after, Effect::crash_before, Effect::crash_after})
      sim_.world.faults().add({.effect = effect, .user = CoreSim::k_user, .count = -1, .probability = 0.02});
    sim_.world.faults().add(
        {.effect = Effect::status, .user = CoreSim::k_user, .count = -1, .probability = 0.02, .code = 500});
    sim_.world.faults().add({.effect = Effect::delay,
                             .user = CoreSim::k_user,
                             .count = -1,
                             .probability = 0.05,
                             .delay = std::chrono::milliseconds(300)});
    sim_.world.faults().add({.effect = Effect::delay_answer,
                             .user = CoreSim::k_user,
                             .count = -1,
                             .probability = 0.05,
                             .delay = std::chrono::milliseconds(300)});
    sim_.world.faults().add({.effect = Effect::drop_watch,
                             .user = CoreSim::k_user,
                             .count = -1,
                             .probability = 0.2,
                             .delay = std::chrono::seconds(2)});
    sim_.world.faults().add(
        {.effect = Effect::expired, .user = CoreSim::k_user, .verb = "watch", .count = -1, .probability = 0.1});
  }

  std::string a_claim() { return CoreSim::claim_path(pick({"c0", "c1", "c2", "c3"}), pick({"t", "u"})); }
  std::string an_address() { return CoreSim::address_path(pick({"a0", "a1", "a2", "a3", "a4", "a5"})); }
  std::string claim_spec() {
    std::string spec = fmt::format(R"("family":"{}")", pick({"IPv4", "IPv4", "IPv6", "Dual"}));
    if (!chance(3))
      spec += fmt::format(R"(,"className":"{}")", pick({"public", "public", "public", "other", "other", "absent"}));
    if (chance(4)) spec += fmt::format(R"(,"addressName":"{}")", pick({"a0", "a1", "a2", "a3"}));
    return spec;
  }
  std::string claim_ref(bool with_uid) {
    const std::string ns = pick({"t", "u"});
    const std::string name = pick({"c0", "c1", "c2", "c3"});
    const auto c = sim_.claim(name, ns);
    if (with_uid && c == nullptr) return "";
    return fmt::format(R"("claimRef":{{"namespace":"{}","name":"{}"{}}})", ns, name,
                       with_uid ? fmt::format(R"(,"uid":"{}")", c->meta.uid) : "");
  }

  void act() {
    switch (random_.below(17)) {
      case 0:
      case 1:
      case 2:
        sim_.make_claim(pick({"c0", "c1", "c2", "c3"}), claim_spec(), pick({"t", "u"}));
        return;
      case 3:
        sim_.patch(a_claim(), fmt::format(R"({{"spec":{{{}}}}})", claim_spec()));
        return;
      case 4:
        sim_.remove(a_claim());
        return;
      case 5:
      case 6:
      case 7:
        create_address();
        return;
      case 8:
        sim_.remove(an_address());
        return;
      case 9:
        sim_.patch(an_address(), R"({"spec":{"claimRef":null}})");
        return;
      case 10: {
        const std::string ref = claim_ref(false);
        sim_.patch(an_address(), fmt::format(R"({{"spec":{{{}}}}})", ref));
        return;
      }
      case 11:
        driver_status();
        return;
      case 12:
        driver_teardown();
        return;
      case 13:
        tamper();
        return;
      case 14:
        change_classes();
        return;
      case 15:
        if (chance(3)) return create_too_late();
        chance(2) ? restore_address() : restore_claim();
        return;
      case 16:
        reserve();
        return;
      default:
        return;
    }
  }

  void create_address() {
    const std::string name = pick({"a0", "a1", "a2", "a3", "a4", "a5"});
    // Few IPs, so that several objects for one occur.
    const std::string ip =
        pick({"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "2001:db8::1", "2001:db8::2", "2001:db8::3"});
    std::string more = fmt::format(R"(,"reclaimPolicy":"{}")", pick({"Retain", "Delete"}));
    // A driver binds at creation, an administrator may too; not to an IP that exists already, which no driver would.
    if (chance(3)) {
      const bool free =
          std::ranges::none_of(sim_.list<api::IPAddress>(), [&](const AddressPtr& a) { return a->address == ip; });
      const std::string ref = claim_ref(free && chance(2));
      if (!ref.empty()) more += "," + ref;
    }
    sim_.make_address(name, ip, more, pick({"public", "public", "other"}),
                      chance(3) ? R"(,"finalizers":["driver.example/teardown"])" : "");
  }

  // A backup tool makes a copy of an address whose claim is gone; without status, and with its finalizers or without.
  void restore_address() {
    const std::string ref = fmt::format(R"("claimRef":{{"namespace":"{}","name":"{}","uid":"uid-before"}})",
                                        pick({"t", "u"}), pick({"c0", "c1", "c2", "c3"}));
    sim_.make_address(
        pick({"a0", "a1", "a2", "a3", "a4", "a5"}), pick({"203.0.113.1", "203.0.113.2", "2001:db8::1"}),
        fmt::format(R"(,"reclaimPolicy":"{}",{})", pick({"Retain", "Delete"}), ref), "public",
        fmt::format(R"(,"annotations":{{"local.sdn.cozystack.io/recorded-uid":"address-uid-before"}}{})",
                    pick({R"(,"finalizers":["local.sdn.cozystack.io/address-protection","driver.example/teardown"])",
                          R"(,"finalizers":["local.sdn.cozystack.io/address-protection"])", ""})));
  }

  // And of a claim; perhaps of the very one.
  void restore_claim() {
    sim_.post(
        CoreSim::claims(pick({"t", "u"})),
        fmt::format(
            R"({{"apiVersion":"local.sdn.cozystack.io/v1alpha1","kind":"IPAddressClaim","metadata":{{"name":"{}","annotations":{{"local.sdn.cozystack.io/recorded-uid":"uid-before"}}}},"spec":{{{}}}}})",
            pick({"c0", "c1", "c2", "c3"}), claim_spec()));
  }

  // A driver makes an address for a claim that went a moment ago.
  void create_too_late() {
    const std::string ip = pick({"203.0.113.5", "2001:db8::5"});
    const auto addresses = sim_.list<api::IPAddress>();
    if (std::ranges::any_of(addresses, [&](const AddressPtr& a) { return a->address == ip; })) return;
    sim_.make_address(pick({"a0", "a1", "a2", "a3", "a4", "a5"}), ip,
                      fmt::format(R"(,"reclaimPolicy":"{}","claimRef":{{"namespace":"t","name":"{}","uid":"{}"}})",
                                  pick({"Retain", "Delete"}), pick({"c0", "c1"}), k_uid_of_one_that_went),
                      "public", R"(,"finalizers":["driver.example/teardown"])");
  }

  static bool is_too_late(const api::IPAddress& a) { return a.claimRef && a.claimRef->uid == k_uid_of_one_that_went; }

  // A driver says whether it has an address; what others say stays. What it created too late it deletes instead.
  void reserve() {
    const std::string path = an_address();
    const auto a = sim_.get<api::IPAddress>(path);
    if (a == nullptr || is_too_late(*a)) return;
    const auto list = api::updated_conditions(
        a->conditions, {{api::condition::reserved, pick({"True", "False"}), "Driver", "says the driver"}}, 1,
        "2026-01-01T00:00:00Z");
    if (list) sim_.set_status(path, fmt::format(R"("conditions":{})", boost::json::serialize(*list)));
  }

  void driver_status() {
    const std::string path = an_address();
    const auto judged = sim_.get<api::IPAddress>(path);
    if (judged != nullptr && is_too_late(*judged)) return;  // it deletes that one instead
    switch (random_.below(5)) {
      case 0:
        sim_.set_status(path, fmt::format(R"("phase":"{}")", pick({"Lost", "Conflict"})));
        return;
      case 1:
      case 2: {
        const auto a = sim_.get<api::IPAddress>(path);
        if (a != nullptr && (a->phase == "Lost" || a->phase == "Conflict"))
          sim_.set_status(path, R"("phase":"Pending")");
        return;
      }
      case 3: {
        const auto a = sim_.get<api::IPAddress>(path);
        if (a != nullptr && a->phase == "Bound")
          sim_.set_status(path, R"("associatedTo":{"kind":"Service","namespace":"t","name":"s"})");
        return;
      }
      default:
        sim_.set_status(path, R"("associatedTo":null)");
        return;
    }
  }

  // A driver deletes what was promised to nobody (§6.2), and lets go of an address that is being deleted.
  void driver_teardown() {
    for (const AddressPtr& a : sim_.list<api::IPAddress>()) {
      const ClaimPtr named = a->claimRef ? sim_.claim(a->claimRef->name, a->claimRef->ns) : nullptr;
      const bool gone = named == nullptr || named->meta.uid != a->claimRef->uid;
      if (gone && !a->meta.deleting && api::was_never_promised(*a, named.get())) {
        sim_.remove(CoreSim::address_path(a->meta.name));
        ++tally_.unpromised;
        continue;
      }
      if (!a->meta.deleting || !a->meta.has_finalizer("driver.example/teardown")) continue;
      boost::json::array rest;
      for (const std::string& f : a->meta.finalizers) {
        if (f != "driver.example/teardown") rest.emplace_back(f);
      }
      sim_.patch(CoreSim::address_path(a->meta.name),
                 boost::json::serialize(boost::json::object{{"metadata", {{"finalizers", rest}}}}));
    }
  }

  void tamper() {
    switch (random_.below(4)) {
      case 0:
        sim_.patch(a_claim(), R"({"metadata":{"annotations":{"local.sdn.cozystack.io/provisioner":"thief"}}})");
        return;
      case 1:
        sim_.patch(a_claim(), R"({"metadata":{"annotations":{"local.sdn.cozystack.io/recorded-uid":null}}})");
        return;
      case 2:
        sim_.patch(a_claim(), R"({"metadata":{"labels":{"unrelated":"edit"}}})");
        return;
      default:
        sim_.patch(an_address(), R"({"metadata":{"labels":{"unrelated":"edit"}}})");
        return;
    }
  }

  void change_classes() {
    const std::string name = pick({"public", "other"});
    switch (random_.below(4)) {
      case 0:
        sim_.remove(CoreSim::classes() + "/" + name);
        return;
      case 1:
        sim_.make_class(name, chance(2));
        return;
      default:
        sim_.patch(
            CoreSim::classes() + "/" + name,
            fmt::format(
                R"({{"metadata":{{"annotations":{{"ipaddressclass.local.sdn.cozystack.io/is-default-class":"{}"}}}}}})",
                pick({"true", "false"})));
        return;
    }
  }

  // The driver ends its part, so that what is left is the core's.
  void drive_to_rest() {
    for (int i = 0; i < 10; ++i) {
      if (!sim_.world.running("core")) sim_.world.run_for(std::chrono::seconds(2));
      driver_teardown();
      sim_.world.run_for(std::chrono::seconds(5));
    }
  }

  // §8, at any moment.
  void check_always() {
    const Snapshot now(sim_);
    std::map<std::string, std::string> holder;  // IP → claim
    for (const AddressPtr& a : now.addresses) {
      const ClaimPtr claim = now.served(*a);
      if (claim == nullptr) continue;
      const auto [it, first] = holder.emplace(base::IpAddress::parse(a->address)->to_string(), claim->meta.uid);
      ASSERT_TRUE(first || it->second == claim->meta.uid) << a->address << " serves two claims";
    }
    for (const sandbox::AuditEntry& entry : sim_.world.audit()) {
      if (entry.access.user != CoreSim::k_user) continue;
      ASSERT_NE(entry.code, 403) << entry.access.verb << " " << entry.access.resource;
      ASSERT_NE(entry.code, 422) << entry.access.verb << " " << entry.access.resource << " " << entry.access.name;
      ASSERT_NE(entry.code, 400) << entry.access.verb << " " << entry.access.resource;
      // The count of an event is sent again when its answer was lost.
      if (entry.code == 200 && entry.access.resource != "events") {
        ASSERT_TRUE(entry.changed) << "a write without change: " << entry.access.resource;
      }
      if (entry.access.verb == "delete") {
        ASSERT_EQ(policies_[entry.access.name], "Delete") << entry.access.name << " was deleted";
      }
    }
    sim_.world.forget_audit();
    for (const AddressPtr& a : now.addresses) {
      ASSERT_FALSE(is_too_late(*a) && a->phase == "Released") << a->meta.name << " was promised to nobody (§6.2)";
    }
    // What was bound once stays in its status, and never goes back to Pending.
    for (const ClaimPtr& c : now.claims) {
      bool& was_bound = was_bound_[c->meta.uid];
      ASSERT_FALSE(was_bound && c->phase == "Pending") << c->meta.name;
      was_bound = was_bound || c->phase == "Bound" || c->phase == "Lost";
    }
  }

  // Nobody changes a policy, and addresses are created only by what acts.
  void note_policies() {
    const Snapshot now(sim_);
    for (const AddressPtr& a : now.addresses) {
      const bool waits = is_waiting_for_its_claim(now, *a);
      policies_[a->meta.name] = waits ? "kept (§9.2)" : a->reclaimPolicy;
      if (waits) restored_.insert(a->meta.uid);
    }
  }

  static bool is_waiting_for_its_claim(const Snapshot& now, const api::IPAddress& a) {
    const std::string* recorded = a.meta.annotations.find(api::recorded_uid_annotation);
    return recorded != nullptr && *recorded != a.meta.uid && a.claimRef && !a.claimRef->uid.empty() &&
           !now.by_uid.contains(a.claimRef->uid);
  }

  void check_at_rest() {
    const Snapshot now(sim_);
    std::set<std::string> matchable;
    for (const AddressPtr& a : now.addresses) {
      if (restored_.contains(a->meta.uid) && now.served(*a) != nullptr) ++tally_.returned;
      if (is_matchable(*a)) matchable.insert(pair_bucket(a->className, base::IpAddress::parse(a->address)->family()));
      EXPECT_NE(a->phase, "") << a->meta.name;
      if (is_waiting_for_its_claim(now, *a) && !a->meta.deleting) {
        ++tally_.restored;
        const auto* says = kube::find_condition(a->conditions, "Restored");
        EXPECT_TRUE(says != nullptr && says->status == "True") << a->meta.name << " waits and does not say so";
      }
      if (!a->meta.deleting) {
        EXPECT_TRUE(a->meta.has_finalizer(api::address_protection)) << a->meta.name;
      }
      const ClaimPtr holder = now.served(*a);
      if (a->meta.deleting && holder == nullptr) {
        EXPECT_FALSE(a->claimRef && a->phase != "Lost" && a->meta.has_finalizer(api::address_protection) &&
                     !now.by_uid.contains(a->claimRef->uid))
            << a->meta.name << " is kept for nobody";
      }
    }
    for (const ClaimPtr& c : now.claims) {
      EXPECT_FALSE(c->meta.deleting) << c->meta.name << " waits for ever";
      EXPECT_TRUE(c->meta.has_finalizer(api::claim_protection)) << c->meta.name;
      const auto* bound = kube::find_condition(c->conditions, "Bound");
      ASSERT_NE(bound, nullptr) << c->meta.name << " says nothing";
      EXPECT_EQ(bound->status == "True", c->phase == "Bound") << c->meta.name;
      if (c->phase != "Bound") {
        EXPECT_NE(bound->message, "") << c->meta.name;
      }
      if (c->phase == "Bound") {
        EXPECT_EQ(c->addresses.size(), c->family == "Dual" ? 2U : 1U);
        for (const auto& r : c->addresses) {
          const auto a = sim_.address(r.name);
          ASSERT_NE(a, nullptr) << c->meta.name;
          EXPECT_EQ(a->address, r.address);
          ASSERT_TRUE(a->claimRef.has_value()) << r.name;
          // §3.4: a pre-binding is not completed while the address is attached.
          if (!a->associatedTo || !a->claimRef->uid.empty()) {
            EXPECT_EQ(a->claimRef->uid, c->meta.uid) << r.name;
          }
        }
      }
      if (bound->reason == "WaitingForProvisioning") {
        for (const base::Family family : {base::Family::v4, base::Family::v6}) {
          const bool asked = c->family == "Dual" || c->family == base::to_string(family);
          const bool has = std::ranges::any_of(
              c->addresses, [&](const auto& r) { return base::IpAddress::parse(r.address)->family() == family; });
          if (asked && !has) {
            EXPECT_FALSE(matchable.contains(pair_bucket(c->status_className, family)))
                << c->meta.name << " could be served";
          }
        }
      }
    }
  }

  base::Random random_;
  CoreSim sim_;
  Tally& tally_;
  bool faults_;
  std::map<std::string, std::string> policies_;
  std::map<std::string, bool> was_bound_;
  std::set<std::string> restored_;  // uids of addresses that were seen waiting for their claims
};

// SIM_SEEDS="1000" runs that many more seeds; SIM_SEED="17" only that one.
void run_histories(std::uint64_t first, bool faults) {
  const char* more = std::getenv("SIM_SEEDS");
  const char* only = std::getenv("SIM_SEED");
  const std::uint64_t count = only != nullptr ? 1 : 100 + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10));
  if (only != nullptr) first = std::strtoull(only, nullptr, 10);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    History(seed, faults, tally).run(200);
  }
  const std::string what = fmt::format(
      "bound {} lost {} released {} deleted {} surplus {} juniors {} unpromised {} restored {} returned {} crashes {}",
      tally.bound, tally.lost, tally.released, tally.deleted, tally.surplus, tally.juniors, tally.unpromised,
      tally.restored, tally.returned, tally.crashes);
  std::printf("%s\n", what.c_str());
  if (only != nullptr) return;
  for (const int n : {tally.bound, tally.lost, tally.released, tally.deleted, tally.surplus, tally.juniors,
                      tally.unpromised, tally.restored, tally.returned}) {
    EXPECT_GE(n, 1) << what;  // every situation comes up
  }
  EXPECT_EQ(tally.crashes > 100, faults) << what;
}

TEST(CoreHistories, CalmOnesSettle) { run_histories(1, false); }
TEST(CoreHistories, StormyOnesSettle) { run_histories(100'001, true); }

}  // namespace
}  // namespace core
