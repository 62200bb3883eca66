// The status of a class (contract §1, driver design §3).
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "metallb/class_pass.h"

namespace metallb {
namespace {

using base::Family;
using boost::json::object;

// Numbers follow the ledger at this distance: a burst of claims costs one write, not one for each.
constexpr base::Duration k_count_refill = std::chrono::seconds(5);
constexpr std::string_view k_count_throttle = "class-counts";

object status_of(const api::IPAddressClass& cls) {
  boost::system::error_code error;
  auto value = cls.status.empty() ? boost::json::value() : boost::json::parse(cls.status, error);
  return !error && value.is_object() ? std::move(value.get_object()) : object();
}

struct Numbers {
  std::int64_t total = 0;
  std::int64_t held = 0;
  std::int64_t free = 0;
  bool saturated = false;
};

Numbers count(ClassPass& pass, const Report& report, Family family) {
  Numbers numbers;
  numbers.held =
      static_cast<std::int64_t>(pass.view.count<api::IPAddress>(k_ledger_index, ledger_bucket(pass.name, family)));
  const base::IpCount total = report.counted->count(family);
  numbers.total = total.value;
  numbers.saturated = total.saturated;
  const auto outside =
      static_cast<std::int64_t>(family == Family::v4 ? report.outsiders->ledger_v4 : report.outsiders->ledger_v6);
  // What is left of more than fits is still more than fits.
  numbers.free = total.saturated ? total.value : std::max<std::int64_t>(0, total.value - (numbers.held - outside));
  return numbers;
}

object capacity_of(ClassPass& pass, const Report& report) {
  object capacity;
  std::string summary;
  for (const Family family : {Family::v4, Family::v6}) {
    const Numbers numbers = count(pass, report, family);
    if (numbers.total == 0 && numbers.held == 0) continue;
    object part{{"total", numbers.total}, {"held", numbers.held}, {"free", numbers.free}};
    if (numbers.saturated) part["saturated"] = true;
    capacity[family == Family::v4 ? "ipv4" : "ipv6"] = std::move(part);
    if (!summary.empty()) summary += ", ";
    summary += fmt::format("{}{} {}", numbers.saturated ? "more than " : "", numbers.free, base::to_string(family));
  }
  capacity["summary"] = summary.empty() ? "none" : summary;
  return capacity;
}

boost::json::array ranges_of(const base::IpRangeSet& ranges) {
  boost::json::array list;
  for (const base::IpPrefix& prefix : ranges.prefixes()) list.emplace_back(prefix.to_string());
  return list;
}

// Wordings may carry numbers, so that only a change of verdict is worth a write at once.
bool is_urgent(const api::IPAddressClass& cls, const api::Saying& saying) {
  const kube::Condition* now = kube::find_condition(cls.conditions, saying.type);
  return now == nullptr || now->status != saying.status || now->reason != saying.reason ||
         now->observedGeneration != cls.meta.generation;
}

// An event for each verdict that is bad or has turned good, in the plan of the write that records it.
void tell(ClassPass& pass, const api::Saying& saying) {
  const kube::Condition* before = kube::find_condition(pass.cls->conditions, saying.type);
  const bool good = saying.status == "True";
  if (good && (before == nullptr || before->status == "True")) return;
  if (!good && before != nullptr && before->reason == saying.reason && before->message == saying.message) return;
  pass.plan.events.push_back({.regarding = {&api::IPAddressClass::kind().resource, "", pass.name},
                              .regarding_uid = pass.cls->meta.uid,
                              .warning = !good,
                              .reason = std::string(saying.reason),
                              .action = "Render",
                              .note = saying.message});
}

}  // namespace

void plan_status(ClassPass& pass, const Report& report) {
  const object before = status_of(*pass.cls);
  std::vector<api::Saying> sayings{report.parameters_valid, report.backend_ready};
  std::vector<std::string_view> withdrawn;
  if (report.inventory->saying) sayings.push_back(*report.inventory->saying);
  if (report.inventory->withdrawn) withdrawn.push_back(k_inventory_condition);
  object status;
  bool urgent = std::ranges::any_of(sayings, [&](const auto& saying) { return is_urgent(*pass.cls, saying); });
  if (auto list = api::updated_conditions(pass.cls->conditions, sayings, pass.cls->meta.generation,
                                          pass.view.wall_text(), withdrawn))
    status["conditions"] = std::move(*list);
  if (report.ranges != nullptr) {
    boost::json::array ranges = ranges_of(*report.ranges);
    const auto* now = before.if_contains("ranges");
    if (now == nullptr || *now != ranges) {
      status["ranges"] = std::move(ranges);
      urgent = true;
    }
  }
  const auto* capacity = before.if_contains("capacity");
  if (object patch =
          difference(capacity == nullptr ? "" : boost::json::serialize(*capacity), capacity_of(pass, report));
      !patch.empty())
    status["capacity"] = std::move(patch);
  if (status.empty()) return;
  const base::Duration wait = pass.view.throttle(k_count_throttle, 1, k_count_refill);
  if (!urgent && wait > base::Duration::zero()) {
    pass.plan.then_look_after(wait);
    return;
  }
  if (wait == base::Duration::zero()) pass.plan.spends.emplace_back(k_count_throttle);
  tell(pass, report.parameters_valid);
  tell(pass, report.backend_ready);
  pass.plan.writes.push_back(kube::patch_status(api::IPAddressClass::kind().resource, *pass.cls,
                                                {{"status", std::move(status)}}, "class-status"));
}

}  // namespace metallb
