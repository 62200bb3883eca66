// Restore (contract §9) in whole clusters: everything that a backup has is made again in another cluster, in every
// order, with and without status, with one object missing or made by hand, and the core killed at every write. No
// address is deleted, doubled, changed or given away; every restored claim is Bound to its own addresses again.
#include <algorithm>
#include <map>
#include <set>

#include "base/ip.h"
#include "core_sim.h"

namespace core {
namespace {

namespace json = boost::json;
using Effect = sandbox::Fault::Effect;
using std::chrono::minutes;
using std::chrono::seconds;

// A Kubernetes object in a backup.
struct Saved {
  std::string collection;
  json::object document;
  const json::string& name() const { return document.at("metadata").at("name").as_string(); }
};

// A cluster with what a cluster has, at rest: claim "web" with "a", the Dual claim "two" with "b4" and "b6", "free" and
// "spent", whose claim went long ago.
std::vector<Saved> make_backup() {
  CoreSim sim(99);
  sim.make_class("public");
  sim.make_address("a", "203.0.113.1", R"(,"reclaimPolicy":"Delete")");
  sim.make_address("spent", "203.0.113.4");
  sim.make_address("b4", "203.0.113.2");
  sim.make_address("b6", "2001:db8::2", R"(,"reclaimPolicy":"Delete")");
  EXPECT_TRUE(sim.settle());
  sim.make_claim("web", R"("className":"public","addressName":"a")");
  sim.make_claim("former", R"("className":"public","addressName":"spent")");
  EXPECT_TRUE(sim.settle());
  sim.make_claim("two", R"("className":"public","family":"Dual")");
  EXPECT_TRUE(sim.settle());
  sim.remove(CoreSim::claim_path("former"));
  sim.make_address("free", "203.0.113.5");
  EXPECT_TRUE(sim.settle());
  std::vector<Saved> saved;
  for (const std::string& collection : {CoreSim::classes(), CoreSim::addresses(), CoreSim::claims()}) {
    const json::value list = json::parse(sim.world.call("GET", collection).body);
    for (const json::value& item : list.at("items").as_array()) {
      Saved one{collection, item.as_object()};
      one.document["apiVersion"] = list.at("apiVersion");
      std::string kind(list.at("kind").as_string());
      one.document["kind"] = kind.substr(0, kind.size() - std::string_view("List").size());
      json::object& metadata = one.document.at("metadata").as_object();
      for (const char* key : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"})
        metadata.erase(key);
      saved.push_back(std::move(one));
    }
  }
  return saved;
}

struct Case {
  std::vector<std::string> order;  // of "a", "b4", "b6", "web", "two"; the rest comes at `others`
  bool with_status = false;
  std::string missing;
  bool by_hand = false;  // "web" is made by its tenant, who has the manifest
  bool others_last = false;
  bool at_once = false;  // the core is started when all is there
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  for (const std::string& name : c.order) out << name << " ";
  return out << (c.with_status ? "with status " : "") << (c.missing.empty() ? "" : "without " + c.missing)
             << (c.by_hand ? " web by hand" : "") << (c.others_last ? " others last" : "")
             << (c.at_once ? " at once" : "");
}

class Restored {
 public:
  Restored(const std::vector<Saved>& backup, const Case& c, std::optional<sandbox::Fault> fault = {})
      : backup_(backup), case_(c), sim_(7, !c.at_once) {
    if (fault) sim_.world.faults().add(*fault);
    for (const Saved& saved : backup_) {
      if (saved.document.contains("spec") && saved.document.at("spec").as_object().contains("address"))
        values_[std::string(saved.name())] = saved.document.at("spec").at("address").as_string();
    }
  }

  void play() {
    if (!case_.others_last) make_others();
    for (const std::string& name : case_.order) {
      if (name != case_.missing) make(find(name));
      step(seconds(1));
    }
    if (case_.others_last) make_others();
    if (case_.at_once) sim_.start();
    step(seconds(60));
    check_back();
    step(minutes(6));  // all waiting is over, in a process that was killed too
    check_end();
  }

  CoreSim& sim() { return sim_; }

 private:
  const Saved& find(std::string_view name) const {
    return *std::ranges::find_if(backup_, [&](const Saved& s) { return s.name() == name; });
  }

  void make(const Saved& saved) {
    json::object document = saved.document;
    if (case_.by_hand && saved.name() == "web") document.at("metadata").as_object().erase("annotations");
    ASSERT_EQ(sim_.post(saved.collection, json::serialize(document)), 201) << sim_.refusal;
    const bool by_hand = case_.by_hand && saved.name() == "web";
    if (!case_.with_status || by_hand || !document.contains("status")) return;
    const std::string path = saved.collection + "/" + std::string(saved.name()) + "/status";
    ASSERT_EQ(sim_.patch(path, json::serialize(json::object{{"status", document.at("status")}})), 200);
  }
  void make_others() {
    for (const Saved& saved : backup_) {
      if (std::ranges::find(case_.order, std::string_view(saved.name())) == case_.order.end()) make(saved);
    }
  }

  void step(base::Duration d) {
    sim_.world.run_for(d);
    check_always();
  }

  // §8, at any moment.
  void check_always() {
    std::map<std::string, std::string> holders;
    for (const auto& a : sim_.list<api::IPAddress>()) {
      ASSERT_EQ(a->address, values_[a->meta.name]);
      ASSERT_FALSE(a->meta.deleting) << a->meta.name;
      present_.insert(a->meta.name);
      const std::string before = before_[a->meta.name];
      before_[a->meta.name] = a->claimRef ? a->claimRef->name + "/" + a->claimRef->uid : "";
      if (!before.empty() && a->claimRef) {
        ASSERT_EQ(before.substr(0, before.find('/')), a->claimRef->name) << "given to another one";
      }
    }
    for (const std::string& name : present_) ASSERT_NE(sim_.address(name), nullptr) << name << " is gone";
    for (const auto& c : sim_.list<api::IPAddressClaim>()) {
      for (const auto& r : c->addresses) {
        const auto [it, first] = holders.emplace(r.address, c->meta.name);
        ASSERT_TRUE(first) << r.address << " is reported by " << it->second << " and " << c->meta.name;
      }
    }
    for (const sandbox::AuditEntry& e : sim_.world.audit()) {
      if (e.access.user != CoreSim::k_user) continue;
      ASSERT_NE(e.access.verb, "delete") << e.access.name;
      ASSERT_FALSE(e.code == 200 && e.access.resource != "events" && !e.changed) << "a write without change";
    }
    sim_.world.forget_audit();
  }

  bool is_whole(std::string_view claim) const {
    if (claim == case_.missing || (claim == "web" && (case_.by_hand || case_.missing == "a"))) return false;
    return !(claim == "two" && case_.missing.starts_with("b"));
  }

  // What is there is with its own before any grace is over.
  void check_back() {
    const std::map<std::string, std::set<std::string>> own{{"web", {"a"}}, {"two", {"b4", "b6"}}};
    for (const auto& [name, addresses] : own) {
      const auto c = sim_.claim(name);
      if (!is_whole(name)) continue;
      ASSERT_NE(c, nullptr);
      EXPECT_EQ(c->phase, "Bound") << name << " " << sim_.reason(name);
      EXPECT_EQ(c->meta.annotations.get(api::recorded_uid_annotation), c->meta.uid);
      std::set<std::string> reported;
      for (const auto& r : c->addresses) reported.insert(r.name);
      EXPECT_EQ(reported, addresses);
      for (const std::string& address : addresses) {
        const auto a = sim_.address(address);
        EXPECT_EQ(a->claimRef->uid, c->meta.uid);
        EXPECT_EQ(a->phase, "Bound");
        EXPECT_EQ(a->meta.annotations.get(api::recorded_uid_annotation), a->meta.uid);
        EXPECT_EQ(kube::find_condition(a->conditions, "Restored"), nullptr);
      }
    }
    if (case_.missing == "a" && !case_.by_hand) {
      EXPECT_EQ(sim_.reason("web"), "RestoredWaiting");
    }
  }

  void check_end() {
    ASSERT_TRUE(sim_.settle());
    check_always();
    check_back_after_waiting();
    EXPECT_EQ(sim_.address("spent")->phase, "Released");
    sim_.expect_at_rest();
  }

  void check_back_after_waiting() {
    for (const auto& a : sim_.list<api::IPAddress>()) {
      const auto* says = kube::find_condition(a->conditions, "Restored");
      const bool orphan = a->meta.name == "spent" ||
                          (a->meta.name == "a" && (case_.by_hand || case_.missing == "web")) ||
                          (a->meta.name.starts_with("b") && case_.missing == "two");
      EXPECT_EQ(says != nullptr, orphan) << a->meta.name;
    }
    if (case_.missing == "a" || case_.by_hand) {
      const auto web = sim_.claim("web");
      if (web == nullptr) return;
      const bool lost = case_.missing == "a" && case_.with_status && !case_.by_hand;
      EXPECT_EQ(web->phase, lost ? "Lost" : "Pending") << "it names an address that is not there, or not its own";
      EXPECT_EQ(web->meta.annotations.get(api::recorded_uid_annotation), web->meta.uid);
    }
    if (case_.missing == "b4") {
      const auto two = sim_.claim("two");
      EXPECT_EQ(two->phase, case_.with_status ? "Lost" : "Bound");
      EXPECT_EQ(sim_.address("free")->phase, case_.with_status ? "Available" : "Bound");
    } else {
      EXPECT_EQ(sim_.address("free")->phase, "Available") << "nobody needs it";
    }
  }

  const std::vector<Saved>& backup_;
  const Case& case_;
  CoreSim sim_;
  std::map<std::string, std::string> values_, before_;
  std::set<std::string> present_;
};

std::vector<std::vector<std::string>> orders() {
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> order{"a", "b4", "b6", "two", "web"};
  do {
    all.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return all;
}

TEST(CoreRestore, InEveryOrderEachGoesBackToItsOwn) {
  const std::vector<Saved> backup = make_backup();
  bool others_last = false;
  for (const auto& order : orders()) {
    others_last = !others_last;
    for (const bool with_status : {false, true}) {
      const Case c{order, with_status, "", false, others_last, false};
      SCOPED_TRACE(testing::PrintToString(c));
      Restored(backup, c).play();
      if (HasFailure()) return;
    }
  }
}

TEST(CoreRestore, WithOneObjectMissingTheOthersGoBack) {
  const std::vector<Saved> backup = make_backup();
  int turn = 0;
  for (const auto& order : orders()) {
    const std::string missing = order[static_cast<std::size_t>(turn) % order.size()];
    for (const bool with_status : {false, true}) {
      const Case c{order, with_status, missing, false, turn % 2 == 0, turn % 3 == 0};
      SCOPED_TRACE(testing::PrintToString(c));
      Restored(backup, c).play();
      if (HasFailure()) return;
    }
    ++turn;
  }
}

TEST(CoreRestore, AClaimMadeByHandIsAnotherClaim) {
  const std::vector<Saved> backup = make_backup();
  int turn = 0;
  for (const auto& order : orders()) {
    const Case c{order, turn % 2 == 0, "", true, turn % 3 == 0, turn % 5 == 0};
    ++turn;
    SCOPED_TRACE(testing::PrintToString(c));
    Restored(backup, c).play();
    if (HasFailure()) return;
  }
}

class CoreRestoreKilled : public testing::TestWithParam<Effect> {};

TEST_P(CoreRestoreKilled, AtEveryWriteTheEndIsTheSame) {
  const std::vector<Saved> backup = make_backup();
  const std::vector<std::vector<std::string>> some{
      {"web", "two", "a", "b4", "b6"}, {"a", "b4", "b6", "two", "web"}, {"b6", "two", "a", "b4", "web"}};
  int hits = 0;
  for (const auto& order : some) {
    for (const bool with_status : {false, true}) {
      for (int skip = 0;; ++skip) {
        const Case c{order, with_status, "", false, false, skip % 2 == 1};
        SCOPED_TRACE(testing::PrintToString(c) + " write " + std::to_string(skip));
        Restored restored(backup, c,
                          sandbox::Fault{.effect = GetParam(), .user = CoreSim::k_user, .verb = "write", .skip = skip});
        restored.play();
        if (HasFailure()) return;
        if (restored.sim().world.faults().hits() == 0) break;
        ++hits;
      }
    }
  }
  EXPECT_GT(hits, 60);
}

INSTANTIATE_TEST_SUITE_P(Effects, CoreRestoreKilled,
                         testing::Values(Effect::crash_before, Effect::crash_after, Effect::fail_after));

}  // namespace
}  // namespace core
