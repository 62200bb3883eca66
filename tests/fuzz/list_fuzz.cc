// A list of a real kind: cut into pieces it is the same, and what is accepted is complete.
#include "api/ipam.h"
#include "fuzz/fuzz.h"
#include "kube/list_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = kube::fuzz::text_of(data, size);
  const std::size_t piece = kube::fuzz::take_piece_size(input);
  const kube::Kind& kind = api::IPAddressClaim::kind();
  const auto whole = kube::decode_list(kind, input);
  kube::ListDecoder decoder(kind);
  kube::fuzz::in_pieces(input, piece, [&](std::string_view bytes) { decoder.data(bytes); });
  const auto pieces = decoder.finish();
  kube::fuzz::expect(whole.has_value() == pieces.has_value(), "pieces make no difference");
  if (!whole) {
    kube::fuzz::expect(!whole.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  kube::fuzz::expect(!whole->version.empty(), "a list has a version");
  kube::fuzz::expect(whole->objects.size() == pieces->objects.size(), "no object is lost between pieces");
  for (const kube::ObjectPtr& object : whole->objects) {
    kube::fuzz::expect(object != nullptr && !object->meta.name.empty(), "an object has a name");
  }
  return 0;
}
