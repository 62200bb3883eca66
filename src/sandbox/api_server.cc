#include "sandbox/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "sandbox/metadata.h"
#include "sandbox/server_impl.h"
#include "sandbox/yaml.h"

namespace sandbox {
namespace {

bool is_write(std::string_view verb) { return verb != "get" && verb != "list" && verb != "watch" && !verb.empty(); }

Access access_of(const RequestInfo& info, std::string_view user) {
  Access access{.user = std::string(user),
                .verb = info.verb,
                .group = info.group,
                .resource = info.plural,
                .ns = info.ns,
                .name = info.name};
  if (!info.subresource.empty()) access.resource += "/" + info.subresource;
  return access;
}

RequestInfo request_for(std::string_view path) {
  kube::Request request;
  request.path = path;
  return parse_request(request);
}

Failure refused(const Access& access, const RequestInfo& info) {
  const std::string where =
      access.ns.empty() ? "at the cluster scope" : fmt::format("in the namespace \"{}\"", access.ns);
  return forbidden({info.group, info.plural, info.name},
                   fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}", access.user, access.verb,
                               access.resource, access.group, where));
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

// The first `most` characters.
std::string shortened(std::string_view text, std::size_t most) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if ((static_cast<unsigned char>(text[bytes]) & 0xc0U) != 0x80U && most-- == 0) break;
  }
  return std::string(text.substr(0, bytes));
}

// Warnings as the real server tells them: all if they are short, else the beginnings of the first ones. They become
// headers, which have limits.
std::vector<std::string> told(std::vector<std::string> warnings) {
  constexpr std::size_t most_in_all = 4096;  // characters
  constexpr std::size_t most_of_one = 256;
  std::size_t all = 0;
  for (const std::string& warning : warnings) all += characters(warning);
  if (all <= most_in_all) return warnings;
  std::vector<std::string> some;
  std::size_t length = 0;
  for (const std::string& warning : warnings) {
    if (length >= most_in_all) break;
    some.push_back(shortened(warning, most_of_one));
    length += characters(some.back());
  }
  return some;
}

}  // namespace

ApiServer::Impl::Impl(base::Reactor& the_reactor, ServerOptions the_options)
    : reactor(the_reactor),
      config(std::move(the_options)),
      random(config.seed),
      storage(config.history, config.history_bytes) {
  register_builtin_kinds();
  storage.observe([this](const Change& change) { on_change(change); });
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    Target target;
    target.kind = namespaces;
    json::object object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
    (void)store_new(target, std::move(object));
  }
}

// Query options of writes whose values are limited.
Outcome<void> ApiServer::Impl::check_options(const RequestInfo& info, const kube::Request& request) {
  const bool patch = info.verb == "patch";
  if (!patch && info.verb != "create" && info.verb != "update") return {};
  Causes causes;
  if (const std::string_view text = info.param("dryRun"); !text.empty() && text != "All")
    causes.push_back(field_not_supported("dryRun", fmt::format("[{}]", quote(text)), {"\"All\""}));
  if (patch && info.query.contains("force") && !request.content_type.starts_with(apply_type))
    causes.push_back(field_forbidden("force", "may not be specified for non-apply patch"));
  if (info.param("fieldManager").size() > 128) causes.push_back(field_too_long("fieldManager", 128));
  const std::string_view validation = info.param("fieldValidation");
  if (!validation.empty() && validation != "Strict" && validation != "Warn" && validation != "Ignore") {
    causes.push_back(
        field_not_supported("fieldValidation", quote(validation), {"\"\"", "\"Ignore\"", "\"Strict\"", "\"Warn\""}));
  }
  if (causes.empty()) return {};
  const std::string_view kind = patch ? "PatchOptions" : info.verb == "create" ? "CreateOptions" : "UpdateOptions";
  return refuse(invalid({"meta.k8s.io", std::string(kind), ""}, std::move(causes)));
}

Outcome<Target> ApiServer::Impl::route(const kube::Request& request, const Caller& caller) const {
  Target target;
  target.info = parse_request(request);
  const RequestInfo& info = target.info;
  if (info.verb.empty()) return refuse(method_not_allowed());
  if (authorizer) {
    const Access access = access_of(info, caller.user);
    if (!authorizer(access)) return refuse(refused(access, info));
  }
  target.kind = find_kind(info.group, info.version, info.plural);
  if (target.kind == nullptr) {
    // Groups of custom kinds have a handler of their own.
    for (const auto& [key, kind] : kinds) {
      if (kind->group == info.group && kind->version == info.version && !kind->custom)
        return refuse(no_such_resource());
    }
    return refuse(page_not_found());
  }
  const std::string_view sub = info.subresource;
  const bool served =
      sub.empty() || (sub == "status" && target.kind->status) || (sub == "finalize" && target.kind == namespaces) ||
      std::ranges::find(target.kind->subresources, sub, &Subresource::name) != target.kind->subresources.end();
  const auto absent = std::ranges::find(target.kind->absent, std::string_view(sub).substr(0, sub.find('/')),
                                        &std::pair<std::string_view, std::string_view>::first);
  if (!served && absent != target.kind->absent.end() && !info.ns.empty() == target.kind->namespaced) {
    if (storage.get(*target.kind, target.key()) == nullptr) return refuse(not_found(target.kind->subject(info.name)));
    return refuse(bad_request(std::string(absent->second)));
  }
  if (!served && target.kind->custom && !info.name.empty()) return refuse(not_found(target.kind->subject(info.name)));
  if (!served || (!target.kind->namespaced && !info.ns.empty())) return refuse(no_such_resource());
  if (target.kind->namespaced && info.ns.empty() && (!info.name.empty() || is_write(info.verb)))
    return refuse(page_not_found());
  auto form = negotiate(caller.accept);
  if (!form) return std::unexpected(form.error());
  target.form = std::move(*form);
  target.user = caller.user;
  target.groups = caller.groups;
  target.manager = manager_of(info, caller.user_agent);
  if (auto checked = check_options(info, request); !checked) return std::unexpected(checked.error());
  target.dry_run = info.param("dryRun") == "All";
  return target;
}

Outcome<void> ApiServer::Impl::admit(const Target& target, const json::object* object, const json::object* old) const {
  if (admissions.empty()) return {};
  const Access access = access_of(target.info, target.user);
  for (const Admission& admission : admissions) {
    const auto refusal = admission({access, object, old});
    if (!refusal) continue;
    Failure failure = forbidden(target.kind->subject(target.info.name), {});
    failure.code = refusal->code;
    failure.reason = refusal->reason;
    failure.message = refusal->message;
    failure.bare = refusal->code >= 500;
    return refuse(std::move(failure));
  }
  return {};
}

Outcome<kube::Response> ApiServer::Impl::dispatch(Target& target, const kube::Request& request) {
  const RequestInfo& info = target.info;
  if (target.kind->review)
    return info.verb == "create" && info.name.empty() ? review(target, request) : refuse(method_not_allowed());
  if (info.subresource == "scale") {
    if (info.verb == "get") return get_scale(target);
    if (info.verb == "update" || info.verb == "patch") return set_scale(target, request);
    return refuse(method_not_allowed());
  }
  if (info.verb == "get") return get(target);
  if (info.verb == "list") return list(target);
  if (info.verb == "create" && info.name.empty()) return create(target, request);
  if (info.verb == "update" && !info.name.empty()) return update(target, request);
  if (info.verb == "patch" && !info.name.empty()) return patch(target, request);
  if (info.verb == "delete" && info.subresource.empty()) return remove(target, request);
  if (info.verb == "deletecollection") return remove_collection(target, request);
  return refuse(method_not_allowed());
}

ApiServer::ApiServer(base::Reactor& reactor, ServerOptions options)
    : impl_(std::make_unique<Impl>(reactor, std::move(options))) {}

ApiServer::~ApiServer() {
  while (!impl_->watchers.empty()) impl_->drop_watcher(impl_->watchers.begin()->first);
}

kube::Response ApiServer::handle(const kube::Request& request, const Caller& caller) {
  const RequestInfo info = parse_request(request);
  if (!info.resource) {
    if (auto found = impl_->discovery(info, caller.accept)) return *found;
    return page_not_found().response();
  }
  const std::uint64_t before = impl_->storage.revision();
  std::vector<std::string> warnings;
  Outcome<kube::Response> outcome = [&]() -> Outcome<kube::Response> {
    auto target = impl_->route(request, caller);
    if (!target) return std::unexpected(target.error());
    auto response = impl_->dispatch(*target, request);
    // Told whatever the answer is, and first.
    if (!target->kind->warning.empty()) warnings.push_back(target->kind->warning);
    if (response) std::ranges::move(target->warnings, std::back_inserter(warnings));
    return response;
  }();
  kube::Response response = outcome ? std::move(*outcome) : outcome.error().response();
  response.warnings = told(std::move(warnings));
  if (impl_->audit && is_write(info.verb)) {
    const std::uint64_t after = impl_->storage.revision();
    impl_->audit({impl_->reactor.now(), access_of(info, caller.user), response.status, after != before, after});
  }
  return response;
}

bool ApiServer::is_watch(const kube::Request& request) { return parse_request(request).verb == "watch"; }

std::expected<WatchId, kube::Response> ApiServer::watch(const kube::Request& request, const Caller& caller,
                                                        WatchSink& sink) {
  auto target = impl_->route(request, caller);
  if (!target) return std::unexpected(target.error().response());
  auto id = impl_->start_watch(*target, sink);
  if (!id) return std::unexpected(id.error().response());
  return *id;
}

void ApiServer::unwatch(WatchId id) { impl_->drop_watcher(id); }

void ApiServer::set_authorizer(Authorizer authorizer) { impl_->authorizer = std::move(authorizer); }
void ApiServer::add_admission(Admission admission) { impl_->admissions.push_back(std::move(admission)); }
void ApiServer::set_audit(AuditSink sink) { impl_->audit = std::move(sink); }
std::uint64_t ApiServer::revision() const { return impl_->storage.revision(); }
void ApiServer::compact() { impl_->storage.compact(); }
std::size_t ApiServer::open_watches() const { return impl_->watchers.size(); }

void ApiServer::end_watches() {
  std::vector<WatchId> ids;
  for (const auto& [id, watcher] : impl_->watchers) ids.push_back(id);
  for (const WatchId id : ids) impl_->end_watch(id);
}

void ApiServer::set_revision(std::uint64_t revision) {
  impl_->storage.set_revision(revision);
  end_watches();
}

void ApiServer::load_crds(std::string_view yaml) {
  auto documents = parse_yaml(yaml);
  if (!documents) throw std::runtime_error(documents.error().message);
  for (json::value& document : *documents) {
    if (!document.is_object()) throw std::runtime_error("a CustomResourceDefinition is an object");
    json::object& object = document.get_object();
    if (const auto kind = kind_of_crd(object); !kind) throw std::runtime_error(kind.error().message);
    Target target;
    target.kind = impl_->definitions;
    target.info.name = text_at(object, {"metadata", "name"});
    const VersionPtr current = impl_->storage.get(*target.kind, target.info.name);
    if (current != nullptr) {  // what others put into its metadata stays: a Helm release may own it
      json::value metadata = current->document()->at("metadata");
      merge_patch(metadata, make_object(object, {"metadata"}));
      object["metadata"] = std::move(metadata);
      make_object(object, {"metadata"})["resourceVersion"] = std::to_string(current->revision());
    }
    const auto stored = current == nullptr
                            ? impl_->store_new(target, std::move(object))
                            : impl_->store_next(target, std::move(object), current, Impl::Part::main, false);
    if (!stored) throw std::runtime_error(stored.error().message);
  }
}

void ApiServer::load_crds(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) throw std::runtime_error("no CustomResourceDefinitions in " + folder.string());
  for (const auto& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    try {
      load_crds(std::string_view(text.str()));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(file.string() + ": " + error.what());
    }
  }
}

void ApiServer::put_raw(std::string_view text) {
  auto document = parse_json(text);
  if (!document || !document->is_object()) throw std::runtime_error("put_raw: not a JSON object");
  json::object& object = document->get_object();
  const Kind* kind = impl_->find_kind_of(object);
  if (kind == nullptr) throw std::runtime_error("put_raw: unknown kind");
  json::object& metadata = make_object(object, {"metadata"});
  if (!metadata.contains("uid")) metadata["uid"] = impl_->new_uid();
  if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = impl_->now();
  const std::string key = Storage::key(text_at(metadata, {"namespace"}), text_at(metadata, {"name"}));
  const VersionPtr before = impl_->storage.get(*kind, key);
  const VersionPtr after = impl_->storage.put(*kind, key, std::move(object));
  impl_->committed(*kind, before == nullptr ? nullptr : before->document().get(), after->document().get());
}

std::optional<std::string> ApiServer::get_raw(std::string_view path) const {
  const RequestInfo info = request_for(path);
  const Kind* kind = impl_->find_kind(info.group, info.version, info.plural);
  if (kind == nullptr) return std::nullopt;
  const VersionPtr found = impl_->storage.get(kind->stored_as(), Storage::key(info.ns, info.name));
  if (found == nullptr) return std::nullopt;
  return to_text(shown(*kind, *found->document()));
}

void ApiServer::remove_raw(std::string_view path) {
  const RequestInfo info = request_for(path);
  const Kind* kind = impl_->find_kind(info.group, info.version, info.plural);
  if (kind == nullptr) return;
  const VersionPtr found = impl_->storage.get(kind->stored_as(), Storage::key(info.ns, info.name));
  if (found == nullptr) return;
  impl_->storage.remove(kind->stored_as(), Storage::key(info.ns, info.name));
  impl_->committed(kind->stored_as(), found->document().get(), nullptr);
}

}  // namespace sandbox
