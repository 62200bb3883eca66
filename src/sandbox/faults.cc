#include "sandbox/faults.h"

#include "sandbox/request.h"

namespace sandbox {
namespace {

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  if (pattern.ends_with('*')) return text.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == text;
}

bool verb_fits(std::string_view wanted, std::string_view verb) {
  if (wanted == "write") return verb != "get" && verb != "list" && verb != "watch";
  return wanted.empty() || wanted == verb;
}

}  // namespace

std::optional<Fault> FaultPlan::decide(std::string_view user, const kube::Request& request, base::Random& random) {
  if (faults_.empty()) return std::nullopt;
  const RequestInfo info = parse_request(request);
  const std::string resource = info.subresource.empty() ? info.plural : info.plural + "/" + info.subresource;
  for (Armed& armed : faults_) {
    const Fault& fault = armed.fault;
    if (armed.hit == fault.count) continue;
    if (!fits(fault.user, user) || !verb_fits(fault.verb, info.verb) || !fits(fault.resource, resource) ||
        !fits(fault.name, info.name))
      continue;
    if (fault.effect == Fault::Effect::drop_watch && info.verb != "watch") continue;
    if (armed.seen++ < fault.skip) continue;
    if (fault.probability < 1 && random.unit() >= fault.probability) continue;
    ++armed.hit;
    ++hits_;
    return fault;
  }
  return std::nullopt;
}

}  // namespace sandbox
