#include "kube/http/io_context.h"

#include <algorithm>

#include "base/log.h"

namespace kube {
namespace {

constexpr std::size_t k_max_warnings = 1000;

}  // namespace

void WarningLog::note(const std::vector<std::string>& warnings) {
  for (const std::string& text : warnings) {
    if (seen_.size() >= k_max_warnings || !seen_.insert(text).second) continue;
    base::log::warn("Warning from the API server", {base::log::kv("warning", text)});
  }
}

std::shared_ptr<const HeaderList> HeaderLists::get(const Request& request) {
  const auto found = std::ranges::find_if(items_, [&](const Item& item) {
    return item.lane == request.lane && item.content_type == request.content_type && item.accept == request.accept;
  });
  if (found != items_.end()) return found->list;
  return items_.emplace_back(Item{request.content_type, request.accept, request.lane, make(request)}).list;
}

std::shared_ptr<const HeaderList> HeaderLists::make(const Request& request) const {
  auto list = std::make_shared<HeaderList>();
  list->append("Accept: " + (request.accept.empty() ? "application/json" : request.accept));
  list->append("Expect:");  // no waiting for "100 Continue" before a large body
  std::string agent = "User-Agent: " + setup_.options.user_agent;
  if (request.lane == Lane::lease) agent += "/leader-election";
  list->append(agent);
  if (!setup_.endpoint.host_header.empty()) list->append("Host: " + setup_.endpoint.host_header);
  if (!request.content_type.empty()) list->append("Content-Type: " + request.content_type);
  for (const std::string& header : credential_->headers) list->append(header);
  return list;
}

std::shared_ptr<const HeaderList> IoContext::headers_for(const CredentialPtr& credential, const Request& request) {
  if (!headers || headers->credential() != credential) headers = std::make_unique<HeaderLists>(setup, credential);
  return headers->get(request);
}

void IoContext::report(const Request& request, int code, bool stream, base::Duration duration, base::Duration limited,
                       std::uint64_t response_bytes) {
  if (!setup.options.observer) return;
  setup.options.observer->done({.method = request.method,
                                .host = setup.endpoint.host,
                                .path = request.path,
                                .code = code,
                                .stream = stream,
                                .duration = duration,
                                .rate_limited = limited,
                                .request_bytes = request.body.size(),
                                .response_bytes = response_bytes});
}

void IoContext::report_retry(const Request& request, int code) {
  if (setup.options.observer) setup.options.observer->retried(request.method, setup.endpoint.host, code);
}

Response take_response(CurlTransfer& transfer) {
  ResponseHead& head = transfer.head();
  return Response{.status = head.status,
                  .body = std::move(transfer.body()),
                  .content_type = std::move(head.content_type),
                  .retry_after = head.retry_after,
                  .warnings = std::move(head.warnings)};
}

}  // namespace kube
