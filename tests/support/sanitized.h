// Whether this is a build with a sanitizer: everything takes longer then, and freed memory is kept for a while.
#pragma once

namespace support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool k_sanitized = true;
#else
inline constexpr bool k_sanitized = false;
#endif

}  // namespace support
