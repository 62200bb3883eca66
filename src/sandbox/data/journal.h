// Keeps an API server's state in a file: every change is written and on the disk before anybody is told of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "base/result.h"
#include "sandbox/api_server.h"
#include "sandbox/durability.h"

namespace sandbox {

struct JournalOptions {
  // The file is written anew (a snapshot, beside it, then put in its place) when its log is longer than its snapshot
  // and than this many bytes.
  std::size_t least_log = 8UL * 1024 * 1024;
  // Called once, on the reactor's thread, when a change could not be written: nothing is durable any more.
  std::function<void(const std::string& why)> failed = {};
};

// Writes on a thread of its own; several changes share one wait for the disk. Everything else on the reactor's thread.
class Journal final : public Durability {
 public:
  // Takes what is in the file into the server, in place of what the server's constructor made; without a file, or with
  // an empty one, makes it from what the server has. Revisions go on where they ended. A damaged file, one in use and
  // one with kinds that the server cannot serve are refused and left as they are; a last change that was cut short is
  // forgotten, as nobody was told of it. The message names the file. Server and reactor outlive the journal.
  static base::Result<std::unique_ptr<Journal>> open(const std::string& path, ApiServer& server, base::Reactor& reactor,
                                                     JournalOptions options = {});
  // Writes what is left.
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // How many objects were in the file.
  std::size_t restored() const;
  // How many times the file was written anew.
  std::size_t compactions() const;

  std::uint64_t durable() const override;
  void when_durable(std::uint64_t revision, base::Task task) override;

 private:
  struct Impl;
  explicit Journal(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace sandbox
