#include "kube/check.h"

#include <cstdlib>

#include "base/log.h"

namespace kube {

void broken(std::string_view what, std::source_location where) {
  base::log::error("invariant broken", {base::log::kv("invariant", what), base::log::kv("file", where.file_name()),
                                        base::log::kv("line", where.line())});
  std::abort();
}

}  // namespace kube
