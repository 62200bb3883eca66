// Text of others: quoted for people, and what may be a name.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Foreign text, fit for a sentence that a person reads in a terminal: control characters (C0, DEL, C1), line and
// paragraph separators and the controls of writing direction are written as escapes ("\n", "\x1b", "\u202e"); what is
// no UTF-8 becomes U+FFFD. Everything else stays as it is, backslashes too: the result is for reading, not for parsing.
std::string printable(std::string_view text);

// A label of RFC 1123, as the names of namespaces are: lower-case letters, digits and "-", 63 at most.
bool is_dns_label(std::string_view text);

}  // namespace base
