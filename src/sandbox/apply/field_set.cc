#include "sandbox/apply/field_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace sandbox {

const FieldSet* FieldSet::child(std::string_view element) const {
  const auto found = children.find(element);
  return found == children.end() ? nullptr : &found->second;
}

void FieldSet::insert(const std::vector<std::string>& path) {
  FieldSet* node = this;
  for (const std::string& element : path) node = &node->children[element];
  node->member = true;
}

void FieldSet::erase(const std::vector<std::string>& path) {
  FieldSet* node = this;
  std::vector<std::pair<FieldSet*, const std::string*>> way;
  for (const std::string& element : path) {
    const auto found = node->children.find(element);
    if (found == node->children.end()) return;
    way.emplace_back(node, &element);
    node = &found->second;
  }
  node->member = false;
  for (auto step = way.rbegin(); step != way.rend() && node->empty(); ++step) {
    node = step->first;
    node->children.erase(*step->second);
  }
}

void unite(FieldSet& set, FieldSet more) {
  set.member = set.member || more.member;
  set.children.merge(more.children);
  for (auto& [element, child] : more.children) unite(set.children.find(element)->second, std::move(child));
}

void subtract(FieldSet& set, const FieldSet& removed) {
  set.member = set.member && !removed.member;
  for (const auto& [element, other] : removed.children) {
    const auto own = set.children.find(element);
    if (own == set.children.end()) continue;
    subtract(own->second, other);
    if (own->second.empty()) set.children.erase(own);
  }
}

bool covers(const FieldSet& set, const FieldSet& part) {
  if (part.member && !set.member) return false;
  return std::ranges::all_of(part.children, [&set](const auto& entry) {
    const FieldSet* own = set.child(entry.first);
    return own != nullptr && covers(*own, entry.second);
  });
}

FieldSet common(const FieldSet& a, const FieldSet& b) {
  FieldSet both;
  both.member = a.member && b.member;
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.child(element);
    if (other == nullptr) continue;
    FieldSet shared = common(child, *other);
    if (!shared.empty()) both.children.emplace(element, std::move(shared));
  }
  return both;
}

FieldSet read_fields(const json::object& fields) {
  FieldSet set;
  for (const json::key_value_pair& field : fields) {
    if (field.key() == ".") {
      set.member = true;
      continue;
    }
    // written in this order, so that each goes to the end
    FieldSet& child = set.children.try_emplace(set.children.end(), std::string(field.key()))->second;
    const json::object* below = field.value().if_object();
    if (below != nullptr) child = read_fields(*below);
    if (child.empty()) child.member = true;
  }
  return set;
}

json::object write_fields(const FieldSet& set) {
  json::object fields;
  fields.reserve(set.children.size());
  for (const auto& [element, child] : set.children) {
    json::object below = write_fields(child);
    if (child.member && !child.children.empty()) {
      json::object marked{{".", json::object()}};
      for (json::key_value_pair& field : below) marked[field.key()] = std::move(field.value());
      below = std::move(marked);
    }
    fields.emplace(element, std::move(below));
  }
  return fields;
}

namespace {

std::string printed(std::string_view element) {
  const std::string_view rest = element.substr(2);
  if (element.starts_with("f:")) return fmt::format(".{}", rest);
  if (element.starts_with("v:")) return fmt::format("[={}]", rest);
  const auto keys = parse_json(rest);
  if (!keys || !keys->is_object()) return fmt::format("[{}]", rest);
  std::string text;
  for (const json::key_value_pair& key : keys->get_object()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", std::string_view(key.key()), to_text(key.value()));
  }
  return fmt::format("[{}]", text);
}

void append_paths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& paths) {
  // a set's own members come before what is below them
  for (const auto& [element, child] : set.children) {
    if (child.member) paths.push_back(prefix + printed(element));
  }
  for (const auto& [element, child] : set.children) append_paths(child, prefix + printed(element), paths);
}

}  // namespace

std::vector<std::string> printed_paths(const FieldSet& set) {
  std::vector<std::string> paths;
  append_paths(set, {}, paths);
  return paths;
}

}  // namespace sandbox
