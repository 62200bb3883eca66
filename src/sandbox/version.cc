#include "sandbox/version.h"

#include <cstring>
#include <stdexcept>

#include "sandbox/failure.h"
#include "sandbox/selector.h"

namespace sandbox {
namespace {

constexpr std::size_t k_most_documents = 1000;
constexpr std::size_t k_most_bytes = 4UL << 20U;

void append_member(std::string& text, const json::key_value_pair& member) {
  if (text.size() > 1) text += ',';
  text += quote(member.key());
  text += ':';
  text += to_text(member.value());
}

bool is_type(std::string_view member) { return member == "kind" || member == "apiVersion"; }

void append_text(std::string& noted, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  noted.append(reinterpret_cast<const char*>(&size), sizeof size);
  noted += text;
}

std::string_view take_text(std::string_view& noted) {
  std::uint32_t size = 0;
  std::memcpy(&size, noted.data(), sizeof size);
  const std::string_view text = noted.substr(sizeof size, size);
  noted.remove_prefix(sizeof size + size);
  return text;
}

void note(std::string& noted, char what, std::string_view name, std::string_view value) {
  noted += what;
  append_text(noted, name);
  append_text(noted, value);
}

std::string notes_of(const Kind& kind, const json::object& document) {
  std::string noted;
  if (const json::object* labels = object_at(document, {"metadata", "labels"})) {
    for (const json::key_value_pair& label : *labels) {
      if (label.value().is_string()) note(noted, 'l', label.key(), view(label.value().get_string()));
    }
  }
  for (const std::string& field : kind.selectable) note(noted, 'f', field, field_text(document, field));
  noted.shrink_to_fit();
  return noted;
}

}  // namespace

void RecentDocuments::keep(Document document, std::size_t bytes) {
  bytes_ += bytes;
  kept_.emplace_back(std::move(document), bytes);
  while (kept_.size() > k_most_documents || (bytes_ > k_most_bytes && kept_.size() > 1)) {
    bytes_ -= kept_.front().second;
    kept_.pop_front();
  }
}

Version::Version(const Kind& kind, std::uint64_t revision, json::object document,
                 std::shared_ptr<RecentDocuments> recent)
    : revision_(revision), text_("{"), noted_(notes_of(kind, document)), recent_(std::move(recent)) {
  for (const std::string_view name : {"kind", "apiVersion"}) {
    if (const auto* member = document.find(name); member != document.end()) append_member(text_, *member);
  }
  type_bytes_ = text_.size();
  for (const json::key_value_pair& member : document) {
    if (!is_type(member.key())) append_member(text_, member);
  }
  text_ += '}';
  text_.shrink_to_fit();
  auto shared = std::make_shared<const json::object>(std::move(document));
  document_ = shared;
  recent_->keep(std::move(shared), text_.size());
}

std::string Version::untyped_text() const {
  std::string_view rest = std::string_view(text_).substr(type_bytes_);
  if (rest.starts_with(',')) rest.remove_prefix(1);
  return "{" + std::string(rest);
}

Document Version::document() const {
  if (auto known = document_.lock()) return known;
  auto parsed = parse_stored(text_);
  if (!parsed) throw std::logic_error("a stored document cannot be read: " + parsed.error().message);
  auto shared = std::make_shared<const json::object>(std::move(*parsed));
  document_ = shared;
  recent_->keep(shared, text_.size());
  return shared;
}

std::optional<std::string_view> Version::noted(char what, std::string_view name) const {
  std::string_view rest = noted_;
  while (!rest.empty()) {
    const char kind = rest.front();
    rest.remove_prefix(1);
    const std::string_view key = take_text(rest);
    const std::string_view value = take_text(rest);
    if (kind == what && key == name) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Version::label(std::string_view name) const { return noted('l', name); }
std::optional<std::string_view> Version::field(std::string_view dotted) const { return noted('f', dotted); }

}  // namespace sandbox
