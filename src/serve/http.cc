#include "serve/http.h"

#include <algorithm>
#include <cctype>

namespace serve {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view Head::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return value;
  }
  return {};
}

Responder::~Responder() {
  if (channel_ != nullptr) channel_->abandoned();
}

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(channel_, other.channel_);
  return *this;
}

void Responder::send(Response response) {
  if (const auto channel = std::exchange(channel_, nullptr)) channel->send(std::move(response));
}

std::shared_ptr<Stream> Responder::stream(Response head) {
  const auto channel = std::exchange(channel_, nullptr);
  return channel == nullptr ? nullptr : channel->stream(std::move(head));
}

Handler fixed_text(std::string content_type, std::string text) {
  return [type = std::move(content_type), text = std::move(text)](Request request, Responder responder) {
    if (request.method != "GET" && request.method != "HEAD") {
      return responder.send({.status = 405,
                             .content_type = "text/plain; charset=utf-8",
                             .headers = {{"Allow", "GET, HEAD"}},
                             .body = "Method Not Allowed\n"});
    }
    responder.send({.status = 200, .content_type = type, .body = text});
  };
}

}  // namespace serve
