#include "scenarios/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <boost/json.hpp>
#include <cctype>

#include "scenarios/yaml.h"

namespace scenarios {
namespace {

namespace json = boost::json;

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

// Keeps the text of `Warning: 299 - "text"` headers.
std::size_t header(char* data, std::size_t size, std::size_t count, void* to) {
  const std::string_view line(data, size * count);
  static constexpr std::string_view name = "warning:";
  bool is_warning = line.size() > name.size();
  for (std::size_t i = 0; is_warning && i < name.size(); ++i) {
    is_warning = std::tolower(static_cast<unsigned char>(line[i])) == name[i];
  }
  const std::size_t open = line.find('"');
  const std::size_t close = line.rfind('"');
  if (is_warning && open != std::string_view::npos && close > open) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(line.substr(open + 1, close - open - 1));
  }
  return size * count;
}

std::string at(const json::value& document, std::string_view pointer) {
  boost::system::error_code error;
  const auto* value = document.find_pointer(pointer, error);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

std::string unbase64(const std::string& text) {
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(size < 0 ? 0 : static_cast<std::size_t>(size) - padding);
  return out;
}

void set_pem(CURL* curl, CURLoption option, std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob{pem.data(), pem.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(curl, option, &blob);
}

}  // namespace

struct HttpClient::State {
  std::string server;
  std::string authority;
  std::string token;
  std::string authority_pem;
  std::string certificate_pem;
  std::string key_pem;
  CURL* curl = curl_easy_init();
  ~State() { curl_easy_cleanup(curl); }
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::~HttpClient() = default;

base::Result<std::unique_ptr<HttpClient>> HttpClient::from_kubeconfig(const std::string& path) {
  auto documents = load_yaml(path);
  if (!documents) return base::fail(documents.error().message);
  if (documents->empty()) return base::fail(fmt::format("{} is empty", path));
  const auto& config = documents->front().value;
  auto state = std::make_unique<State>();
  state->server = at(config, "/clusters/0/cluster/server");
  state->authority = at(config, "/clusters/0/cluster/certificate-authority");
  state->token = at(config, "/users/0/user/token");
  state->authority_pem = unbase64(at(config, "/clusters/0/cluster/certificate-authority-data"));
  state->certificate_pem = unbase64(at(config, "/users/0/user/client-certificate-data"));
  state->key_pem = unbase64(at(config, "/users/0/user/client-key-data"));
  if (state->server.empty()) return base::fail(fmt::format("{} names no server", path));
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(state)));
}

std::unique_ptr<HttpClient> HttpClient::plain(const std::string& server) {
  auto state = std::make_unique<State>();
  state->server = server;
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(state)));
}

kube::Answer HttpClient::send(const kube::Request& request) {
  CURL* curl = state_->curl;
  curl_easy_reset(curl);
  std::string url = state_->server + request.path;
  for (std::size_t i = 0; i < request.query.size(); ++i) {
    const auto& [key, value] = request.query[i];
    char* escaped = curl_easy_escape(curl, value.c_str(), static_cast<int>(value.size()));
    url += fmt::format("{}{}={}", i == 0 ? '?' : '&', key, escaped);
    curl_free(escaped);
  }
  kube::Response response;
  curl_slist* headers = curl_slist_append(nullptr, "Accept: application/json");
  headers = curl_slist_append(headers, fmt::format("Content-Type: {}", request.content_type).c_str());
  if (!state_->token.empty())
    headers = curl_slist_append(headers, fmt::format("Authorization: Bearer {}", state_->token).c_str());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (!state_->authority.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, state_->authority.c_str());
  set_pem(curl, CURLOPT_CAINFO_BLOB, state_->authority_pem);
  set_pem(curl, CURLOPT_SSLCERT_BLOB, state_->certificate_pem);
  set_pem(curl, CURLOPT_SSLKEY_BLOB, state_->key_pem);
  if (!request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count();
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(limit));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response.body);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response.warnings);
  const CURLcode code = curl_easy_perform(curl);
  curl_slist_free_all(headers);
  if (code != CURLE_OK) {
    return std::unexpected(kube::TransportError{kube::TransportError::Kind::connect, curl_easy_strerror(code)});
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return response;
}

}  // namespace scenarios
