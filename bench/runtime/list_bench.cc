// A long list, decoded while it arrives.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "api/ipam.h"
#include "kube/list_decoder.h"
#include "runtime/bench.h"

namespace kube {
namespace {

// One list of n claims in pieces as the transport hands them on: time for each object, the longest that the I/O thread
// is kept by one piece, and what is on the heap at most beyond the objects themselves.
void list_decode(benchmark::State& state) {
  constexpr std::size_t k_piece = std::size_t{64} << 10;
  const int n = static_cast<int>(state.range(0));
  std::string body = R"({"kind":"IPAddressClaimList","metadata":{"resourceVersion":"9"},"items":[)";
  for (int i = 0; i < n; ++i) {
    if (i > 0) body += ',';
    body += claim_json(i, 1 + i, fmt::format("tenant-{}", i % 100), R"("local.sdn.cozystack.io/claim-protection")",
                       R"("phase":"Bound","conditions":[{"type":"Bound","status":"True","reason":"Bound"}])");
  }
  body += "]}";
  double longest = 0;
  double kept = 0;
  double beyond = 0;
  for (auto _ : state) {
    const std::size_t before = heap();
    std::size_t most = before;
    ListDecoder decoder(api::IPAddressClaim::kind());
    for (std::string_view rest = body; !rest.empty(); rest.remove_prefix(std::min(k_piece, rest.size()))) {
      const double begin = cpu_ms();
      decoder.data(rest.substr(0, k_piece));
      longest = std::max(longest, cpu_ms() - begin);
      most = std::max(most, heap());
    }
    const auto page = decoder.finish();
    if (!page || page->objects.size() != static_cast<std::size_t>(n)) state.SkipWithError("not the whole list");
    kept = static_cast<double>(heap() - before);
    beyond = static_cast<double>(most - before) - kept;
  }
  state.counters["body_MB"] = static_cast<double>(body.size()) / 1e6;
  state.counters["bytes_per_object"] = kept / n;
  state.counters["heap_beyond_MB"] = beyond / 1e6;
  state.counters["longest_piece_ms"] = longest;
  state.SetItemsProcessed(state.iterations() * n);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(list_decode)->Arg(500)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kube
