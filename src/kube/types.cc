#include "kube/types.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/pchars.hpp>

namespace kube {
namespace {

std::string encode(std::string_view part) { return boost::urls::encode(part, boost::urls::pchars); }

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::collection_path(std::string_view ns) const {
  std::string path = group.empty() ? "/api/" : "/apis/";
  path += api_version();
  if (namespaced && !ns.empty()) path += "/namespaces/" + encode(ns);
  return path + "/" + std::string(plural);
}

std::string Resource::object_path(std::string_view ns, std::string_view name) const {
  return collection_path(ns) + "/" + encode(name);
}

std::string Ref::to_string() const {
  std::string text(resource == nullptr ? std::string_view("?") : resource->plural);
  if (!ns.empty()) text += "/" + ns;
  return text + "/" + name;
}

StringMap::StringMap(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

const std::string* StringMap::find(std::string_view key) const {
  const auto it = std::ranges::lower_bound(items_, key, {}, [](const Item& i) -> std::string_view { return i.first; });
  return it != items_.end() && it->first == key ? &it->second : nullptr;
}

std::string_view StringMap::get(std::string_view key) const {
  const std::string* value = find(key);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

void StringMap::set(std::string key, std::string value) {
  const auto it = std::ranges::lower_bound(items_, key, {}, &Item::first);
  if (it != items_.end() && it->first == key) {
    it->second = std::move(value);
  } else {
    items_.emplace(it, std::move(key), std::move(value));
  }
}

bool Meta::has_finalizer(std::string_view wanted) const {
  return std::ranges::find(finalizers, wanted) != finalizers.end();
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto strip = [](std::string_view v) {
    const std::size_t digits = v.find_first_not_of('0');
    return digits == std::string_view::npos ? std::string_view() : v.substr(digits);
  };
  a = strip(a);
  b = strip(b);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  const int order = a.compare(b);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

std::string time_text(base::WallTime at) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::floor<std::chrono::seconds>(at)));
}

std::string micro_time(base::WallTime at) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(at - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(whole), micros);
}

}  // namespace kube
