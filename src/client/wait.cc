#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "client/jsonpath.h"
#include "client/kinds.h"
#include "client/kubectl.h"

namespace client {
namespace {

struct Wanted {
  enum class Kind { deleted, created, condition, path };
  Kind kind = Kind::path;
  std::string type;                  // of a condition
  std::optional<std::string> value;  // of a condition or path; none: any
  JsonPath path;
};

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

base::Result<Wanted> parse_path(std::string_view text) {
  Wanted wanted;
  // The value begins behind the first "=" outside of braces and brackets.
  std::size_t depth = 0;
  std::size_t cut = std::string_view::npos;
  for (std::size_t i = 0; i < text.size() && cut == std::string_view::npos; ++i) {
    if (text[i] == '{' || text[i] == '[') ++depth;
    if ((text[i] == '}' || text[i] == ']') && depth > 0) --depth;
    if (text[i] == '=' && depth == 0) cut = i;
  }
  if (cut != std::string_view::npos) {
    wanted.value = std::string(text.substr(cut + 1));
    if (wanted.value->empty()) return base::fail("jsonpath wait condition is empty behind the =");
    text = text.substr(0, cut);
  }
  auto path = JsonPath::parse(text);
  if (!path) return std::unexpected(path.error());
  wanted.path = std::move(*path);
  return wanted;
}

base::Result<Wanted> parse_wanted(std::string_view text) {
  Wanted wanted;
  if (text == "delete" || text == "create") {
    wanted.kind = text == "delete" ? Wanted::Kind::deleted : Wanted::Kind::created;
    return wanted;
  }
  if (text.starts_with("condition=")) {
    text.remove_prefix(10);
    const std::size_t equals = text.find('=');
    wanted.kind = Wanted::Kind::condition;
    wanted.type = text.substr(0, equals);
    wanted.value = equals == std::string_view::npos ? "true" : std::string(text.substr(equals + 1));
    return wanted;
  }
  if (text.starts_with("jsonpath=")) return parse_path(text.substr(9));
  return base::fail(fmt::format("--for={} is none of jsonpath=PATH=VALUE, condition=TYPE, delete, create", text));
}

std::int64_t number_at(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = find(object, path);
  return value == nullptr || !value->is_int64() ? 0 : value->get_int64();
}

bool condition_holds(const json::object& object, const Wanted& wanted) {
  const auto* conditions = array_at(object, {"status", "conditions"});
  if (conditions == nullptr) return false;
  for (const json::value& value : *conditions) {
    const auto* condition = value.if_object();
    if (condition == nullptr || !same_word(text_at(*condition, {"type"}), wanted.type)) continue;
    // What was observed of an older spec says nothing yet.
    const std::int64_t observed = number_at(*condition, {"observedGeneration"});
    if (observed != 0 && observed < number_at(object, {"metadata", "generation"})) return false;
    return same_word(text_at(*condition, {"status"}), *wanted.value);
  }
  return false;
}

bool holds(const json::object& object, const Wanted& wanted) {
  if (wanted.kind == Wanted::Kind::created) return true;
  if (wanted.kind == Wanted::Kind::condition) return condition_holds(object, wanted);
  const json::value root(object);
  const auto found = wanted.path.find(root);
  if (!wanted.value) return !found.empty();
  return found.size() == 1 && to_plain(*found.front()) == *wanted.value;
}

int wait_for(const Session& session, const Target& target, const Wanted& wanted, base::Duration limit) {
  const std::string place = place_of(session, *target.kind, true);
  const bool deletion = wanted.kind == Wanted::Kind::deleted;
  std::optional<kube::ApiError> error;
  std::string uid;
  const bool met = session.wait_until(limit, [&] {
    const auto now = session.get(*target.kind, place, target.name);
    if (now) {
      if (uid.empty()) uid = text_at(*now, {"metadata", "uid"});
      return deletion ? uid != text_at(*now, {"metadata", "uid"}) : holds(*now, wanted);
    }
    const bool missing = now.error().is_not_found();
    if (missing && deletion) return true;
    if (missing && wanted.kind == Wanted::Kind::created) return false;
    error = now.error();
    return true;
  });
  if (error) return session.fail(*error);
  if (!met)
    return session.fail(fmt::format("timed out waiting for the condition on {}/{}", target.kind->plural, target.name));
  // Of what was never there nothing is said.
  if (!deletion || !uid.empty()) session.out << display_name(*target.kind, target.name) << " condition met\n";
  return k_done;
}

}  // namespace

int wait(const Session& session, const WaitOptions& options) {
  if (options.condition.empty()) {
    return session.fail(
        "say what to wait for: --for=jsonpath=.status.phase=Bound, --for=condition=TYPE, --for=delete or --for=create",
        k_usage);
  }
  const auto wanted = parse_wanted(options.condition);
  if (!wanted) return session.fail(wanted.error().message, k_usage);
  const auto targets = parse_targets(options.args);
  if (!targets) return session.fail(targets.error().message, k_usage);
  int status = k_done;
  const base::MonoTime end = session.server.now() + options.timeout;
  for (const Target& target : *targets) {
    if (target.name.empty()) return session.fail("say which: KIND/NAME", k_usage);
    const base::Duration left = std::max(base::Duration::zero(), end - session.server.now());
    if (wait_for(session, target, *wanted, left) != k_done) status = k_failed;
  }
  return status;
}

}  // namespace client
