// Stands in for libFuzzer where there is none: runs the inputs of the given folders, and mutations of them that are the
// same every time.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "fuzz/fuzz.h"

namespace {

constexpr int k_mutations = 500;  // of each input

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string mutated(std::string input, base::Random& random) {
  for (std::uint64_t n = 1 + random.below(5); n > 0; --n) {
    if (input.empty()) input = "x";
    const std::size_t at = random.below(input.size());
    switch (random.below(4)) {
      case 0:
        input[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        input[at] = "{}[]\",:\\\n\r -"[random.below(12)];
        break;
      case 2:
        input.erase(at, 1 + random.below(16));
        break;
      default:
        input.insert(at, input.substr(random.below(input.size()), random.below(64)));
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> inputs{""};
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  kube::fuzz::expect(inputs.size() > 1, "there are inputs");
  base::Random random(1);
  for (const std::string& input : inputs) {
    run(input);
    for (int i = 0; i < k_mutations; ++i) run(mutated(input, random));
  }
  return 0;
}
