#include "page/page.h"

#include <algorithm>
#include <array>

#include "page/embedded.h"

namespace page {
namespace {

constexpr std::array k_headers{
    Header{
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
    Header{"X-Content-Type-Options", "nosniff"},
    Header{"Referrer-Policy", "no-referrer"},
    Header{"Cross-Origin-Opener-Policy", "same-origin"},
    Header{"Cross-Origin-Resource-Policy", "same-origin"},
    Header{"Cache-Control", "no-cache"},
};

}  // namespace

std::span<const File> files() {
  static const std::array list{
      File{"/", "text/html; charset=utf-8", index_html},
      File{"/page.js", "text/javascript; charset=utf-8", page_js},
      File{"/page.css", "text/css; charset=utf-8", page_css},
      File{"/icon.svg", "image/svg+xml; charset=utf-8", icon_svg},
  };
  return list;
}

const File* find(std::string_view path) {
  const auto all = files();
  const auto file = std::ranges::find(all, path, &File::path);
  return file == all.end() ? nullptr : &*file;
}

std::span<const std::string_view> reads() {
  static constexpr std::array<std::string_view, 5> paths{
      "/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclasses", "/apis/local.sdn.cozystack.io/v1alpha1/ipaddresses",
      "/apis/local.sdn.cozystack.io/v1alpha1/ipaddressclaims", "/api/v1/services", "/apis/events.k8s.io/v1/events"};
  return paths;
}

std::span<const Header> headers() { return k_headers; }

bool wants_page(std::string_view accept) { return accept.find("text/html") != std::string_view::npos; }

}  // namespace page
