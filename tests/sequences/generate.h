// Sequences from a seed.
#pragma once

#include <cstdint>
#include <optional>

#include "sequences/sequence.h"

namespace sequences {

// "seed 17". The same seed always gives the same sequence. Every third is about sharing, every fourth has
// restarts.
Sequence generate(std::uint64_t seed);
// The seed of such a name.
std::optional<std::uint64_t> seed_of(const std::string& name);

// Whether what becomes of it depends neither on the order of what MetalLB does in no particular order nor on how often
// it repeats an event, as far as the model can tell.
bool determinate(const Sequence& sequence);

}  // namespace sequences
