#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "serve/http_impl.h"

namespace serve {
namespace {

// Whatever a handler puts into a header, it cannot end it.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 && c != '\t'; }, ' ');
  return line;
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

std::string head_text(const Response& response, std::optional<std::size_t> length, bool keep, bool http_1_0) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", one_line(name), one_line(value));
  if (!response.content_type.empty()) text += fmt::format("Content-Type: {}\r\n", one_line(response.content_type));
  text += fmt::format("Date: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", fmt::gmtime(std::time(nullptr)));
  if (length) {
    if (response.status != 204 && response.status != 304) text += fmt::format("Content-Length: {}\r\n", *length);
  } else if (!http_1_0) {
    text += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep) {
    text += "Connection: close\r\n";
  } else if (http_1_0) {
    text += "Connection: keep-alive\r\n";
  }
  return text + "\r\n";
}

}  // namespace serve
