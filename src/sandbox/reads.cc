#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>

#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

std::string base64url(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  while (out.ends_with('=')) out.pop_back();
  return out;
}

std::optional<std::string> unbase64url(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  std::size_t padding = 0;
  while (text.size() % 4 != 0) {
    text += '=';
    if (++padding > 2) return std::nullopt;
  }
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

template <class N>
Outcome<N> number_param(const RequestInfo& info, std::string_view name, N otherwise) {
  const std::string_view text = info.param(name);
  if (text.empty()) return otherwise;
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    if (name == "resourceVersion") {
      return refuse(
          bad_request(fmt::format("invalid resource version: resourceVersion: Invalid value: {0}: strconv.ParseUint: "
                                  "parsing {0}: invalid syntax",
                                  quote(text))));
    }
    return refuse(bad_request(fmt::format("strconv.ParseInt: parsing {}: invalid syntax", quote(text))));
  }
  return value;
}

struct Continue {
  std::uint64_t revision = 0;
  std::string start;  // the first key that is wanted
};

std::string token_text(const Continue& token) {
  return base64url(to_text(json::object{
      {"v", "meta.k8s.io/v1"}, {"rv", static_cast<std::int64_t>(token.revision)}, {"start", token.start}}));
}

Outcome<Continue> token_of(std::string_view text) {
  const auto decoded = unbase64url(std::string(text));
  const auto parsed = decoded ? parse_json(*decoded) : base::fail("illegal base64 data");
  if (!parsed || !parsed->is_object() || text_at(parsed->get_object(), {"v"}) != "meta.k8s.io/v1") {
    return refuse(bad_request("invalid continue token: continue key is not valid"));
  }
  const json::object& token = parsed->get_object();
  return Continue{static_cast<std::uint64_t>(int_at(token, {"rv"})), std::string(text_at(token, {"start"}))};
}

Failure list_options_error(std::string_view detail) {
  return invalid({"meta.k8s.io", "ListOptions", ""}, {field_forbidden("resourceVersionMatch", detail)});
}

// Built-in kinds' list items carry no kind and apiVersion of their own.
json::object without_type(json::object document) {
  document.erase("kind");
  document.erase("apiVersion");
  return document;
}

// The list around its items, which are JSON already.
std::string list_body(const Target& target, std::string items, std::uint64_t revision, const std::string& token,
                      std::size_t remaining) {
  const Kind& kind = *target.kind;
  std::string metadata = fmt::format("\"resourceVersion\":\"{}\"", revision);
  if (!token.empty() || (kind.custom && target.form.shape == Shape::object))
    metadata += fmt::format(",\"continue\":\"{}\"", token);
  if (remaining > 0) metadata += fmt::format(",\"remainingItemCount\":{}", remaining);
  const std::string& version = target.form.version;
  switch (target.form.shape) {
    case Shape::table:
      return fmt::format(
          R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{{{}}},"columnDefinitions":{},"rows":[{}]}})",
          version, metadata, to_text(TableMaker(kind).definitions()), items);
    case Shape::partial:
    case Shape::partials:
      return fmt::format(
          R"({{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{}","metadata":{{{}}},"items":[{}]}})",
          version, metadata, items);
    case Shape::object:
      break;
  }
  return fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{{{}}},"items":[{}]}})", kind.name,
                     kind.api_version(), metadata, items);
}

// A kind's type as messages of the real server print it.
std::string go_type(const Kind& kind) {
  if (kind.custom) return "*unstructured.Unstructured";
  const std::string_view group =
      kind.group.empty() ? "core" : std::string_view(kind.group).substr(0, kind.group.find('.'));
  return fmt::format("*{}.{}", group, kind.name);
}

Failure not_acceptable(std::string message) {
  return {.code = 406, .reason = "NotAcceptable", .message = std::move(message), .bare = true};
}

json::object table_of(const Target& target, const json::object& document, WallSeconds now) {
  const TableMaker table(*target.kind);
  json::array rows;
  rows.push_back(table.row(document, target.info.param("includeObject"), target.form.version, now));
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/" + target.form.version},
          {"metadata", {{"resourceVersion", text_at(document, {"metadata", "resourceVersion"})}}},
          {"columnDefinitions", table.definitions()},
          {"rows", std::move(rows)}};
}

}  // namespace

json::object shown(const Kind& kind, const json::object& document) {
  json::object copy = document;
  if (kind.from_storage != nullptr) kind.from_storage(copy);
  return copy;
}

bool Selection::matches(const json::object& object) const {
  if (!ns.empty() && text_at(object, {"metadata", "namespace"}) != ns) return false;
  return labels.matches(object) && fields.matches(object);
}

WallSeconds ApiServer::Impl::wall() const {
  return std::chrono::floor<std::chrono::seconds>(reactor.wall()).time_since_epoch().count();
}

kube::Response ApiServer::Impl::answer(int code, const Target& target, const json::object& document) const {
  kube::Response response;
  response.status = code;
  response.content_type = "application/json";
  if (target.form.shape == Shape::table) {
    response.body = to_text(table_of(target, document, wall()));
  } else if (target.form.shape == Shape::partial) {
    response.body = to_text(partial_metadata(document, target.form.version));
  } else {
    response.body = target.kind->from_storage == nullptr ? to_text(document) : to_text(shown(*target.kind, document));
  }
  return response;
}

Outcome<kube::Response> ApiServer::Impl::get(const Target& target) const {
  const auto wanted = number_param<std::uint64_t>(target.info, "resourceVersion", 0);
  if (!wanted) return std::unexpected(wanted.error());
  if (*wanted > storage.revision()) return refuse(too_large_version(*wanted, storage.revision()));
  if (target.form.shape == Shape::partials) {
    return refuse(not_acceptable(
        fmt::format("you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                    go_type(*target.kind))));
  }
  const VersionPtr found = storage.get(target.kind->stored_as(), target.key());
  if (found == nullptr) return refuse(not_found(target.kind->subject(target.info.name)));
  return answer(200, target, found->document);
}

Outcome<Selection> ApiServer::Impl::selection_of(const RequestInfo& info, const Kind& kind) const {
  Selection selection;
  selection.ns = info.ns;
  auto labels = LabelSelector::parse(info.param("labelSelector"));
  if (!labels) return refuse(bad_request(labels.error().message));
  selection.labels = std::move(*labels);
  auto fields = FieldSelector::parse(info.param("fieldSelector"));
  if (!fields) return refuse(bad_request(fields.error().message));
  for (const FieldSelector::Term& term : fields->terms()) {
    const bool known = term.field == "metadata.name" || term.field == "metadata.namespace" ||
                       std::ranges::find(kind.selectable, term.field) != kind.selectable.end();
    if (known) continue;
    if (kind.custom || !kind.selectable.empty()) return refuse(bad_request("field label not supported: " + term.field));
    return refuse(bad_request(fmt::format(
        "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", quote(term.field))));
  }
  selection.fields = std::move(*fields);
  return selection;
}

Outcome<kube::Response> ApiServer::Impl::list(const Target& target) const {
  const RequestInfo& info = target.info;
  const Kind& kind = *target.kind;
  const auto selection = selection_of(info, kind);
  if (!selection) return std::unexpected(selection.error());
  if (target.form.shape == Shape::partial) {
    return refuse(not_acceptable(fmt::format(
        "you requested PartialObjectMetadata, but the requested object is a list ({}List)", go_type(kind))));
  }
  const auto limit_param = number_param<std::int64_t>(info, "limit", 0);
  if (!limit_param) return std::unexpected(limit_param.error());
  auto limit = static_cast<std::size_t>(std::max<std::int64_t>(*limit_param, 0));
  const auto wanted = number_param<std::uint64_t>(info, "resourceVersion", 0);
  if (!wanted) return std::unexpected(wanted.error());
  const std::string_view match = info.param("resourceVersionMatch");
  if (!match.empty() && info.param("resourceVersion").empty()) {
    return refuse(list_options_error("resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return refuse(invalid(
        {"meta.k8s.io", "ListOptions", ""},
        {field_not_supported("resourceVersionMatch", quote(match), {"\"Exact\"", "\"NotOlderThan\"", "\"\""})}));
  }
  if (*wanted > storage.revision()) return refuse(too_large_version(*wanted, storage.revision()));

  std::uint64_t revision = storage.revision();
  std::string start;
  if (const std::string_view text = info.param("continue"); !text.empty()) {
    const auto token = token_of(text);
    if (!token) return std::unexpected(token.error());
    revision = token->revision;
    start = token->start;
  } else if (match == "Exact") {
    revision = *wanted;
  } else if (info.param("resourceVersion") == "0") {
    limit = 0;  // the watch cache answers, whole
  }
  const Storage::Objects* objects = &storage.objects(kind.stored_as());
  std::optional<Storage::Objects> earlier;
  if (revision != storage.revision()) {
    earlier = storage.objects_at(kind.stored_as(), revision);
    if (!earlier) {
      return refuse(expired(
          "The provided continue parameter is too old to display a consistent list result. You can start a new list "
          "without the "
          "continue parameter, or use the continue token in this response to retrieve the remainder of the results."));
    }
    objects = &*earlier;
  }

  const std::string prefix = info.ns.empty() ? std::string() : info.ns + "/";
  std::string items;
  std::size_t count = 0;
  std::size_t remaining = 0;
  std::string token;
  const TableMaker table(kind);
  const std::string_view include = info.param("includeObject");
  const auto text_of = [&](const VersionPtr& version, const json::object& document) {
    if (target.form.shape == Shape::table)
      return to_text(table.row(version->document, include, target.form.version, wall()));
    if (target.form.shape == Shape::partials) return to_text(partial_metadata(document, target.form.version));
    return kind.custom ? version->text() : to_text(without_type(document));
  };
  for (auto it = objects->lower_bound(start.empty() ? prefix : start); it != objects->end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    // field and label selectors see the object as this version of the API shows it
    const json::object* document = &it->second->document;
    json::object converted;
    if (kind.from_storage != nullptr) document = &(converted = shown(kind, *document));
    if (!selection->matches(*document)) continue;
    if (limit > 0 && count == limit) {
      if (token.empty()) token = token_text({revision, it->first});
      if (!selection->plain()) break;  // how many are left is not known without looking at all
      ++remaining;
      continue;
    }
    if (count++ > 0) items += ',';
    items += text_of(it->second, *document);
  }
  kube::Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body = list_body(target, std::move(items), revision, token, remaining);
  return response;
}

}  // namespace sandbox
