#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "sandbox/params.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

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

bool Selection::matches(const Kind& kind, std::string_view key, const Version& version) const {
  const std::size_t slash = key.find('/');
  const std::string_view own_ns = slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
  if (!ns.empty() && own_ns != ns) return false;
  if (plain()) return true;
  if (kind.from_storage != nullptr) {  // selectors see the object as this version of the API shows it
    const json::object document = shown(kind, *version.document());
    return labels.matches(document) && fields.matches(document);
  }
  if (!labels.matches([&version](std::string_view name) { return version.label(name); })) return false;
  return fields.matches([&](const std::string& field) {
    if (field == "metadata.namespace") return std::string(own_ns);
    if (field == "metadata.name") return std::string(slash == std::string_view::npos ? key : key.substr(slash + 1));
    const auto noted = version.field(field);
    return noted ? std::string(*noted) : field_text(*version.document(), field);
  });
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
  if (target.form.shape == Shape::object && target.kind->from_storage == nullptr) {
    kube::Response response;
    response.status = 200;
    response.content_type = "application/json";
    response.body = found->text();
    return response;
  }
  return answer(200, target, *found->document());
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

}  // namespace sandbox
