// A picture of the classes and their addresses for a browser: static files that read the Kubernetes API of the server
// they come from (docs/page.md). Knows nothing of who serves them.
#pragma once

#include <span>
#include <string_view>

namespace page {

struct Header {
  std::string_view name;
  std::string_view value;
};

struct File {
  std::string_view path;          // "/" or "/page.js": below whatever prefix the server gives the page
  std::string_view content_type;  // with charset
  std::string_view body;          // lives as long as the program
};

// All files, the page itself first. Any thread.
std::span<const File> files();
// The file of a request's path (without query); nullptr if there is none. Any thread.
const File* find(std::string_view path);
// What the page asks of the API, as paths below its root: it lists and watches these and no others, always by GET. For
// servers that let it through, or give it rights. Any thread.
std::span<const std::string_view> reads();
// Headers that every answer with one of the files carries besides Content-Type: a policy under which the page can
// neither load nor send anything elsewhere nor turn text into markup, and nobody can frame it.
std::span<const Header> headers();
// Whether a request for "/" wants the page: its Accept header names text/html. Clients of the API ask for JSON or
// anything, and get what an API server answers there.
bool wants_page(std::string_view accept);

}  // namespace page
