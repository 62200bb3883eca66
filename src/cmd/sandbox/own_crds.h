// The project's CustomResourceDefinitions, as they were when the sandbox was built.
#pragma once

#include <string_view>
#include <vector>

namespace sandbox_process {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

const std::vector<EmbeddedFile>& own_crds();

}  // namespace sandbox_process
