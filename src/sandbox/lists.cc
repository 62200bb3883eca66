// Lists: pages of them, as they were at one revision.
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "sandbox/params.h"
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

// Where a list goes on.
struct Continue {
  std::uint64_t revision = 0;
  std::string start = {};  // the first key that is wanted
  // How many objects are left from there on, if that is known: counting them anew would take longer than the page.
  std::optional<std::size_t> left = {};
};

struct Page {
  std::uint64_t revision = 0;
  std::vector<VersionPtr> versions = {};
  std::optional<Continue> next = {};
};

std::string token_text(const Continue& token) {
  json::object text{{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", token.start}};
  if (token.left) text["left"] = *token.left;
  return base64url(to_text(text));
}

Outcome<Continue> token_of(std::string_view text) {
  const auto decoded = unbase64url(std::string(text));
  const auto parsed = decoded ? parse_json(*decoded) : base::fail("illegal base64 data");
  if (!parsed || !parsed->is_object() || text_at(parsed->get_object(), {"v"}) != "meta.k8s.io/v1") {
    return refuse(bad_request("invalid continue token: continue key is not valid"));
  }
  const json::object& token = parsed->get_object();
  Continue from{.revision = static_cast<std::uint64_t>(int_at(token, {"rv"})),
                .start = std::string(text_at(token, {"start"}))};
  if (token.contains("left")) from.left = static_cast<std::size_t>(int_at(token, {"left"}));
  return from;
}

Failure list_options_error(std::string_view detail) {
  return invalid({"meta.k8s.io", "ListOptions", ""}, {field_forbidden("resourceVersionMatch", detail)});
}

// nullopt if the log does not reach back to the page's revision.
std::optional<Page> page_of(const Storage& storage, const Kind& kind, const Selection& selection, const Continue& from,
                            std::size_t limit) {
  const Kind& stored = kind.stored_as();
  const std::string prefix = selection.ns.empty() ? std::string() : selection.ns + "/";
  Page page{.revision = from.revision};
  const bool reached = storage.visit_at(stored, from.revision, from.start.empty() ? prefix : from.start,
                                        [&](const std::string& key, const VersionPtr& version) {
                                          if (!key.starts_with(prefix)) return false;
                                          if (!selection.matches(kind, key, *version)) return true;
                                          if (limit > 0 && page.versions.size() == limit)
                                            page.next = Continue{.revision = from.revision, .start = key};
                                          if (!page.next) page.versions.push_back(version);
                                          return !page.next;
                                        });
  if (!reached) return std::nullopt;
  if (!page.next || !selection.plain()) return page;  // how many match is not known without looking at all
  std::optional<std::size_t> left = from.left;
  if (from.start.empty()) left = storage.count_at(stored, from.revision, selection.ns);
  if (left) page.next->left = *left - std::min(*left, page.versions.size());
  return page;
}

// One item of a list. Those of built-in kinds carry no kind and apiVersion of their own.
std::string item_text(const Target& target, const TableMaker& table, const Version& version, WallSeconds now) {
  const Kind& kind = *target.kind;
  if (target.form.shape == Shape::object && kind.from_storage == nullptr)
    return kind.custom ? version.text() : version.untyped_text();
  const Document stored = version.document();
  if (target.form.shape == Shape::table)
    return to_text(table.row(*stored, target.info.param("includeObject"), target.form.version, now));
  json::object document = shown(kind, *stored);
  if (target.form.shape == Shape::partials) return to_text(partial_metadata(document, target.form.version));
  document.erase("kind");
  document.erase("apiVersion");
  return to_text(document);
}

// The list up to its items.
std::string list_head(const Target& target, const Page& page, const TableMaker& table) {
  const Kind& kind = *target.kind;
  std::string metadata = fmt::format("\"resourceVersion\":\"{}\"", page.revision);
  if (page.next || (kind.custom && target.form.shape == Shape::object))
    metadata += fmt::format(",\"continue\":\"{}\"", page.next ? token_text(*page.next) : "");
  if (page.next && page.next->left) metadata += fmt::format(",\"remainingItemCount\":{}", *page.next->left);
  const std::string& version = target.form.version;
  if (target.form.shape == Shape::table) {
    return fmt::format(
        R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{{{}}},"columnDefinitions":{},"rows":[)", version,
        metadata, to_text(table.definitions()));
  }
  if (target.form.shape != Shape::object) {
    return fmt::format(
        R"({{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{}","metadata":{{{}}},"items":[)", version,
        metadata);
  }
  return fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{{{}}},"items":[)", kind.name,
                     kind.api_version(), metadata);
}

std::string list_body(const Target& target, const Page& page, WallSeconds now) {
  const TableMaker table(*target.kind);
  std::string body = list_head(target, page, table);
  if (target.form.shape == Shape::object) {
    std::size_t bytes = body.size() + 2;
    for (const VersionPtr& version : page.versions) bytes += version->text().size() + 1;
    body.reserve(bytes);  // of everything there is it may be hundreds of megabytes
  }
  bool first = true;
  for (const VersionPtr& version : page.versions) {
    if (!std::exchange(first, false)) body += ',';
    body += item_text(target, table, *version, now);
  }
  return body += "]}";
}

}  // namespace

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

  Continue from{.revision = storage.revision()};
  if (const std::string_view text = info.param("continue"); !text.empty()) {
    const auto token = token_of(text);
    if (!token) return std::unexpected(token.error());
    from = *token;
  } else if (match == "Exact") {
    from.revision = *wanted;
  } else if (info.param("resourceVersion") == "0") {
    limit = 0;  // the watch cache answers, whole
  }
  const auto page = page_of(storage, kind, *selection, from, limit);
  if (!page) {
    return refuse(expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the "
        "continue parameter, or use the continue token in this response to retrieve the remainder of the results."));
  }
  kube::Response response;
  response.status = 200;
  response.content_type = "application/json";
  response.body = list_body(target, *page, wall());
  return response;
}

}  // namespace sandbox
