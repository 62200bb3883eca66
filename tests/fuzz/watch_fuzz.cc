// A watch's stream of real kinds: cut into pieces it is the same, and what is handed on is complete.
#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "fuzz/fuzz.h"
#include "kube/watch_event.h"

namespace {

struct Seen {
  std::vector<kube::WatchEvent> events;
  std::string garbage;
};

Seen decode(const kube::Kind& kind, std::string_view text, std::size_t piece) {
  kube::WatchDecoder decoder(kind);
  Seen seen;
  kube::fuzz::in_pieces(text, piece, [&](std::string_view bytes) {
    kube::WatchBatch batch = decoder.feed(bytes);
    kube::fuzz::expect(seen.garbage.empty() || (batch.events.empty() && batch.garbage.empty()),
                       "nothing follows garbage");
    for (kube::WatchEvent& event : batch.events) seen.events.push_back(std::move(event));
    if (!batch.garbage.empty()) seen.garbage = std::move(batch.garbage);
  });
  return seen;
}

void check_event(const kube::WatchEvent& event) {
  using Type = kube::WatchEvent::Type;
  const bool has_object = event.type == Type::added || event.type == Type::modified || event.type == Type::deleted;
  kube::fuzz::expect(has_object == (event.object != nullptr), "changes and nothing else have an object");
  if (!has_object) return;
  kube::fuzz::expect(!event.object->meta.name.empty(), "an object has a name");
  kube::fuzz::expect(event.version == event.object->meta.resourceVersion, "the version is the object's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = kube::fuzz::text_of(data, size);
  const std::size_t piece = kube::fuzz::take_piece_size(input);
  for (const kube::Kind* kind :
       {&api::IPAddressClaim::kind(), &api::IPAddress::kind(), &api::Service::kind(), &api::IPAddressPool::kind()}) {
    const Seen whole = decode(*kind, input, input.size() + 1);
    const Seen pieces = decode(*kind, input, piece);
    for (const kube::WatchEvent& event : whole.events) check_event(event);
    kube::fuzz::expect(whole.events.size() == pieces.events.size() && whole.garbage == pieces.garbage,
                       "pieces make no difference");
  }
  return 0;
}
