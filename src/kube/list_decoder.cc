#include "kube/list_decoder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <utility>

#include "kube/api_error.h"

namespace kube {
namespace {

namespace od = simdjson::ondemand;

constexpr std::string_view k_items = "items";
constexpr std::string_view k_space = " \t\r\n";

std::unexpected<base::Error> broken(std::string_view what, simdjson::error_code code) {
  return base::fail(fmt::format("{} ({})", what, simdjson::error_message(code)));
}
std::unexpected<base::Error> no_list(std::string_view what, std::string_view text) {
  return base::fail(fmt::format("not a list: {}: {}", what, excerpt(text, 120)));
}

base::Result<void> read_meta(simdjson::simdjson_result<od::value> value, ListPage& page) {
  od::object metadata;
  if (auto e = value.get_object().get(metadata)) return broken("a list's metadata", e);
  for (auto field : metadata) {
    std::string_view key;
    std::string_view text;
    if (auto e = field.unescaped_key().get(key)) return broken("a list's metadata", e);
    if (key != "resourceVersion" && key != "continue") continue;
    if (auto e = field.value().get_string().get(text)) return broken(key, e);
    (key == "continue" ? page.next : page.version).assign(text);
  }
  return {};
}

// `items` is empty by now, or null.
bool are_items(simdjson::simdjson_result<od::value> value) {
  bool null = false;
  if (value.is_null().get(null) == simdjson::SUCCESS && null) return true;
  od::array items;
  return value.get_array().get(items) == simdjson::SUCCESS && items.begin() == items.end();
}

// What stands around the items.
base::Result<void> read_around(std::string_view json, ListPage& page) {
  const simdjson::padded_string padded(json);
  od::parser parser;
  od::document document;
  od::object list;
  if (auto e = parser.iterate(padded).get(document)) return no_list(simdjson::error_message(e), json);
  if (auto e = document.get_object().get(list)) return no_list(simdjson::error_message(e), json);
  bool has_items = false;
  for (auto field : list) {
    std::string_view key;
    if (auto e = field.unescaped_key().get(key)) return no_list(simdjson::error_message(e), json);
    if (key == "metadata") {
      if (auto ok = read_meta(field.value(), page); !ok) return ok;
    } else if (key == k_items) {
      has_items = are_items(field.value());
      if (!has_items) return no_list("its items are none", json);
    }
  }
  if (!has_items || page.version.empty()) return no_list("no items or no version", json);
  return {};
}

}  // namespace

void ListDecoder::restart() {
  objects_.clear();
  around_.clear();
  partial_.clear();
  name_.clear();
  error_.clear();
  where_ = Where::around;
  depth_ = 0;
  in_string_ = escaped_ = false;
  separated_ = true;
}

void ListDecoder::data(std::string_view bytes) {
  while (!bytes.empty() && error_.empty()) {
    const std::size_t used = where_ == Where::around    ? around(bytes)
                             : where_ == Where::between ? between(bytes)
                                                        : item(bytes);
    bytes.remove_prefix(used);
  }
}

// One byte of JSON text; true if it ends a string. Whether brackets match is for the parsers to say.
bool ListDecoder::step(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return true;
    }
    return false;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && depth_ > 0) {
    --depth_;
  }
  return false;
}

// Looks for the array that is the value of the top-level key "items".
std::size_t ListDecoder::around(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    const bool was_in_string = in_string_;
    const bool ended = step(c);
    if (was_in_string) {
      if (depth_ == 1 && !ended && name_.size() <= k_items.size()) name_ += c;
      continue;
    }
    if (in_string_ && depth_ == 1) name_.clear();
    if (c != '[' || depth_ != 2 || name_ != k_items) continue;
    where_ = Where::between;
    name_.clear();
    separated_ = true;
    keep(around_, bytes.substr(0, i + 1));
    return i + 1;
  }
  keep(around_, bytes);
  return bytes.size();
}

std::size_t ListDecoder::between(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (k_space.find(c) != std::string_view::npos) continue;
    if (c == '{' && separated_) {
      where_ = Where::item;
      return i;
    }
    if (c == ',' && !separated_) {
      separated_ = true;
      continue;
    }
    if (c != ']' || (separated_ && !objects_.empty())) {
      fail("not a list: something else than objects among its items");
      return bytes.size();
    }
    --depth_;
    where_ = Where::around;
    around_ += c;
    return i + 1;
  }
  return bytes.size();
}

std::size_t ListDecoder::item(std::string_view bytes) {
  constexpr std::size_t k_outside = 2;  // the document's and the items' bracket
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (in_string_ && !escaped_) {  // most of an object is in strings
      i = bytes.find_first_of("\"\\", i);
      if (i == std::string_view::npos) break;
    }
    step(bytes[i]);
    if (in_string_ || depth_ != k_outside) continue;
    if (partial_.empty()) {
      take(bytes.substr(0, i + 1));
    } else {
      keep(partial_, bytes.substr(0, i + 1));
      if (error_.empty()) take(partial_);
      partial_.clear();
    }
    where_ = Where::between;
    separated_ = false;
    return i + 1;
  }
  keep(partial_, bytes);
  return bytes.size();
}

void ListDecoder::keep(std::string& text, std::string_view bytes) {
  if (text.size() + bytes.size() > k_limit) return fail("not a list: it is longer than any object can be");
  text += bytes;
}

void ListDecoder::take(std::string_view json) {
  auto decoded = kind_.decode(json);
  if (!decoded) return fail(fmt::format("{}: {}", kind_.resource.kind, decoded.error().message));
  objects_.push_back(std::move(*decoded));
}

void ListDecoder::fail(std::string what) {
  if (!error_.empty()) return;
  error_ = std::move(what);
  objects_ = {};
  partial_ = {};
}

base::Result<ListPage> ListDecoder::finish() {
  ListPage page;
  base::Result<void> ok;
  if (!error_.empty()) {
    ok = base::fail(std::move(error_));
  } else {
    ok = read_around(around_, page);
  }
  page.objects = std::move(objects_);
  restart();
  if (!ok) return std::unexpected(std::move(ok.error()));
  return page;
}

base::Result<ListPage> decode_list(const Kind& kind, std::string_view body) {
  ListDecoder decoder(kind);
  decoder.data(body);
  return decoder.finish();
}

}  // namespace kube
