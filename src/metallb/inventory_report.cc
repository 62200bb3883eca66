#include "metallb/inventory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "api/metallb.h"
#include "kube/state.h"
#include "metallb/association.h"
#include "metallb/inventory.h"
#include "metallb/parameters.h"

namespace metallb {
namespace {

// Nothing happens in it, and no time passes.
class Snapshot final : public kube::State {
 public:
  explicit Snapshot(const kube::Controller& controller) : kube::State(controller, {}) { set_births(false); }
  base::MonoTime now() const override { return {}; }
  base::WallTime wall() const override { return {}; }
  std::uint64_t entropy() override { return 0; }
};

std::string_view word(Adoption::State state) {
  switch (state) {
    case Adoption::State::adopting:
      return "adopting";
    case Adoption::State::adopted:
      return "adopted";
    case Adoption::State::reverting:
      return "reverting";
  }
  return "";
}

ReportRow row_of(const api::IPAddress& address, const Adoption& adoption) {
  return {.ns = adoption.ns,
          .service = adoption.service,
          .addresses = address.address,
          .claim = address.claimRef ? address.claimRef->name : "",
          .plan = std::string(word(adoption.state)),
          .why = {}};
}

ReportRow row_of(const api::Service& service, const Survey& found) {
  return {.ns = service.meta.ns,
          .service = service.meta.name,
          .addresses = pin_text(found.ips),
          .claim = found.can_be() ? found.claim : "",
          .plan = found.can_be() ? "adopt" : "no",
          .why = found.why};
}

}  // namespace

base::Result<std::vector<ReportRow>> report_inventory(const Options& options, std::string_view class_name,
                                                      std::vector<ReportList> lists) {
  const kube::Controller driver = controller(options);
  Snapshot snapshot(driver);
  for (ReportList& list : lists) snapshot.store(*list.kind).replace(std::move(list.objects), "1");
  kube::KeyMemory memory;
  kube::View view(snapshot, memory);
  const Context context{options, std::make_shared<ParameterCache>()};
  const ServedClass cls = served_class(view, context, class_name);
  if (!cls) return base::fail(fmt::format("{} is no class of this driver, or is being deleted", class_name));
  if (!cls.valid()) {
    return base::fail(
        fmt::format("the parameters of class {} cannot be used: {}", class_name, join_sentences(cls.parsed->error())));
  }
  std::vector<ReportRow> rows;
  std::set<std::string> on_their_way;  // Services, by uid
  snapshot.store(api::IPAddress::kind()).for_each([&](const kube::ObjectPtr& object) {
    const auto& address = static_cast<const api::IPAddress&>(*object);
    const auto adoption = adoption_of(address);
    if (!adoption || address.className != class_name) return;
    rows.push_back(row_of(address, *adoption));
    if (adoption->state != Adoption::State::adopted) on_their_way.insert(adoption->uid);
  });
  std::vector<ReportRow> strangers;
  snapshot.store(api::Service::kind()).for_each([&](const kube::ObjectPtr& object) {
    const auto& service = static_cast<const api::Service&>(*object);
    if (class_of_stranger(view, options, service) != class_name || on_their_way.contains(service.meta.uid)) return;
    strangers.push_back(row_of(service, survey(view, context, service, cls)));
  });
  rows.insert(rows.end(), strangers.begin(), strangers.end());
  std::ranges::sort(rows, {}, [](const ReportRow& row) { return std::tie(row.ns, row.service, row.addresses); });
  return rows;
}

}  // namespace metallb
