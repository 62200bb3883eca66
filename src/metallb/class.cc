#include "metallb/class.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/metallb.h"
#include "api/names.h"
#include "metallb/class_pass.h"
#include "metallb/reasons.h"
#include "metallb/rendering.h"

namespace metallb {
namespace {

constexpr std::string_view k_parameters_valid = "ParametersValid";
constexpr std::string_view k_backend_ready = "BackendReady";
// Passes in a row that failed before the status says so.
constexpr int k_failures_to_report = 3;
// How long MetalLB may refuse its configuration before that is said.
constexpr base::Duration k_rejection_patience = std::chrono::seconds(5);

// An object of the class's rendering, or the fact that somebody else has the name.
template <class T>
const T* rendered(ClassPass& pass, bool& foreign) {
  if (!pass.view.available(T::kind())) return nullptr;
  const auto* object = pass.view.get<T>(pass.settings.metallb_namespace, pool_name(pass.name));
  foreign = object != nullptr && !is_rendering_of(object->meta, pass.name);
  return foreign ? nullptr : object;
}

void read(ClassPass& pass) {
  const auto* cls = pass.view.get<api::IPAddressClass>(pass.name);
  // A class of another provisioner under the same name changes nothing for what is held under ours.
  if (cls != nullptr && cls->provisioner == api::metallb::provisioner) pass.cls = cls;
  pass.pool = rendered<api::IPAddressPool>(pass, pass.foreign_pool);
  pass.l2 = rendered<api::L2Advertisement>(pass, pass.foreign_l2);
  pass.bgp = rendered<api::BGPAdvertisement>(pass, pass.foreign_bgp);
  const auto recall = [&](const kube::Object* object) {
    if (!pass.recorded && object != nullptr)
      pass.recorded = parse_advertise(object->meta.annotations.get(api::metallb::advertise));
  };
  recall(pass.pool);
  recall(pass.l2);
  recall(pass.bgp);
}

// What cannot be read anew, since the class is gone or its parameters are no good, is as it was.
const ClassParameters* advertising_as_before(const ClassPass& pass) {
  return pass.recorded ? &*pass.recorded : nullptr;
}

// Why nothing can be written to MetalLB at all; the reason and the sentence.
struct Obstacle {
  std::string_view reason;
  std::string message;
};

std::optional<Obstacle> backend_obstacle(ClassPass& pass) {
  const std::string& ns = pass.settings.metallb_namespace;
  const auto* home = pass.view.get<api::Namespace>(ns);
  if (home == nullptr)
    return Obstacle{reason::metallb_missing, fmt::format("the namespace {} of MetalLB does not exist", ns)};
  if (home->phase == "Terminating" || home->meta.deleting)
    return Obstacle{reason::metallb_terminating, fmt::format("the namespace {} of MetalLB is being deleted", ns)};
  if (!pass.view.available(api::IPAddressPool::kind()))
    return Obstacle{
        reason::metallb_missing,
        "the API server shows no IPAddressPool of metallb.io/v1beta1: MetalLB is not installed, or the driver "
        "has no right to read it in the namespace " +
            ns};
  return std::nullopt;
}

// The pool's entries as they are, with `outsiders` behind them.
std::vector<std::string> kept_addresses(const ClassPass& pass, const Outsiders& outsiders) {
  std::vector<std::string> addresses = render_addresses({}, outsiders.rendered);
  if (pass.pool != nullptr)
    addresses.insert(addresses.begin(), pass.pool->addresses.begin(), pass.pool->addresses.end());
  return addresses;
}

base::IpRangeSet pool_content(const ClassPass& pass) {
  return pass.pool == nullptr ? base::IpRangeSet() : pool_ranges(pass.pool->addresses);
}

// --- a class that is not there, or not ours (any more) ---

// Without any pool MetalLB empties every Service it has ever served, those of others too.
bool is_last_pool_in_use(ClassPass& pass) {
  bool others = false;
  pass.view.each<api::IPAddressPool>(k_pools_index, "", [&](const api::IPAddressPool& pool) {
    const kube::Ref ref{&api::IPAddressPool::kind().resource, pool.meta.ns, pool.meta.name};
    // One that is being written to may be on its way out as well.
    others = pool.meta.name != pass.pool->meta.name && !pool.meta.deleting && !pass.view.busy(ref);
    return !others;
  });
  return !others && pass.view.count<api::Service>(k_served_index, "") > 0;
}

void tell_about_pool(ClassPass& pass, std::string_view reason, std::string action, std::string note) {
  pass.plan.events.push_back(
      {.regarding = {&api::IPAddressPool::kind().resource, pass.pool->meta.ns, pass.pool->meta.name},
       .regarding_uid = pass.pool->meta.uid,
       .warning = true,
       .reason = std::string(reason),
       .action = std::move(action),
       .note = std::move(note),
       .once = true});
}

void tell_that_pool_is_kept(ClassPass& pass) {
  tell_about_pool(
      pass, reason::last_pool_kept, "Delete",
      fmt::format("class {} is gone, but this is MetalLB's last pool: without any it would take the addresses of "
                  "all Services it serves. It goes when there is another pool, or no such Service",
                  pass.name));
}

void tell_that_nothing_is_advertised(ClassPass& pass) {
  tell_about_pool(pass, reason::not_advertised, "Render",
                  fmt::format("class {} is gone, and nothing is left that says how its addresses were advertised: they "
                              "are held, but nobody announces them until the class is created again",
                              pass.name));
}

void remove_rendering(ClassPass& pass) {
  std::vector<kube::Write> writes;
  const auto drop = [&](const auto* object, const kube::Resource& resource, const char* step) {
    if (object != nullptr && !object->meta.deleting) writes.push_back(kube::remove(resource, *object, true, step));
  };
  drop(pass.l2, api::L2Advertisement::kind().resource, "class-l2-delete");
  drop(pass.bgp, api::BGPAdvertisement::kind().resource, "class-bgp-delete");
  const bool keep_pool = pass.pool != nullptr && is_last_pool_in_use(pass);
  if (!keep_pool) drop(pass.pool, api::IPAddressPool::kind().resource, "class-pool-delete");
  const kube::Ref cls{&api::IPAddressClass::kind().resource, "", pass.name};
  if (writes.empty()) {
    pass.plan.forget = pass.pool == nullptr && pass.l2 == nullptr && pass.bgp == nullptr;
    if (keep_pool) tell_that_pool_is_kept(pass);
  } else if (!pass.view.confirmed(cls)) {
    pass.plan.confirms.push_back({cls});
  } else {
    pass.plan.writes = std::move(writes);
  }
}

void serve_absent(ClassPass& pass) {
  if (!is_still_held(pass)) {
    remove_rendering(pass);
    return;
  }
  if (backend_obstacle(pass)) return;
  const Outsiders outsiders = find_outsiders(pass, pool_content(pass), true);
  plan_rendering(pass, {without_forgotten(pass, kept_addresses(pass, outsiders)), advertising_as_before(pass)});
  const bool known = pass.recorded || pass.l2 != nullptr || pass.bgp != nullptr;
  if (pass.pool != nullptr && !known && pass.view.available(api::L2Advertisement::kind()))
    tell_that_nothing_is_advertised(pass);
}

// --- a class of ours ---

api::Saying judge_parameters(const ClassPass& pass, const std::optional<Overlap>& overlap) {
  const std::string stays = pass.pool == nullptr ? "" : "; what was rendered before stays as it is";
  if (!*pass.parsed)
    return {k_parameters_valid, "False", reason::parameters_invalid, join_sentences(pass.parsed->error()) + stays};
  if (overlap && overlap->ours_to_solve)
    return {k_parameters_valid, "False", reason::overlap, overlap->message + stays};
  const std::string notes = join_sentences((*pass.parsed)->notes);
  return {k_parameters_valid, "True", reason::parameters_valid,
          notes.empty() ? "all parameters are understood" : notes};
}

std::string remarks(ClassPass& pass, const Outsiders& outsiders, const Rendered& rendered) {
  std::vector<std::string> sentences;
  if (pass.pool != nullptr) sentences.push_back(fmt::format("rendered as pool {}", pool_name(pass.name)));
  if (!outsiders.rendered.empty())
    sentences.push_back(fmt::format("kept although outside the ranges: {}", some_of(outsiders.rendered)));
  if (!outsiders.left_out.empty())
    sentences.push_back(
        fmt::format("not held here, since another pool or class has them: {}", some_of(outsiders.left_out)));
  if (const auto untracked = find_untracked(pass); !untracked.empty())
    sentences.push_back(fmt::format("in use without a claim: {}", some_of(untracked)));
  if (rendered.aggregation_off)
    sentences.emplace_back("routes are not aggregated while addresses outside the ranges are kept");
  return join_sentences(sentences);
}

// In the words of a process of MetalLB's that has refused the configuration as a whole, ours or not: it works with an
// older one, or with none after a restart. While pools and advertisements change, speakers refuse what is valid a
// moment later.
std::string rejection(ClassPass& pass) {
  const api::ConfigurationState* first = nullptr;
  if (pass.view.available(api::ConfigurationState::kind())) {
    pass.view.each<api::ConfigurationState>(k_rejected_index, "", [&](const api::ConfigurationState& state) {
      first = &state;
      return false;
    });
  }
  const base::Duration lasted = pass.view.since("rejected", first != nullptr);
  if (first == nullptr) return "";
  if (lasted < k_rejection_patience) {
    pass.plan.then_look_after(k_rejection_patience - lasted);
    return "";
  }
  const std::size_t all = pass.view.count<api::ConfigurationState>(k_rejected_index, "");
  return fmt::format("MetalLB's {}{} refuses its whole configuration, and takes no change until that is mended: {}",
                     first->meta.name, all > 1 ? fmt::format(" (and {} more)", all - 1) : "", first->errorSummary);
}

api::Saying judge_backend(ClassPass& pass, const std::optional<Overlap>& overlap, const Outsiders& outsiders,
                          const Rendered& rendered) {
  const std::string name = pool_name(pass.name);
  const auto unready = [](std::string_view reason, std::string message) {
    return api::Saying{k_backend_ready, "False", reason, std::move(message)};
  };
  if (pass.foreign_pool || pass.foreign_l2 || pass.foreign_bgp) {
    return unready(reason::foreign_object,
                   fmt::format("the {} {} was not made for this class and is left alone: rename it, or "
                               "delete it if it is not needed",
                               pass.foreign_pool ? "IPAddressPool"
                               : pass.foreign_l2 ? "L2Advertisement"
                                                 : "BGPAdvertisement",
                               name));
  }
  if (overlap && !overlap->ours_to_solve) return unready(reason::pool_overlap, overlap->message);
  if (!rendered.stubborn.empty()) {
    return unready(reason::not_kept,
                   fmt::format("{} does not stay as it is written: either somebody else keeps changing it, or "
                               "the installed MetalLB is too old for one of the parameters",
                               rendered.stubborn));
  }
  if (!rendered.settled) {
    const std::string& words = pass.view.refusal();
    return unready(reason::write_refused,
                   words.empty() ? fmt::format("{} cannot be written; it is tried again", name) : words);
  }
  if (pass.pool != nullptr && pass.pool->meta.deleting) {
    return unready(reason::pool_terminating,
                   fmt::format("the pool {} is being deleted and waits for the finalizers {}: it is "
                               "rendered anew when it is gone",
                               name, fmt::join(pass.pool->meta.finalizers, ", ")));
  }
  if (pass.wanted != nullptr) {
    if (pass.wanted->l2 && !pass.view.available(api::L2Advertisement::kind()))
      return unready(reason::metallb_missing, "the API server knows no L2Advertisement of metallb.io/v1beta1");
    if (pass.wanted->bgp && !pass.view.available(api::BGPAdvertisement::kind()))
      return unready(reason::metallb_missing, "the API server knows no BGPAdvertisement of metallb.io/v1beta1");
  }
  if (pass.pool == nullptr) return unready(reason::nothing_rendered, "nothing has been rendered yet");
  if (std::string words = rejection(pass); !words.empty())
    return unready(reason::configuration_rejected, std::move(words));
  return {k_backend_ready, "True", pass.wanted != nullptr ? reason::rendered : reason::kept_as_before,
          remarks(pass, outsiders, rendered)};
}

void serve_own(ClassPass& pass) {
  pass.parsed = pass.cache.get(pass.cls->parameters);
  const std::optional<Obstacle> obstacle = backend_obstacle(pass);
  std::optional<Overlap> overlap;
  if (*pass.parsed) overlap = find_overlap(pass, **pass.parsed);
  if (*pass.parsed && !overlap) pass.wanted = &**pass.parsed;

  const base::IpRangeSet ranges = pass.wanted != nullptr ? pass.wanted->ranges : pool_content(pass);
  const Outsiders outsiders = find_outsiders(pass, ranges, false);
  Rendered rendered;
  if (!obstacle) {
    auto addresses = pass.wanted != nullptr ? render_addresses(pass.wanted->pieces, outsiders.rendered)
                                            : kept_addresses(pass, outsiders);
    rendered = plan_rendering(pass, {without_forgotten(pass, std::move(addresses)),
                                     pass.wanted != nullptr ? pass.wanted : advertising_as_before(pass)});
  }
  // On the straight path the status is written once, when everything is in place; a single failure is no news.
  if (!rendered.settled && rendered.stubborn.empty() && pass.view.failures() < k_failures_to_report) return;
  Report report;
  report.parameters_valid = judge_parameters(pass, overlap);
  report.backend_ready = obstacle ? api::Saying{k_backend_ready, "False", obstacle->reason, obstacle->message}
                                  : judge_backend(pass, overlap, outsiders, rendered);
  InventoryVerdict inventory;
  judge_inventory(pass, inventory);
  report.inventory = &inventory;
  if (pass.wanted != nullptr) report.ranges = &pass.wanted->ranges;
  report.counted = &ranges;
  report.outsiders = &outsiders;
  plan_status(pass, report);
}

}  // namespace

bool is_still_held(ClassPass& pass) {
  return pass.view.count<api::IPAddress>(k_ledger_index, held_bucket(pass.name, base::Family::v4)) != 0 ||
         pass.view.count<api::IPAddress>(k_ledger_index, held_bucket(pass.name, base::Family::v6)) != 0 ||
         pass.view.count<api::Service>(k_placeholder_pool_index, placeholder_bucket(pool_name(pass.name))) != 0;
}

const api::IPAddressPool* pool_of_class(kube::View& view, std::string_view metallb_namespace,
                                        std::string_view class_name) {
  const auto* pool = view.get<api::IPAddressPool>(metallb_namespace, pool_name(class_name));
  return pool != nullptr && is_rendering_of(pool->meta, class_name) ? pool : nullptr;
}

ClassReconciler::ClassReconciler(ClassSettings settings, std::shared_ptr<ParameterCache> parameters)
    : settings_(std::move(settings)), parameters_(std::move(parameters)) {}

kube::Plan ClassReconciler::reconcile(const kube::Key& key, kube::View& view) const {
  ClassPass pass{.settings = settings_, .cache = *parameters_, .view = view, .name = key.name};
  read(pass);
  if (pass.cls != nullptr) {
    serve_own(pass);
  } else {
    serve_absent(pass);
  }
  return std::move(pass.plan);
}

}  // namespace metallb
