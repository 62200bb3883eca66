#include "sandbox/protobuf.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <boost/json/array.hpp>
#include <optional>

#include "sandbox/builtin/fields.h"
#include "sandbox/metadata.h"

namespace sandbox {
namespace {

// The fields of one message, one after the other.
class Reader {
 public:
  struct Field {
    std::uint64_t number = 0;
    std::uint64_t integer = 0;  // of a varint
    std::string_view bytes;     // of everything with a length
    bool delimited = false;
  };

  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  base::Result<Field> next() {
    const auto tag = varint();
    if (!tag) return base::fail(std::string(truncated));
    Field field;
    field.number = *tag >> 3U;
    switch (*tag & 7U) {
      case 0: {
        const auto value = varint();
        if (!value) return base::fail(std::string(truncated));
        field.integer = *value;
        return field;
      }
      case 1:
        return fixed(field, 8);
      case 2: {
        const auto length = varint();
        if (!length || *length > rest_.size()) return base::fail(std::string(truncated));
        field.delimited = true;
        return fixed(field, *length);
      }
      case 5:
        return fixed(field, 4);
      default:
        return base::fail(fmt::format("proto: illegal wireType {}", *tag & 7U));
    }
  }

 private:
  static constexpr std::string_view truncated = "unexpected EOF";

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    return std::nullopt;
  }
  base::Result<Field> fixed(Field field, std::size_t size) {
    if (size > rest_.size()) return base::fail(std::string(truncated));
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

// {seconds: 1, nanos: 2}; an empty message is no time.
base::Result<json::value> read_time(std::string_view bytes) {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  if (bytes.empty()) return json::value(nullptr);
  for (Reader reader(bytes); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    (field->number == 1 ? seconds : nanos) = static_cast<std::int64_t>(field->integer);
  }
  std::string text = timestamp(seconds);
  if (nanos != 0) text.insert(text.size() - 1, fmt::format(".{:06}", nanos / 1000));
  return json::value(json::string(text));
}

// {type: 1, intVal: 2, strVal: 3}
base::Result<json::value> read_int_or_string(std::string_view bytes) {
  std::uint64_t type = 0;
  std::int64_t number = 0;
  std::string text;
  for (Reader reader(bytes); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    if (field->number == 1) type = field->integer;
    if (field->number == 2) number = static_cast<std::int64_t>(field->integer);
    if (field->number == 3) text = field->bytes;
  }
  return type == 0 ? json::value(number) : json::value(json::string(text));
}

// {string: 1}
base::Result<json::value> read_quantity(std::string_view bytes) {
  json::value text = "0";
  for (Reader reader(bytes); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    if (field->number == 1) text = json::string(field->bytes);
  }
  return text;
}

base::Result<json::value> read_value(const Reader::Field& field, const json::object& schema) {
  const std::string_view type = text_at(schema, {"type"});
  const std::string_view format = text_at(schema, {"format"});
  if (format == "date-time") return read_time(field.bytes);
  if (bool_at(schema, {"x-kubernetes-int-or-string"})) return read_int_or_string(field.bytes);
  if (type == "string")
    return json::value(json::string(format == "byte" ? base64(field.bytes) : std::string(field.bytes)));
  if (type == "integer") return json::value(static_cast<std::int64_t>(field.integer));
  if (type == "boolean") return json::value(field.integer != 0);
  if (type == "object") {
    auto object = read_message(field.bytes, schema);
    if (!object) return std::unexpected(object.error());
    return json::value(std::move(*object));
  }
  return read_quantity(field.bytes);
}

// One entry of a map: {key: 1, value: 2}.
base::Result<void> read_entry(std::string_view bytes, const json::object& values, json::object& map) {
  std::string key;
  json::value value = text_at(values, {"type"}) == "string" ? json::value("") : json::value(nullptr);
  for (Reader reader(bytes); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    if (field->number == 1) key = field->bytes;
    if (field->number != 2) continue;
    auto read = read_value(*field, values);
    if (!read) return std::unexpected(read.error());
    value = std::move(*read);
  }
  map[key] = std::move(value);
  return {};
}

const json::key_value_pair* property_of(const json::object& properties, std::uint64_t number) {
  for (const json::key_value_pair& property : properties) {
    if (int_at(property.value().get_object(), {number_keyword}) == static_cast<std::int64_t>(number)) return &property;
  }
  return nullptr;
}

// Go leaves out what is zero where the field is optional in JSON; so does this.
bool is_zero(const json::value& value) { return value.is_null() || (value.is_string() && value.get_string().empty()); }

base::Result<void> read_field(const Reader::Field& field, const json::key_value_pair& property, json::object& object) {
  const json::object& schema = property.value().get_object();
  if (const json::object* items = object_at(schema, {"items"})) {
    auto item = read_value(field, *items);
    if (!item) return std::unexpected(item.error());
    json::value& list = object[property.key()];
    if (!list.is_array()) list.emplace_array();
    list.get_array().push_back(std::move(*item));
    return {};
  }
  if (const json::object* values = object_at(schema, {"additionalProperties"})) {
    json::value& map = object[property.key()];
    if (!map.is_object()) map.emplace_object();
    return read_entry(field.bytes, *values, map.get_object());
  }
  auto value = read_value(field, schema);
  if (!value) return std::unexpected(value.error());
  if (!is_zero(*value)) object[property.key()] = std::move(*value);
  return {};
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

base::Result<ProtobufBody> open_envelope(std::string_view bytes) {
  constexpr std::string_view magic("k8s\0", 4);
  if (!bytes.starts_with(magic)) return base::fail("provided data does not appear to be a protobuf message");
  ProtobufBody body;
  for (Reader reader(bytes.substr(magic.size())); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    if (field->number == 2) body.raw = field->bytes;
    if (field->number != 1) continue;
    for (Reader type(field->bytes); !type.done();) {
      const auto part = type.next();
      if (!part) return std::unexpected(part.error());
      (part->number == 1 ? body.api_version : body.kind) = part->bytes;
    }
  }
  return body;
}

base::Result<json::object> read_message(std::string_view bytes, const json::object& schema) {
  json::object object;
  const json::object* properties = object_at(schema, {"properties"});
  for (Reader reader(bytes); !reader.done();) {
    const auto field = reader.next();
    if (!field) return std::unexpected(field.error());
    const json::key_value_pair* property = properties == nullptr ? nullptr : property_of(*properties, field->number);
    if (property == nullptr) continue;
    if (auto read = read_field(*field, *property, object); !read) return std::unexpected(read.error());
  }
  return object;
}

}  // namespace sandbox
