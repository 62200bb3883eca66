#include "sandbox/openapi_protobuf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json/array.hpp>

namespace sandbox {
namespace {

class Message {
 public:
  void text(unsigned number, std::string_view value) { bytes(number, value); }
  void message(unsigned number, const Message& value) { bytes(number, value.out_); }
  void integer(unsigned number, std::uint64_t value) {
    varint(std::uint64_t{number} << 3U);
    varint(value);
  }
  void real(unsigned number, double value) {
    varint((std::uint64_t{number} << 3U) | 1U);
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8U) out_ += static_cast<char>(bits & 0xffU);
  }
  std::string take() && { return std::move(out_); }

 private:
  void bytes(unsigned number, std::string_view value) {
    varint((std::uint64_t{number} << 3U) | 2U);
    varint(value.size());
    out_ += value;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) out_ += static_cast<char>((value & 0x7fU) | 0x80U);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

// A message of one field that is a message: how the schema wraps its alternatives.
Message wrapped(unsigned number, const Message& value) {
  Message outer;
  outer.message(number, value);
  return outer;
}

Message any(const json::value& value) {
  Message message;
  message.text(2, to_text(value) + "\n");  // YAML, which JSON is
  return message;
}

Message named(std::string_view name, const Message& value) {
  Message entry;
  entry.text(1, name);
  entry.message(2, value);
  return entry;
}

double as_double(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  return value.is_double() ? value.get_double() : 0;
}

// Members that are alike in all messages: texts, booleans, numbers, lists of texts, anything.
enum class Form : char { text, boolean, integer, real, texts, any, anys };
struct Field {
  std::string_view name;
  unsigned number;
  Form form;
};

void put(Message& out, const Field& field, const json::value& value) {
  switch (field.form) {
    case Form::text:
      if (value.is_string()) out.text(field.number, view(value.get_string()));
      return;
    case Form::boolean:
      if (value.is_bool() && value.get_bool()) out.integer(field.number, 1);
      return;
    case Form::integer:
      if (value.is_int64()) out.integer(field.number, static_cast<std::uint64_t>(value.get_int64()));
      return;
    case Form::real:
      out.real(field.number, as_double(value));
      return;
    case Form::any:
      out.message(field.number, any(value));
      return;
    case Form::texts:
    case Form::anys:
      if (!value.is_array()) return;
      for (const json::value& item : value.get_array())
        put(out, {field.name, field.number, field.form == Form::texts ? Form::text : Form::any}, item);
      return;
  }
}

// The plain members of `object`; extensions ("x-…") go to the field `extension`, of the others `rest` takes care.
template <std::size_t N, class Rest>
Message message_of(const json::object& object, const std::array<Field, N>& fields, unsigned extension, Rest rest) {
  Message out;
  for (const json::key_value_pair& member : object) {
    const std::string_view name = member.key();
    const auto field = std::ranges::find(fields, name, &Field::name);
    if (field != fields.end()) {
      put(out, *field, member.value());
    } else if (name.starts_with("x-") && extension != 0) {
      out.message(extension, named(name, any(member.value())));
    } else {
      rest(out, name, member.value());
    }
  }
  return out;
}
constexpr auto nothing_else = [](Message&, std::string_view, const json::value&) {};

constexpr auto schema_fields = std::to_array<Field>({{"$ref", 1, Form::text},
                                                     {"format", 2, Form::text},
                                                     {"title", 3, Form::text},
                                                     {"description", 4, Form::text},
                                                     {"default", 5, Form::any},
                                                     {"multipleOf", 6, Form::real},
                                                     {"maximum", 7, Form::real},
                                                     {"exclusiveMaximum", 8, Form::boolean},
                                                     {"minimum", 9, Form::real},
                                                     {"exclusiveMinimum", 10, Form::boolean},
                                                     {"maxLength", 11, Form::integer},
                                                     {"minLength", 12, Form::integer},
                                                     {"pattern", 13, Form::text},
                                                     {"maxItems", 14, Form::integer},
                                                     {"minItems", 15, Form::integer},
                                                     {"uniqueItems", 16, Form::boolean},
                                                     {"maxProperties", 17, Form::integer},
                                                     {"minProperties", 18, Form::integer},
                                                     {"required", 19, Form::texts},
                                                     {"enum", 20, Form::anys}});

Message schema_of(const json::value& value) {
  if (!value.is_object()) return {};
  return message_of(value.get_object(), schema_fields, 31,
                    [](Message& out, std::string_view name, const json::value& member) {
                      if (name == "type" && member.is_string()) {
                        Message type;
                        type.text(1, view(member.get_string()));
                        out.message(22, type);
                      } else if (name == "additionalProperties" && member.is_bool()) {
                        Message either;
                        either.integer(2, member.get_bool() ? 1 : 0);
                        out.message(21, either);
                      } else if (name == "additionalProperties") {
                        out.message(21, wrapped(1, schema_of(member)));
                      } else if (name == "items") {
                        out.message(23, wrapped(1, schema_of(member)));
                      } else if (name == "allOf" && member.is_array()) {
                        for (const json::value& part : member.get_array()) out.message(24, schema_of(part));
                      } else if (name == "properties" && member.is_object()) {
                        Message properties;
                        for (const json::key_value_pair& property : member.get_object())
                          properties.message(1, named(property.key(), schema_of(property.value())));
                        out.message(25, properties);
                      }
                    });
}

constexpr auto body_fields = std::to_array<Field>(
    {{"description", 1, Form::text}, {"name", 2, Form::text}, {"in", 3, Form::text}, {"required", 4, Form::boolean}});
constexpr auto query_fields = std::to_array<Field>({{"required", 1, Form::boolean},
                                                    {"in", 2, Form::text},
                                                    {"description", 3, Form::text},
                                                    {"name", 4, Form::text},
                                                    {"type", 6, Form::text},
                                                    {"format", 7, Form::text},
                                                    {"uniqueItems", 20, Form::boolean}});

// Only bodies and queries have parameters here.
Message parameter_of(const json::object& parameter) {
  if (text_at(parameter, {"in"}) != "body")
    return wrapped(2, wrapped(3, message_of(parameter, query_fields, 23, nothing_else)));
  return wrapped(
      1, message_of(parameter, body_fields, 6, [](Message& out, std::string_view name, const json::value& member) {
        if (name == "schema") out.message(5, schema_of(member));
      }));
}

constexpr auto response_fields = std::to_array<Field>({{"description", 1, Form::text}});

Message responses_of(const json::object& responses) {
  Message out;
  for (const json::key_value_pair& response : responses) {
    if (!response.value().is_object()) continue;
    const Message content = message_of(response.value().get_object(), response_fields, 5,
                                       [](Message& inner, std::string_view name, const json::value& member) {
                                         if (name == "schema") inner.message(2, wrapped(1, schema_of(member)));
                                       });
    out.message(1, named(response.key(), wrapped(1, content)));
  }
  return out;
}

constexpr auto operation_fields = std::to_array<Field>({{"description", 3, Form::text},
                                                        {"operationId", 5, Form::text},
                                                        {"produces", 6, Form::texts},
                                                        {"consumes", 7, Form::texts}});

Message operation_of(const json::object& operation) {
  return message_of(operation, operation_fields, 13,
                    [](Message& out, std::string_view name, const json::value& member) {
                      if (name == "responses" && member.is_object()) out.message(9, responses_of(member.get_object()));
                      if (name != "parameters" || !member.is_array()) return;
                      for (const json::value& parameter : member.get_array()) {
                        if (parameter.is_object()) out.message(8, wrapped(1, parameter_of(parameter.get_object())));
                      }
                    });
}

Message path_of(const json::value& path) {
  static constexpr auto methods = std::to_array<std::pair<std::string_view, unsigned>>(
      {{"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"options", 6}, {"head", 7}, {"patch", 8}});
  Message out;
  for (const auto& [method, number] : methods) {
    if (const json::object* operation = object_at(path.get_object(), {method}))
      out.message(number, operation_of(*operation));
  }
  return out;
}

// Every member of the object at `name`, as a list of names and values in the field `number`.
template <class Convert>
Message each(const json::object& document, std::string_view name, unsigned number, Convert convert) {
  Message list;
  if (const json::object* members = object_at(document, {name})) {
    for (const json::key_value_pair& member : *members)
      list.message(number, named(member.key(), convert(member.value())));
  }
  return list;
}

}  // namespace

bool wants_openapi_protobuf(std::string_view accept) {
  // older clients write an @ where the newer form has a dot
  for (const std::string_view type :
       {openapi_protobuf_type, std::string_view("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")}) {
    const std::size_t found = accept.find(type);
    if (found != std::string_view::npos && found < accept.find("application/json")) return true;
  }
  return false;
}

std::string openapi_protobuf(const json::object& document) {
  Message out;
  out.text(1, text_at(document, {"swagger"}));
  Message info;
  info.text(1, text_at(document, {"info", "title"}));
  info.text(2, text_at(document, {"info", "version"}));
  out.message(2, info);
  out.message(8, each(document, "paths", 2, path_of));
  out.message(9, each(document, "definitions", 1, schema_of));
  return std::move(out).take();
}

}  // namespace sandbox
