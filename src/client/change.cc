// delete, annotate and patch.
#include <fmt/format.h>

#include <algorithm>

#include "client/kinds.h"
#include "client/kubectl.h"
#include "kube/yaml.h"

namespace client {
namespace {

struct Doomed {
  const kube::Resource* kind = nullptr;
  std::string place;
  std::string name;
  std::string uid;
};

base::Result<std::vector<Doomed>> of_files(const Session& session, const std::vector<std::string>& files) {
  std::vector<Doomed> doomed;
  for (const std::string& file : files) {
    const auto documents = read_documents(file);
    if (!documents) return std::unexpected(documents.error());
    for (const json::object& document : *documents) {
      const auto kind = kind_of(document);
      if (!kind) return base::fail(fmt::format("{}: {}", file, kind.error().message));
      std::string place(text_at(document, {"metadata", "namespace"}));
      if (place.empty()) place = session.ns;
      doomed.push_back(
          {*kind, (*kind)->namespaced ? place : "", std::string(text_at(document, {"metadata", "name"})), {}});
    }
  }
  return doomed;
}

kube::ApiResult<std::vector<Doomed>> all_of(const Session& session, const kube::Resource& kind,
                                            const std::string& selector) {
  Query query;
  if (!selector.empty()) query.emplace_back("labelSelector", selector);
  const auto items = session.list(kind, place_of(session, kind, false), query);
  if (!items) return std::unexpected(items.error());
  std::vector<Doomed> doomed;
  for (const json::object& item : *items) {
    doomed.push_back({&kind,
                      std::string(text_at(item, {"metadata", "namespace"})),
                      std::string(text_at(item, {"metadata", "name"})),
                      {}});
  }
  return doomed;
}

// Deletes one and remembers its uid; false after a refusal.
bool remove_one(const Session& session, Doomed& one, bool ignore_not_found) {
  const auto answer = session.remove(*one.kind, one.place, one.name, {{"propagationPolicy", "Background"}});
  if (!answer) {
    if (answer.error().is_not_found() && ignore_not_found) return true;
    session.fail(answer.error());
    return false;
  }
  // The object while finalizers keep it, else a Status that names it.
  one.uid = text_at(*answer, {"metadata", "uid"});
  if (one.uid.empty()) one.uid = text_at(*answer, {"details", "uid"});
  session.out << fmt::format("{} \"{}\" deleted", display_kind(*one.kind), one.name);
  if (!one.place.empty()) session.out << fmt::format(" from {} namespace", one.place);
  session.out << "\n";
  session.out.flush();
  return true;
}

bool is_gone(const Session& session, const Doomed& one, std::optional<kube::ApiError>& error) {
  const auto now = session.get(*one.kind, one.place, one.name);
  if (now) return !one.uid.empty() && text_at(*now, {"metadata", "uid"}) != one.uid;
  if (!now.error().is_not_found()) error = now.error();
  return true;
}

kube::ApiResult<std::vector<Doomed>> select(const Session& session, const DeleteOptions& options,
                                            const std::vector<Target>& targets) {
  std::vector<Doomed> doomed;
  for (const Target& target : targets) {
    if (!target.name.empty()) {
      doomed.push_back({target.kind, place_of(session, *target.kind, true), target.name, {}});
      continue;
    }
    auto more = all_of(session, *target.kind, options.selector);
    if (!more) return more;
    doomed.insert(doomed.end(), more->begin(), more->end());
  }
  return doomed;
}

}  // namespace

int remove(const Session& session, const DeleteOptions& options) {
  std::vector<Doomed> doomed;
  if (!options.files.empty()) {
    if (!options.args.empty()) return session.fail("-f and names exclude each other", k_usage);
    auto named = of_files(session, options.files);
    if (!named) return session.fail(named.error().message);
    doomed = std::move(*named);
  } else {
    const auto targets = parse_targets(options.args);
    if (!targets) return session.fail(targets.error().message, k_usage);
    const bool open = std::ranges::any_of(*targets, [](const Target& t) { return t.name.empty(); });
    if (open && options.selector.empty() && !options.all) {
      return session.fail("say which: a name, -l SELECTOR or --all", k_usage);
    }
    auto selected = select(session, options, *targets);
    if (!selected) return session.fail(selected.error());
    doomed = std::move(*selected);
    if (doomed.empty()) session.out << "No resources found\n";
  }
  int status = k_done;
  std::vector<Doomed> going;
  for (Doomed& one : doomed) {
    if (remove_one(session, one, options.ignore_not_found)) {
      going.push_back(one);
    } else {
      status = k_failed;
    }
  }
  if (!options.wait) return status;
  const base::Duration limit = options.timeout > base::Duration::zero() ? options.timeout : std::chrono::hours(168);
  for (const Doomed& one : going) {
    std::optional<kube::ApiError> error;
    if (!session.wait_until(limit, [&] { return is_gone(session, one, error); })) {
      return session.fail(fmt::format("timed out waiting for the condition on {}/{}", one.kind->plural, one.name));
    }
    if (error) return session.fail(*error);
  }
  return status;
}

int annotate(const Session& session, const std::vector<std::string>& args, bool overwrite) {
  // Names end where the changes begin.
  const auto is_change = [](const std::string& arg) {
    return arg.find('=') != std::string::npos || arg.ends_with('-');
  };
  const auto first = std::ranges::find_if(args, is_change);
  const auto targets = parse_targets({args.begin(), first});
  if (!targets) return session.fail(targets.error().message, k_usage);
  if (first == args.end())
    return session.fail("at least one annotation update is required: KEY=VALUE, or KEY- to remove it", k_usage);
  json::object changes;
  for (auto it = first; it != args.end(); ++it) {
    const std::size_t equals = it->find('=');
    if (equals != std::string::npos) {
      changes[it->substr(0, equals)] = it->substr(equals + 1);
    } else if (it->ends_with('-')) {
      changes[it->substr(0, it->size() - 1)] = nullptr;
    } else {
      return session.fail(fmt::format("\"{}\" is neither KEY=VALUE nor KEY-", *it), k_usage);
    }
  }
  int status = k_done;
  for (const Target& target : *targets) {
    if (target.name.empty()) return session.fail("say which: KIND NAME KEY=VALUE", k_usage);
    const std::string place = place_of(session, *target.kind, true);
    const auto now = session.get(*target.kind, place, target.name);
    if (!now) {
      status = session.fail(now.error());
      continue;
    }
    json::object patch{{"metadata", {{"annotations", changes}}}};
    if (const auto* has = object_at(*now, {"metadata", "annotations"}); has != nullptr && !overwrite) {
      std::string taken;
      for (const auto& change : changes) {
        const auto* value = has->if_contains(change.key());
        if (value == nullptr || change.value().is_null() || *value == change.value()) continue;
        taken += fmt::format("{}'{}' already has a value ({})", taken.empty() ? "" : "; ",
                             std::string_view(change.key()), to_plain(*value));
      }
      if (!taken.empty()) {
        status = session.fail("--overwrite is false but found the following declared annotation(s): " + taken);
        continue;
      }
      // What was looked at must still be so.
      patch["metadata"].get_object()["resourceVersion"] = text_at(*now, {"metadata", "resourceVersion"});
    }
    const auto patched = session.patch(*target.kind, place, target.name, patch);
    if (!patched) {
      status = session.fail(patched.error());
      continue;
    }
    session.out << display_name(*target.kind, target.name) << " annotated\n";
  }
  return status;
}

int patch(const Session& session, const PatchOptions& options) {
  if (options.type != "merge") {
    return session.fail(
        fmt::format("--type {}: only merge is known here; kubectl has json and strategic too", options.type), k_usage);
  }
  const auto targets = parse_targets(options.args);
  if (!targets) return session.fail(targets.error().message, k_usage);
  if (options.patch.empty()) return session.fail("say what to change: -p '{\"spec\":{…}}'", k_usage);
  const auto documents = kube::parse_yaml(options.patch);
  if (!documents) return session.fail("-p: " + documents.error().message, k_usage);
  if (documents->size() != 1 || !documents->front().is_object()) {
    return session.fail("-p is to be one object in JSON or YAML, such as '{\"spec\":{\"claimRef\":null}}'", k_usage);
  }
  int status = k_done;
  for (const Target& target : *targets) {
    if (target.name.empty()) return session.fail("say which: KIND NAME", k_usage);
    const std::string place = place_of(session, *target.kind, true);
    const auto before = session.get(*target.kind, place, target.name);
    if (!before) {
      status = session.fail(before.error());
      continue;
    }
    const auto after =
        session.patch(*target.kind, place, target.name, documents->front().get_object(), options.subresource);
    if (!after) {
      status = session.fail(after.error());
      continue;
    }
    const bool same =
        text_at(*before, {"metadata", "resourceVersion"}) == text_at(*after, {"metadata", "resourceVersion"});
    session.out << display_name(*target.kind, target.name) << (same ? " patched (no change)\n" : " patched\n");
  }
  return status;
}

}  // namespace client
