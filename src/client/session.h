// One run of the client: the server it talks to, whom it speaks for, and where it prints.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "client/document.h"
#include "kube/api_error.h"
#include "kube/transport.h"
#include "kube/types.h"

namespace client {

// The way to the API server, and time. Production: kube::SyncClient and the clock; tests: a server in memory and
// virtual time.
class Server {
 public:
  virtual ~Server() = default;
  virtual kube::Answer call(kube::Request request) = 0;
  // Calls `line` for each line of a stream until it returns false or the stream ends; returns how it ended.
  virtual kube::Answer stream(kube::Request request, const std::function<bool(std::string_view)>& line) = 0;
  virtual base::MonoTime now() const = 0;
  virtual base::WallTime wall() const = 0;
  virtual void pause(base::Duration time) = 0;
  // From now on the first Ctrl-C only makes interrupted() true and ends a pause; the second ends the program.
  virtual void catch_interrupt() = 0;
  virtual bool interrupted() const = 0;
};

// What a command ends with.
inline constexpr int k_done = 0;
inline constexpr int k_failed = 1;         // the cluster says no, or it did not happen in time
inline constexpr int k_usage = 2;          // the command line cannot mean anything
inline constexpr int k_interrupted = 130;  // Ctrl-C ended a wait, as a shell has it

using Query = std::vector<std::pair<std::string, std::string>>;

// Outlived by everything it refers to.
struct Session {
  Server& server;
  std::string ns;               // where things without a namespace of their own are
  bool all_namespaces = false;  // -A
  std::ostream& out;
  std::ostream& err;
  std::string program = "kubectl address";  // as messages name it

  kube::ApiResult<json::object> get(const kube::Resource& kind, std::string_view in, std::string_view name) const;
  // The items of all pages.
  kube::ApiResult<std::vector<json::object>> list(const kube::Resource& kind, std::string_view in,
                                                  Query query = {}) const;
  kube::ApiResult<json::object> create(const kube::Resource& kind, std::string_view in,
                                       const json::object& object) const;
  // A merge patch; `subresource` may be "".
  kube::ApiResult<json::object> patch(const kube::Resource& kind, std::string_view in, std::string_view name,
                                      const json::object& patch, std::string_view subresource = {}) const;
  kube::ApiResult<json::object> remove(const kube::Resource& kind, std::string_view in, std::string_view name,
                                       const json::object& options) const;
  // Any request; warnings of the server go to `err`. Status documents and silence become errors.
  kube::ApiResult<kube::Response> send(kube::Request request) const;

  // Asks again and again, ever more slowly, until `done` says so: false when `limit` has passed or Ctrl-C was pressed.
  // What the caller then says of what it waited for is true of both.
  bool wait_until(base::Duration limit, const std::function<bool()>& done) const;

  int fail(std::string_view message, int status = k_failed) const;
  // As kubectl words it: "Error from server (NotFound): …".
  int fail(const kube::ApiError& error) const;
};

// What kubectl would print of a refusal.
std::string describe(const kube::ApiError& error);

// An answer that is no document.
kube::ApiError not_understood(const base::Error& error);

// "5s", "3m20s", "2d4h": ages as kubectl prints them.
std::string human_duration(base::Duration age);
// The age of an object of this creationTimestamp; "<unknown>" if it is none.
std::string age_of(std::string_view timestamp, base::WallTime now);

}  // namespace client
