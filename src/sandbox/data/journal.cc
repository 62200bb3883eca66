#include "sandbox/data/journal.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "sandbox/data/writer.h"
#include "sandbox/server_impl.h"

namespace sandbox {
namespace {

using data::Contents;
using data::DataFile;
using data::Encoder;
using data::KindName;
using data::MappedFile;
using data::Snapshot;
using data::Writer;
using data::Written;

constexpr std::string_view k_definitions_group = "apiextensions.k8s.io";

// Definitions first: they say what the others are.
base::Result<void> restore(ApiServer::Impl& server, const Contents& contents, bool definitions) {
  for (const auto& [place, stored] : contents.objects) {
    const auto& [name, key] = place;
    if ((name.group == k_definitions_group) != definitions) continue;
    const Kind* kind = server.find_kind(name.group, name.version, name.plural);
    if (kind == nullptr || &kind->stored_as() != kind) {
      return base::fail(
          fmt::format("this sandbox does not serve {}/{}", qualified(name.plural, name.group), name.version));
    }
    auto document = parse_stored(stored.document);
    if (!document) return base::fail(fmt::format("{} {} is no object", name.plural, key));
    server.storage.restore(*kind, key, std::move(*document), stored.revision);
    server.committed(*kind, nullptr, server.storage.get(*kind, key)->document().get());
  }
  return {};
}

// What the file says, into the server; and the file, ready to go on.
base::Result<Contents> take_over(DataFile& file, std::size_t size, ApiServer::Impl& server) {
  const auto mapped = MappedFile::map(file, size);
  if (!mapped) return std::unexpected(mapped.error());
  auto contents = data::decode(mapped->bytes());
  if (!contents) return base::fail(fmt::format("it is damaged: {}", contents.error().message));
  server.storage.clear();
  for (const bool definitions : {true, false}) {
    if (auto restored = restore(server, *contents, definitions); !restored) return std::unexpected(restored.error());
  }
  server.storage.set_revision(contents->revision);
  return contents;
}

}  // namespace

struct Journal::Impl : std::enable_shared_from_this<Journal::Impl> {
  Impl(ApiServer& the_server, base::Reactor& the_reactor, JournalOptions the_options)
      : server(the_server), reactor(the_reactor), options(std::move(the_options)) {}

  void begin(const std::string& path, Written file, std::size_t log_bytes);
  void written(const Change& change);
  void now_durable(std::uint64_t revision);

  ApiServer& server;
  base::Reactor& reactor;
  JournalOptions options;
  std::size_t restored = 0;
  std::uint64_t durable = 0;
  std::multimap<std::uint64_t, base::Task> waiting;
  std::unique_ptr<Writer> writer;
};

// Tasks that reach a journal that is gone do nothing.
void Journal::Impl::begin(const std::string& path, Written file, std::size_t log_bytes) {
  durable = server.impl().storage.revision();
  const std::weak_ptr<Impl> weak = weak_from_this();
  Writer::Callbacks callbacks;
  callbacks.durable = [weak, &reactor = reactor](std::uint64_t revision) {
    reactor.post([weak, revision] {
      if (const auto self = weak.lock()) self->now_durable(revision);
    });
  };
  callbacks.wants_snapshot = [weak, &reactor = reactor] {
    reactor.post([weak] {
      const auto self = weak.lock();
      if (self != nullptr && self->writer != nullptr) {
        self->writer->snapshot(Snapshot::of(self->server.impl().storage));
      }
    });
  };
  callbacks.failed = [weak, &reactor = reactor](const std::string& why) {
    reactor.post([weak, why] {
      const auto self = weak.lock();
      if (self != nullptr && self->options.failed) std::exchange(self->options.failed, nullptr)(why);
    });
  };
  writer = std::make_unique<Writer>(path, std::move(file), log_bytes, options.least_log, std::move(callbacks));
  server.impl().storage.observe([weak](const Change& change) {
    if (const auto self = weak.lock()) self->written(change);
  });
}

void Journal::Impl::written(const Change& change) {
  const KindName kind{change.kind->group, change.kind->version, change.kind->plural};
  writer->change(change.revision, change.after == nullptr
                                      ? Encoder::remove_payload(change.revision, kind, change.key)
                                      : Encoder::put_payload(change.revision, kind, change.key, change.after->text()));
}

void Journal::Impl::now_durable(std::uint64_t revision) {
  durable = revision;
  while (!waiting.empty() && waiting.begin()->first <= durable) {
    auto first = waiting.extract(waiting.begin());
    first.mapped()();
  }
}

Journal::Journal(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() { impl_->writer.reset(); }

base::Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, ApiServer& server, base::Reactor& reactor,
                                                     JournalOptions options) {
  std::error_code ignored;
  const std::string real = std::filesystem::weakly_canonical(path, ignored);  // what a link points to is replaced
  auto file = DataFile::open(real.empty() ? path : real);
  if (!file) return std::unexpected(file.error());
  const auto size = file->size();
  if (!size) return std::unexpected(size.error());
  auto impl = std::make_shared<Impl>(server, reactor, std::move(options));
  const std::string& name = real.empty() ? path : real;
  if (*size == 0) {
    auto fresh = data::write_snapshot(name, Snapshot::of(server.impl().storage));
    if (!fresh) return std::unexpected(fresh.error());
    if (auto replaced = fresh->file.replace(name); !replaced) return std::unexpected(replaced.error());
    impl->begin(name, std::move(*fresh), 0);
    return std::unique_ptr<Journal>(new Journal(std::move(impl)));
  }
  auto contents = take_over(*file, *size, server.impl());
  if (!contents) return base::fail(fmt::format("{} is left as it is: {}", path, contents.error().message));
  if (contents->valid_bytes < *size) {
    if (auto cut = file->truncate(contents->valid_bytes); !cut) return std::unexpected(cut.error());
  }
  impl->restored = contents->objects.size();
  const std::size_t log_bytes = contents->valid_bytes - contents->snapshot_bytes;
  impl->begin(name, {std::move(*file), Encoder(contents->records), contents->snapshot_bytes}, log_bytes);
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

std::size_t Journal::restored() const { return impl_->restored; }
std::size_t Journal::compactions() const { return impl_->writer->compactions(); }
std::uint64_t Journal::durable() const { return impl_->durable; }

void Journal::when_durable(std::uint64_t revision, base::Task task) {
  if (revision <= impl_->durable) return task();
  impl_->waiting.emplace(revision, std::move(task));
}

}  // namespace sandbox
