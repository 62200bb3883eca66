// What becomes of an optional kind that the server does not let us read.
#pragma once

namespace kube {

enum class ReadRight {
  needed,    // it is waited for, as with any other kind
  late,      // the kind counts as not available until it has been read once: a Role goes with its namespace
  optional,  // the kind counts as not available for as long as it is refused
};

}  // namespace kube
