// The page's files as the build put them into the program. Defined in a generated source.
#pragma once

#include <string_view>

namespace page {

extern const std::string_view index_html;
extern const std::string_view page_js;
extern const std::string_view page_css;
extern const std::string_view icon_svg;

}  // namespace page
