#include "kube/http/curl_endpoint.h"

#include <fmt/format.h>

#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url_view.hpp>

namespace kube {
namespace {

void append_encoded(std::string& url, std::string_view text) {
  url += boost::urls::encode(text, boost::urls::unreserved_chars);
}

}  // namespace

base::Result<Endpoint> Endpoint::of(const ClientConfig& config) {
  const auto parsed = boost::urls::parse_uri(config.server);
  if (!parsed || parsed->host().empty() || (parsed->scheme() != "https" && parsed->scheme() != "http")) {
    return base::fail(fmt::format("the API server's URL {:?} is not http(s)://host:port", config.server));
  }
  Endpoint endpoint;
  endpoint.tls = parsed->scheme() == "https";
  const std::string host(parsed->encoded_host());
  const std::string port = parsed->has_port() && !parsed->port().empty() ? std::string(parsed->port())
                           : endpoint.tls                                ? "443"
                                                                         : "80";
  std::string prefix(parsed->encoded_path());
  while (prefix.ends_with('/')) prefix.pop_back();
  endpoint.host = host + ":" + port;
  const std::string& name = config.tls.server_name;
  if (endpoint.tls && !name.empty() && name != host) {
    // libcurl verifies the URL's host: so the name goes there, and the connection elsewhere.
    endpoint.connect_to = fmt::format("{}:{}:{}:{}", name, port, host, port);
    endpoint.host_header = endpoint.host;
    endpoint.base = fmt::format("https://{}:{}{}", name, port, prefix);
  } else {
    endpoint.base = fmt::format("{}://{}:{}{}", std::string_view(parsed->scheme()), host, port, prefix);
  }
  return endpoint;
}

std::string Endpoint::url(const Request& request) const {
  std::string url;
  url.reserve(base.size() + request.path.size() + 32 * request.query.size() + 16);
  url = base;
  url += request.path;
  char separator = request.path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : request.query) {
    url += separator;
    append_encoded(url, name);
    url += '=';
    append_encoded(url, value);
    separator = '&';
  }
  return url;
}

}  // namespace kube
