// Names that must fit: the text itself where it does, else its beginning and a hash of the whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metallb {

// `text` if it has at most `limit` characters; else its beginning, "-" and 16 hex digits of its SHA-256, `limit`
// characters or fewer, with no '.' or '-' before the "-". A function of the text alone: restarts and replicas agree.
// limit >= 18.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace metallb
