// Decoding of what LIST answers with, while it arrives. Runs on the transport's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/transport.h"
#include "kube/types.h"

namespace kube {

// One page of a list.
struct ListPage {
  std::vector<ObjectPtr> objects;
  std::string version;  // of the list
  std::string next;     // continue token; "" on the last page
};

// Turns the body of a "<Kind>List" into objects, however it is cut. Linear in its length; keeps no more of it than the
// objects, one unfinished item and what stands around the items, so that a list of any length neither takes its length
// in memory nor keeps the thread from other work for long. Not thread-safe; one per request.
class ListDecoder final : public BodySink {
 public:
  explicit ListDecoder(const Kind& kind) : kind_(kind) {}

  void restart() override;
  void data(std::string_view bytes) override;
  // The body is complete: either all of its items or an error that names the first bad one. The decoder is as new
  // afterwards.
  base::Result<ListPage> finish();

  // An item, and all that stands around the items, may be so long each: nothing that an API server stores comes near.
  static constexpr std::size_t k_limit = std::size_t{16} << 20;

 private:
  enum class Where : std::uint8_t { around, between, item };  // the items; inside one of them
  std::size_t around(std::string_view bytes);
  std::size_t between(std::string_view bytes);
  std::size_t item(std::string_view bytes);
  bool step(char c);
  void key_ended();
  void keep(std::string& text, std::string_view bytes);
  void take(std::string_view json);
  void fail(std::string what);

  const Kind& kind_;
  std::vector<ObjectPtr> objects_;
  std::string around_;   // the document without its items
  std::string partial_;  // the beginning of an item that the next piece goes on with
  std::string name_;     // around: the beginning of the last string at the top level
  std::string error_;
  Where where_ = Where::around;
  std::size_t depth_ = 0;  // of brackets
  bool in_string_ = false;
  bool escaped_ = false;
  bool separated_ = true;  // between: an item may follow
};

// The same for a body that is there as a whole.
base::Result<ListPage> decode_list(const Kind& kind, std::string_view body);

}  // namespace kube
