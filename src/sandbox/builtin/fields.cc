#include "sandbox/builtin/fields.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sandbox {
namespace {

struct Line {
  std::size_t depth = 0;
  std::string_view name;
  std::string_view type;
  std::string_view number;    // "" if it is not read from protobuf
  std::string_view fallback;  // JSON text
  std::string_view description;
};
struct Shape {
  std::string_view description;
  std::vector<Line> lines;
};
using Shapes = std::map<std::string_view, Shape, std::less<>>;

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Line line_of(std::string_view text) {
  Line line;
  line.depth = text.find_first_not_of(' ') / 2;
  text.remove_prefix(line.depth * 2);
  if (const std::size_t bar = text.find(" | "); bar != std::string_view::npos) {
    line.description = text.substr(bar + 3);
    text = text.substr(0, bar);
  }
  if (const std::size_t equals = text.find(" = "); equals != std::string_view::npos) {
    line.fallback = text.substr(equals + 3);
    text = text.substr(0, equals);
  }
  line.name = take(text, ' ');
  line.type = take(text, '#');
  line.number = text;
  return line;
}

Shapes read_shapes() {
  Shapes shapes;
  for (std::string_view text : {core_fields, pod_fields, workload_fields, policy_fields}) {
    Shape* current = nullptr;
    while (!text.empty()) {
      std::string_view line = take(text, '\n');
      if (line.empty()) continue;
      if (line.starts_with("# ")) {
        line.remove_prefix(2);
        const std::string_view name = take(line, ' ');
        current = &shapes[name];
        current->description = line;
      } else {
        current->lines.push_back(line_of(line));
      }
    }
  }
  return shapes;
}

// Turns lines into OpenAPI.
class Builder {
 public:
  Builder() : shapes_(read_shapes()) {}
  const Shapes& shapes() const { return shapes_; }

  json::object shape(std::string_view name) const {
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) throw std::logic_error("no fields for " + std::string(name));
    json::object schema = object_of(found->second.lines, 0, found->second.lines.size(), 0);
    schema["description"] = found->second.description;
    return schema;
  }

 private:
  json::object object_of(const std::vector<Line>& lines, std::size_t from, std::size_t to, std::size_t depth) const {
    json::object properties;
    for (std::size_t at = from; at < to;) {
      std::size_t end = at + 1;
      while (end < to && lines[end].depth > depth) ++end;
      json::object field = type_of(lines[at].type, lines, at + 1, end, depth + 1);
      if (!lines[at].description.empty()) field["description"] = lines[at].description;
      if (!lines[at].number.empty()) field[number_keyword] = std::stoi(std::string(lines[at].number));
      if (!lines[at].fallback.empty()) {
        auto value = parse_json(lines[at].fallback);
        if (!value) throw std::logic_error("no default: " + std::string(lines[at].fallback));
        field["default"] = std::move(*value);
      }
      properties[lines[at].name] = std::move(field);
      at = end;
    }
    return {{"type", "object"}, {"properties", std::move(properties)}};
  }

  // The fields below a line are `lines[from, to)`.
  json::object type_of(std::string_view type, const std::vector<Line>& lines, std::size_t from, std::size_t to,
                       std::size_t depth) const {
    if (type.starts_with('[')) return list_of(type, lines, from, to, depth);
    if (type.starts_with("{*")) {
      type.remove_prefix(2);
      const bool atomic = type.starts_with('~');
      json::object map{{"type", "object"},
                       {"additionalProperties", type_of(type.substr(atomic ? 2 : 1), lines, from, to, depth)}};
      if (atomic) map["x-kubernetes-map-type"] = "atomic";
      return map;
    }
    if (type.starts_with('{')) {
      const std::string_view marks = take(type, '}').substr(1);
      json::object object = type.starts_with('@') ? shape(type.substr(1)) : object_of(lines, from, to, depth);
      if (marks.find('~') != std::string_view::npos) object["x-kubernetes-map-type"] = "atomic";
      if (marks.find('!') != std::string_view::npos) object[embedded_keyword] = true;
      if (marks.find('+') != std::string_view::npos) object["x-kubernetes-preserve-unknown-fields"] = true;
      return object;
    }
    if (type.starts_with('@')) return shape(type.substr(1));
    return simple(type);
  }

  json::object list_of(std::string_view type, const std::vector<Line>& lines, std::size_t from, std::size_t to,
                       std::size_t depth) const {
    std::string_view keys = take(type, ']').substr(1);
    const bool embedded = type.starts_with('!');
    if (embedded) type.remove_prefix(1);
    json::object list{{"type", "array"}, {"items", type_of(type, lines, from, to, depth)}};
    if (embedded) list[embedded_keyword] = true;
    list["x-kubernetes-list-type"] = keys.empty() ? "atomic" : keys == "=" ? "set" : "map";
    if (!keys.empty() && keys != "=") {
      json::array names;
      while (!keys.empty()) names.emplace_back(take(keys, ','));
      list["x-kubernetes-list-map-keys"] = std::move(names);
    }
    return list;
  }

  static json::object simple(std::string_view type) {
    if (type == "s") return {{"type", "string"}};
    if (type == "y") return {{"type", "string"}, {"format", "byte"}};
    if (type == "t") return {{"type", "string"}, {"format", "date-time"}};
    if (type == "i") return {{"type", "integer"}, {"format", "int32"}};
    if (type == "l") return {{"type", "integer"}, {"format", "int64"}};
    if (type == "b") return {{"type", "boolean"}};
    if (type == "x") return {{"x-kubernetes-int-or-string", true}};
    if (type == "q") return {{"x-kubernetes-preserve-unknown-fields", true}};
    if (type == "any") return {{"x-kubernetes-preserve-unknown-fields", true}};
    throw std::logic_error("no type: " + std::string(type));
  }

  Shapes shapes_;
};

json::object text_field(std::string_view description) { return {{"type", "string"}, {"description", description}}; }

std::map<std::string, BuiltinFields, std::less<>> build() {
  const Builder builder;
  std::map<std::string, BuiltinFields, std::less<>> all;
  const json::object metadata = builder.shape("ObjectMeta");
  for (const auto& [name, shape] : builder.shapes()) {
    json::object schema = builder.shape(name);
    json::object properties{{"apiVersion", text_field("Group and version of the kind.")},
                            {"kind", text_field("The kind of object this is.")},
                            {"metadata", json::object()}};
    for (json::key_value_pair& field : schema["properties"].get_object()) properties[field.key()] = field.value();
    schema["properties"] = std::move(properties);
    auto parsed = Schema::parse(schema);
    if (!parsed) throw std::logic_error(fmt::format("{}: {}", name, parsed.error().message));
    if (name == "DeleteOptions") {  // has no metadata
      all[std::string(name)] = {.openapi = std::move(schema), .schema = std::move(*parsed)};
      continue;
    }
    json::value& own = schema["properties"].get_object()["metadata"];
    own = metadata;
    own.get_object()[number_keyword] = 1;
    all[std::string(name)] = {.openapi = std::move(schema), .schema = std::move(*parsed)};
  }
  return all;
}

}  // namespace

const BuiltinFields* builtin_fields(std::string_view kind) {
  static const auto all = build();
  const auto found = all.find(kind);
  return found == all.end() ? nullptr : &found->second;
}

const json::object& metadata_openapi() {
  return *object_at(builtin_fields("Service")->openapi, {"properties", "metadata"});
}

}  // namespace sandbox
