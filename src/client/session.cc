#include "client/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>

namespace client {
namespace {

kube::ApiResult<json::object> decoded(const kube::ApiResult<kube::Response>& response) {
  if (!response) return std::unexpected(response.error());
  auto object = parse_object(response->body);
  if (!object) return std::unexpected(not_understood(object.error()));
  return std::move(*object);
}

kube::Request with_body(std::string method, std::string path, const json::object& body, std::string content_type) {
  kube::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.content_type = std::move(content_type);
  request.body = json::serialize(body);
  return request;
}

}  // namespace

kube::ApiResult<kube::Response> Session::send(kube::Request request) const {
  kube::Answer answer = server.call(std::move(request));
  if (const auto error = kube::error_of(answer)) return std::unexpected(*error);
  for (const std::string& warning : answer->warnings) err << "Warning: " << harmless(warning) << "\n";
  return std::move(*answer);
}

namespace {

// A path that ends without a name is that of the whole collection: a DELETE there would delete all.
kube::ApiResult<std::string> path_of(const kube::Resource& kind, std::string_view in, std::string_view name) {
  if (!name.empty()) return kind.object_path(in, name);
  kube::ApiError error;
  error.code = 400;
  error.reason = "BadRequest";
  error.message = fmt::format("the name of the {} is empty", kind.kind);
  return std::unexpected(error);
}

}  // namespace

kube::ApiResult<json::object> Session::get(const kube::Resource& kind, std::string_view in,
                                           std::string_view name) const {
  kube::ApiResult<std::string> path = path_of(kind, in, name);
  if (!path) return std::unexpected(path.error());
  kube::Request request;
  request.path = std::move(*path);
  return decoded(send(std::move(request)));
}

kube::ApiResult<std::vector<json::object>> Session::list(const kube::Resource& kind, std::string_view in,
                                                         Query query) const {
  std::vector<json::object> items;
  query.emplace_back("limit", "500");
  const std::size_t first_page = query.size();
  while (true) {
    kube::Request request;
    request.path = kind.collection_path(in);
    request.query = query;
    auto page = decoded(send(std::move(request)));
    if (!page) return std::unexpected(page.error());
    if (json::value* found = page->if_contains("items"); found != nullptr && found->is_array()) {
      for (json::value& item : found->get_array()) {
        if (item.is_object()) items.push_back(std::move(item.get_object()));
      }
    }
    const std::string token(text_at(*page, {"metadata", "continue"}));
    if (token.empty()) return items;
    query.resize(first_page);
    query.emplace_back("continue", token);
  }
}

kube::ApiResult<json::object> Session::create(const kube::Resource& kind, std::string_view in,
                                              const json::object& object) const {
  return decoded(send(with_body("POST", kind.collection_path(in), object, "application/json")));
}

kube::ApiResult<json::object> Session::patch(const kube::Resource& kind, std::string_view in, std::string_view name,
                                             const json::object& patch, std::string_view subresource) const {
  kube::ApiResult<std::string> path = path_of(kind, in, name);
  if (!path) return std::unexpected(path.error());
  if (!subresource.empty()) *path += "/" + std::string(subresource);
  return decoded(send(with_body("PATCH", std::move(*path), patch, "application/merge-patch+json")));
}

kube::ApiResult<json::object> Session::remove(const kube::Resource& kind, std::string_view in, std::string_view name,
                                              const json::object& options) const {
  kube::ApiResult<std::string> path = path_of(kind, in, name);
  if (!path) return std::unexpected(path.error());
  return decoded(send(with_body("DELETE", std::move(*path), options, "application/json")));
}

kube::ApiError not_understood(const base::Error& error) {
  kube::ApiError api;
  api.code = 200;
  api.message = "the server's answer is " + error.message;
  return api;
}

bool Session::wait_until(base::Duration limit, const std::function<bool()>& done) const {
  out.flush();  // what has happened so far, before a wait that may be long
  constexpr base::Duration shortest = std::chrono::milliseconds(50);
  constexpr base::Duration longest = std::chrono::milliseconds(500);
  const base::MonoTime end = server.now() + limit;
  for (base::Duration step = shortest;; step = std::min(step * 3 / 2, longest)) {
    if (done()) return true;
    const base::Duration left = end - server.now();
    if (left <= base::Duration::zero() || server.interrupted()) return false;
    server.pause(std::min(step, left));
  }
}

int Session::fail(std::string_view message, int status) const {
  err << "error: " << harmless(message) << "\n";
  return status;
}

int Session::fail(const kube::ApiError& error) const {
  err << harmless(describe(error)) << "\n";
  return k_failed;
}

std::string describe(const kube::ApiError& error) {
  if (error.is_transport()) return fmt::format("error: no answer from the API server: {}", error.message);
  if (error.reason == "Invalid") {
    // IPAddressClaim.local.sdn.cozystack.io "web" is invalid: […]
    std::string message = error.message;
    const std::size_t quote = message.find(" \"");
    const std::size_t dot = message.find('.');
    if (dot < quote && quote != std::string::npos) message.erase(dot, quote - dot);
    const std::size_t head = message.find(" is invalid: ");
    if (head != std::string::npos && error.causes.size() > 1) {
      std::string out = fmt::format("The {} is invalid: ", message.substr(0, head));
      for (const kube::Cause& cause : error.causes) out += fmt::format("\n* {}: {}", cause.field, cause.message);
      return out;
    }
    return "The " + message;
  }
  if (error.reason.empty()) return fmt::format("Error from server: {}", error.message);
  return fmt::format("Error from server ({}): {}", error.reason, error.message);
}

std::string human_duration(base::Duration age) {
  using std::chrono::seconds;
  const auto total = std::chrono::duration_cast<seconds>(age).count();
  if (total < 0) return total < -1 ? "<invalid>" : "0s";
  // The larger unit, and the smaller one while it matters.
  const auto two = [](std::int64_t large, const char* large_unit, std::int64_t small, const char* small_unit) {
    return small == 0 ? fmt::format("{}{}", large, large_unit)
                      : fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
  };
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (total < 120) return fmt::format("{}s", total);
  if (minutes < 10) return two(minutes, "m", total % 60, "s");
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 24 * 8) return two(days, "d", hours % 24, "h");
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) return two(days / 365, "y", days % 365, "d");
  return fmt::format("{}y", days / 365);
}

std::string age_of(std::string_view timestamp, base::WallTime now) {
  // 2026-01-31T23:59:59Z
  const auto number = [&](std::size_t at, std::size_t size, int& value) {
    const char* begin = timestamp.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + size, value);
    return error == std::errc() && end == begin + size;
  };
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (timestamp.size() < 20 || !number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day) ||
      !number(11, 2, hour) || !number(14, 2, minute) || !number(17, 2, second)) {
    return "<unknown>";
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const base::WallTime then = std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                              std::chrono::seconds(second);
  return human_duration(now - then);
}

}  // namespace client
