#include "cmd/sandbox/picture.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cmd/sandbox/identities.h"
#include "page/page.h"

namespace sandbox_process {
namespace {

constexpr std::string_view k_text = "text/plain; charset=utf-8";
constexpr std::string_view k_come_in =
    "Open the address that the sandbox printed when it started (\"picture\"): it lets this browser in.\n";

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

serve::Headers headers_of_page() {
  serve::Headers headers;
  for (const page::Header& header : page::headers()) headers.emplace_back(header.name, header.value);
  return headers;
}

serve::Response refusal(int status, std::string_view why) {
  return {
      .status = status, .content_type = std::string(k_text), .headers = headers_of_page(), .body = std::string(why)};
}

// The value of one cookie among "a=1; b=2".
std::string_view cookie_of(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

// Decides about each request.
class Picture::Gate {
 public:
  Gate(PictureOptions options, std::string key) : options_(std::move(options)), key_(std::move(key)) {}

  void set_port(std::uint16_t port) { port_ = port; }
  std::string address() const { return fmt::format("http://127.0.0.1:{}/", port_); }
  std::string with(std::string_view key) const { return fmt::format("{}?key={}", address(), key); }
  const std::string& key() const { return key_; }
  void admit_once(std::string key) { once_.insert(std::move(key)); }

  void handle(serve::Request request, serve::Responder responder) {
    // Another name for this address is how a foreign site would make a browser talk to us as if to itself.
    const std::string_view host = request.header("Host");
    if (host != fmt::format("127.0.0.1:{}", port_) && host != fmt::format("localhost:{}", port_))
      return responder.send(refusal(421, fmt::format("This is {}\n", address())));
    if (request.method != "GET" && request.method != "HEAD") {
      serve::Response no = refusal(405, "The page only reads.\n");
      no.headers.emplace_back("Allow", "GET, HEAD");
      return responder.send(std::move(no));
    }
    if (request.target.starts_with("/?key=")) return responder.send(let_in(request.target.substr(6)));
    if (!same_secret(cookie_of(request.header("Cookie"), cookie_name()), key_))
      return responder.send(refusal(403, k_come_in));
    if (const page::File* file = page::find(request.path)) return responder.send(answer(*file));
    if (std::ranges::find(page::reads(), request.path) == page::reads().end())
      return responder.send(refusal(404, "There is nothing here.\n"));
    request.headers = {{"Authorization", "Bearer " + options_.token}, {"Accept", "application/json"}};
    request.peer = {};
    options_.api(std::move(request), std::move(responder));
  }

 private:
  // Cookies are shared by all ports of a host.
  std::string cookie_name() const { return fmt::format("address-sandbox-{}", port_); }

  serve::Response let_in(const std::string& key) {
    if (!same_secret(key, key_) && once_.erase(key) == 0) return refusal(403, k_come_in);
    serve::Response response{.status = 303, .content_type = std::string(k_text), .headers = headers_of_page()};
    response.headers.emplace_back("Location", "/");
    response.headers.emplace_back("Set-Cookie",
                                  fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(), key_));
    return response;
  }

  static serve::Response answer(const page::File& file) {
    return {.status = 200,
            .content_type = std::string(file.content_type),
            .headers = headers_of_page(),
            .body = std::string(file.body)};
  }

  PictureOptions options_;
  std::string key_;
  std::set<std::string> once_;
  std::uint16_t port_ = 0;
};

base::Result<std::unique_ptr<Picture>> Picture::start(serve::IoReactor& reactor, PictureOptions options) {
  auto key = random_token();
  if (!key) return std::unexpected(key.error());
  serve::HttpOptions http_options;
  http_options.port = options.port;
  http_options.limits.body = 0;
  auto http = serve::HttpServer::start(reactor, std::move(http_options));
  if (!http) return std::unexpected(http.error());
  auto gate = std::make_shared<Gate>(std::move(options), std::move(*key));
  gate->set_port((*http)->port());
  (*http)->route_below("/", [gate](serve::Request request, serve::Responder responder) {
    gate->handle(std::move(request), std::move(responder));
  });
  return std::unique_ptr<Picture>(new Picture(std::move(gate), std::move(*http)));
}

Picture::Picture(std::shared_ptr<Gate> gate, std::unique_ptr<serve::HttpServer> http)
    : gate_(std::move(gate)), http_(std::move(http)) {}

std::string Picture::address() const { return gate_->address(); }
std::string Picture::url() const { return gate_->with(gate_->key()); }

base::Result<void> Picture::open_browser() {
  auto key = random_token();
  if (!key) return std::unexpected(key.error());
  const std::string url = gate_->with(*key);
  gate_->admit_once(std::move(*key));
  // The shell ends at once and leaves the browser to init: it is nobody's child here, and outlives the sandbox.
  const char* const argv[] = {
      "sh", "-c", "command -v xdg-open >/dev/null || exit 1; setsid xdg-open \"$0\" </dev/null >/dev/null 2>&1 &",
      url.c_str(), nullptr};
  pid_t shell = 0;
  if (posix_spawn(&shell, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0)
    return base::fail("no shell to open a browser with");
  int status = 0;
  if (waitpid(shell, &status, 0) != shell || status != 0)
    return base::fail("there is no xdg-open to open a browser with");
  return {};
}

}  // namespace sandbox_process
