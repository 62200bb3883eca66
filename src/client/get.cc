#include <fmt/format.h>

#include <algorithm>

#include "client/jsonpath.h"
#include "client/kinds.h"
#include "client/kubectl.h"
#include "client/table.h"

namespace client {
namespace {

constexpr std::string_view k_table_type =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

// What one answer shows as a table: the server's own, or names and ages if it made none.
class Rows {
 public:
  Rows(const Session& session, const GetOptions& options, const kube::Resource& kind, bool with_kind)
      : session_(session), wide_(options.output == "wide"), kind_(kind), with_kind_(with_kind) {}

  void read(const json::object& answer) {
    if (text_at(answer, {"kind"}) == "Table") {
      read_table(answer);
    } else if (const auto* items = array_at(answer, {"items"})) {
      for (const json::value& item : *items) plain(item);
    } else {
      plain(answer);
    }
  }
  const Table::Row& header() const { return header_; }
  std::vector<Table::Row>& rows() { return rows_; }

 private:
  // Among several kinds even those without a namespace have the column.
  bool everywhere() const { return session_.all_namespaces && (kind_.namespaced || with_kind_); }
  std::string shown_name(std::string name) const { return with_kind_ ? display_name(kind_, name) : name; }

  void read_table(const json::object& table) {
    if (const auto* columns = array_at(table, {"columnDefinitions"}); columns != nullptr && !columns->empty()) {
      columns_ = *columns;
      header_.clear();
      if (everywhere()) header_.emplace_back("NAMESPACE");
      for (const json::value& column : columns_) {
        if (shown(column)) header_.push_back(upper(text_at(column.as_object(), {"name"})));
      }
    }
    const auto* rows = array_at(table, {"rows"});
    if (rows == nullptr) return;
    for (const json::value& row : *rows) {
      if (row.is_object()) add(row.get_object());
    }
  }

  void add(const json::object& row) {
    const auto* cells = array_at(row, {"cells"});
    if (cells == nullptr) return;
    Table::Row out;
    if (everywhere()) out.emplace_back(text_at(row, {"object", "metadata", "namespace"}));
    for (std::size_t i = 0; i < cells->size() && i < columns_.size(); ++i) {
      if (!shown(columns_[i])) continue;
      const json::value& cell = (*cells)[i];
      std::string text = cell.is_null() ? std::string() : to_plain(cell);
      out.push_back(i == 0 ? shown_name(std::move(text)) : std::move(text));
    }
    rows_.push_back(std::move(out));
  }

  void plain(const json::value& value) {
    if (!value.is_object()) return;
    const json::object& object = value.get_object();
    header_ = everywhere() ? Table::Row{"NAMESPACE", "NAME", "AGE"} : Table::Row{"NAME", "AGE"};
    Table::Row row;
    if (everywhere()) row.emplace_back(text_at(object, {"metadata", "namespace"}));
    row.push_back(shown_name(std::string(text_at(object, {"metadata", "name"}))));
    row.push_back(age_of(text_at(object, {"metadata", "creationTimestamp"}), session_.server.wall()));
    rows_.push_back(std::move(row));
  }

  bool shown(const json::value& column) const {
    const auto* object = column.if_object();
    if (object == nullptr) return false;
    const auto* priority = object->if_contains("priority");
    return wide_ || priority == nullptr || *priority == json::value(0);
  }

  static std::string upper(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
  }

  const Session& session_;
  bool wide_;
  const kube::Resource& kind_;
  bool with_kind_;
  json::array columns_;
  Table::Row header_;
  std::vector<Table::Row> rows_;
};

Query query_of(const GetOptions& options) {
  Query query;
  if (!options.selector.empty()) query.emplace_back("labelSelector", options.selector);
  if (!options.field_selector.empty()) query.emplace_back("fieldSelector", options.field_selector);
  return query;
}

kube::Request request_of(const Session& session, const GetOptions& options, const Target& target) {
  kube::Request request;
  const bool single = !target.name.empty();
  const std::string place = place_of(session, *target.kind, single);
  request.path = single ? target.kind->object_path(place, target.name) : target.kind->collection_path(place);
  if (!single) request.query = query_of(options);
  return request;
}

// --- tables ---

kube::ApiResult<json::object> fetch_table(const Session& session, kube::Request request, Rows& rows) {
  request.accept = k_table_type;
  const auto first_query = request.query;
  while (true) {
    auto response = session.send(request);
    if (!response) return std::unexpected(response.error());
    auto answer = parse_object(response->body);
    if (!answer) return std::unexpected(not_understood(answer.error()));
    rows.read(*answer);
    const std::string token(text_at(*answer, {"metadata", "continue"}));
    if (token.empty()) return std::move(*answer);
    request.query = first_query;
    request.query.emplace_back("limit", "500");
    request.query.emplace_back("continue", token);
  }
}

int nothing_found(const Session& session, const std::vector<Target>& targets) {
  const bool namespaced = std::ranges::any_of(targets, [](const Target& t) { return t.kind->namespaced; });
  if (namespaced && !session.all_namespaces) {
    session.err << fmt::format("No resources found in {} namespace.\n", session.ns);
  } else {
    session.err << "No resources found\n";
  }
  return k_done;
}

int follow(const Session& session, const GetOptions& options, const Target& target, Table& table, Rows& rows,
           std::string version) {
  kube::Request request;
  request.path = target.kind->collection_path(place_of(session, *target.kind, !target.name.empty()));
  request.query = query_of(options);
  if (!target.name.empty()) request.query.emplace_back("fieldSelector", "metadata.name=" + target.name);
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("resourceVersion", std::move(version));
  request.accept = k_table_type;
  const kube::Answer how = session.server.stream(std::move(request), [&](std::string_view line) {
    const auto event = parse_object(line);
    const json::object* object = event ? object_at(*event, {"object"}) : nullptr;
    if (object == nullptr || text_at(*event, {"type"}) == "BOOKMARK") return true;
    rows.rows().clear();
    rows.read(*object);
    for (const Table::Row& row : rows.rows()) table.print_more(session.out, row);
    session.out.flush();
    return true;
  });
  if (const auto error = kube::error_of(how)) return session.fail(*error);
  return k_done;
}

int print_tables(const Session& session, const GetOptions& options, const std::vector<Target>& targets) {
  const bool with_kind = std::ranges::any_of(targets, [&](const Target& t) { return t.kind != targets.front().kind; });
  int status = k_done;
  bool printed = false;
  for (std::size_t i = 0; i < targets.size();) {
    // Neighbours of one kind share a table.
    Rows rows(session, options, *targets[i].kind, with_kind);
    std::string version;
    std::size_t end = i;
    for (; end < targets.size() && targets[end].kind == targets[i].kind; ++end) {
      const auto answer = fetch_table(session, request_of(session, options, targets[end]), rows);
      if (!answer) {
        status = session.fail(answer.error());
        continue;
      }
      version = text_at(*answer, {"metadata", "resourceVersion"});
    }
    Table table(rows.header());
    for (const Table::Row& row : rows.rows()) table.add(row);
    if (!table.empty()) {
      if (printed) session.out << "\n";
      table.print(session.out, !options.no_headers);
      session.out.flush();
      printed = true;
    }
    if (options.watch && status == k_done) return follow(session, options, targets[i], table, rows, version);
    i = end;
  }
  return printed || status != k_done ? status : nothing_found(session, targets);
}

// --- whole objects ---

kube::ApiResult<std::vector<json::object>> fetch_objects(const Session& session, const GetOptions& options,
                                                         const Target& target) {
  const std::string place = place_of(session, *target.kind, !target.name.empty());
  if (target.name.empty()) {
    auto items = session.list(*target.kind, place, query_of(options));
    if (!items) return items;
    for (json::object& item : *items) {  // lists do not say it for each
      json::object whole{{"apiVersion", target.kind->api_version()}, {"kind", target.kind->kind}};
      for (auto& member : item) whole.insert_or_assign(member.key(), std::move(member.value()));
      item = std::move(whole);
    }
    return items;
  }
  auto object = session.get(*target.kind, place, target.name);
  if (!object) return std::unexpected(object.error());
  return std::vector<json::object>{std::move(*object)};
}

void without_managed_fields(json::object& object) {
  if (auto* meta = object.if_contains("metadata"); meta != nullptr && meta->is_object()) {
    meta->get_object().erase("managedFields");
  }
}

void print_objects(const Session& session, const GetOptions& options, const json::value& value, const JsonPath& path) {
  if (options.output == "json") {
    session.out << to_pretty_json(value) << "\n";
  } else if (options.output == "yaml") {
    session.out << to_yaml(value);
  } else {
    session.out << path.print(value);
  }
}

int print_whole(const Session& session, const GetOptions& options, const std::vector<Target>& targets,
                const JsonPath& path) {
  json::array all;
  int status = k_done;
  for (const Target& target : targets) {
    auto objects = fetch_objects(session, options, target);
    if (!objects) {
      status = session.fail(objects.error());
      continue;
    }
    for (json::object& object : *objects) {
      without_managed_fields(object);
      if (options.output == "name") {
        session.out << display_name(*target.kind, text_at(object, {"metadata", "name"})) << "\n";
      }
      all.push_back(std::move(object));
    }
  }
  if (options.output == "name") return status;
  const bool single = targets.size() == 1 && !targets.front().name.empty();
  if (single && all.empty()) return status;
  if (single) {
    print_objects(session, options, all.front(), path);
  } else {
    const json::object list{
        {"apiVersion", "v1"}, {"items", all}, {"kind", "List"}, {"metadata", {{"resourceVersion", ""}}}};
    print_objects(session, options, list, path);
  }
  return status;
}

}  // namespace

std::string place_of(const Session& session, const kube::Resource& kind, bool single) {
  if (!kind.namespaced || (session.all_namespaces && !single)) return {};
  return session.ns;
}

base::Result<std::vector<Target>> parse_targets(const std::vector<std::string>& args) {
  if (args.empty()) return base::fail("say what, such as: ipclaim, or: service web");
  std::vector<Target> targets;
  if (args.front().find('/') != std::string::npos) {
    for (const std::string& arg : args) {
      const std::size_t slash = arg.find('/');
      if (slash == std::string::npos || slash + 1 == arg.size()) {
        return base::fail(fmt::format("\"{}\" is not of the form KIND/NAME as the others are", arg));
      }
      const auto kind = kind_named(arg.substr(0, slash));
      if (!kind) return std::unexpected(kind.error());
      targets.push_back({*kind, arg.substr(slash + 1)});
    }
    return targets;
  }
  const auto kinds = kinds_named(args.front());
  if (!kinds) return std::unexpected(kinds.error());
  for (const kube::Resource* kind : *kinds) {
    if (args.size() == 1) targets.push_back({kind, {}});
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (args[i].find('/') != std::string::npos) {
        return base::fail(fmt::format("\"{}\": write KIND/NAME for all, or KIND NAME…", args[i]));
      }
      targets.push_back({kind, args[i]});
    }
  }
  return targets;
}

int get(const Session& session, const GetOptions& options) {
  const auto targets = parse_targets(options.args);
  if (!targets) return session.fail(targets.error().message, k_usage);
  const bool named = std::ranges::any_of(*targets, [](const Target& t) { return !t.name.empty(); });
  if (named && session.all_namespaces) {
    return session.fail("a resource cannot be retrieved by name across all namespaces", k_usage);
  }
  if (named && (!options.selector.empty() || !options.field_selector.empty())) {
    return session.fail("a name and a selector exclude each other", k_usage);
  }
  if (options.output.empty() || options.output == "wide") {
    if (options.watch && targets->size() != 1) return session.fail("-w watches one kind, or one object", k_usage);
    return print_tables(session, options, *targets);
  }
  if (options.watch) return session.fail("-w goes with tables only: leave -o away, or use -o wide", k_usage);
  JsonPath path;
  if (options.output.starts_with("jsonpath=")) {
    auto parsed = JsonPath::parse(std::string_view(options.output).substr(9));
    if (!parsed) return session.fail(parsed.error().message, k_usage);
    path = std::move(*parsed);
  } else if (options.output != "json" && options.output != "yaml" && options.output != "name") {
    return session.fail(
        fmt::format("-o {} is none of wide, yaml, json, name, jsonpath=TEMPLATE; kubectl has more", options.output),
        k_usage);
  }
  return print_whole(session, options, *targets, path);
}

}  // namespace client
