// Who read what: places in the state that passes can read, and the keys that read them. Reactor's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace kube {

// A key as the dependency graph and the queue know it. Dense; a number is reused only after nothing refers to it any
// more.
enum class KeyId : std::uint32_t {};

// A place in the state that a pass can read: an object's slot, an index bucket, a fact bucket. Knows the keys that read
// it. It must outlive its readers: free it only when unread() and outside a pass.
class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  bool unread() const { return readers_.empty(); }

 private:
  friend class DependencyGraph;
  struct Reader {
    KeyId key;
    std::uint32_t slot;  // position in the key's own list
  };
  std::vector<Reader> readers_;
  std::uint64_t mark_ = 0;  // the pass that read it last, so that one pass notes it once
};

// Which key read which nodes in its latest pass. Registering and unregistering cost O(1) per node; what a pass read
// again costs one comparison.
class DependencyGraph {
 public:
  void begin_pass();
  // Notes a read of the current pass. Outside a pass it does nothing.
  void note(Node& node);
  // Ends the pass: what `key` read before is replaced by what was noted.
  void end_pass(KeyId key);
  // Ends the pass without a trace. True if it read exactly the nodes that `key` read in its latest pass.
  bool abandon_pass(KeyId key);
  void forget(KeyId key);
  // Calls `wake` for each key that read the node in its latest pass. `wake` must not start or end a pass.
  void readers(const Node& node, const std::function<void(KeyId)>& wake) const;
  // Number of nodes the key read in its latest pass.
  std::size_t reads(KeyId key) const;
  bool in_pass() const { return in_pass_; }

 private:
  struct Read {
    Node* node;
    std::uint32_t position;  // in node->readers_
  };
  std::vector<Read>& list(KeyId key);
  void unlink(const Read& read);

  std::vector<std::vector<Read>> reads_;  // by key
  std::vector<Node*> noted_;
  std::uint64_t pass_ = 0;
  bool in_pass_ = false;
};

}  // namespace kube
