#include "api/conditions.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/text.h"

namespace api {
namespace {

constexpr std::size_t k_message_limit = 32768;

// Cut between characters: the server refuses half a UTF-8 sequence.
std::string cut(std::string message) {
  if (message.size() <= k_message_limit) return message;
  std::size_t end = k_message_limit;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  message.resize(end);
  return message;
}

boost::json::object to_json(const kube::Condition& condition) {
  boost::json::object json{{"type", condition.type},
                           {"status", condition.status},
                           {"reason", condition.reason},
                           {"message", condition.message}};
  // What an older schema let somebody leave out stays left out.
  if (!condition.lastTransitionTime.empty()) json["lastTransitionTime"] = condition.lastTransitionTime;
  if (condition.observedGeneration != 0) json["observedGeneration"] = condition.observedGeneration;
  return json;
}

}  // namespace

std::optional<boost::json::array> updated_conditions(const std::vector<kube::Condition>& current,
                                                     const std::vector<Saying>& sayings, std::int64_t generation,
                                                     const std::string& now,
                                                     const std::vector<std::string_view>& withdrawn) {
  std::vector<kube::Condition> wanted;
  for (const kube::Condition& condition : current) {
    if (std::ranges::find(withdrawn, condition.type) == withdrawn.end()) wanted.push_back(condition);
  }
  for (const Saying& saying : sayings) {
    auto place = std::ranges::find(wanted, saying.type, &kube::Condition::type);
    if (place == wanted.end()) {
      place = wanted.insert(wanted.end(), kube::Condition{});
      place->type = saying.type;
    }
    if (place->status != saying.status) place->lastTransitionTime = now;
    place->status = saying.status;
    place->reason = saying.reason;
    place->message = cut(base::printable(saying.message));
    place->observedGeneration = generation;
  }
  if (wanted == current) return std::nullopt;
  boost::json::array list;
  for (const kube::Condition& condition : wanted) list.emplace_back(to_json(condition));
  return list;
}

}  // namespace api
