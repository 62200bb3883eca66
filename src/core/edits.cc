#include "core/edits.h"

namespace core {

void ConditionEdit::set(std::string_view type, bool status, std::string_view reason, std::string message) {
  sayings_.push_back({type, status ? "True" : "False", reason, std::move(message)});
}

void ConditionEdit::settle(std::string_view type, std::string_view reason, std::string message) {
  const kube::Condition* stored = kube::find_condition(stored_, type);
  if (stored == nullptr || stored->status != "True" || stored->reason != reason)
    set(type, true, reason, std::move(message));
}

void ConditionEdit::clear(std::string_view type) { withdrawn_.push_back(type); }

std::optional<boost::json::array> ConditionEdit::json() const {
  return api::updated_conditions(stored_, sayings_, generation_, now_, withdrawn_);
}

std::vector<const api::Saying*> ConditionEdit::news() const {
  std::vector<const api::Saying*> news;
  for (const api::Saying& saying : sayings_) {
    const kube::Condition* stored = kube::find_condition(stored_, saying.type);
    if (stored == nullptr || stored->status != saying.status || stored->reason != saying.reason)
      news.push_back(&saying);
  }
  return news;
}

}  // namespace core
