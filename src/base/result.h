// Errors as values. `Result<T>` is either a T or an Error that carries one sentence for a person.
// Exceptions are for bugs and for start-up only (docs/architecture.md).
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace base {

struct Error {
  // What is wrong and what would be right; names the field or file. No trailing full stop.
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string message) { return std::unexpected(Error{std::move(message)}); }

}  // namespace base
