#include "kube/graph.h"

#include "kube/check.h"

namespace kube {

std::vector<DependencyGraph::Read>& DependencyGraph::list(KeyId key) {
  const auto i = static_cast<std::size_t>(key);
  if (i >= reads_.size()) reads_.resize(i + 1);
  return reads_[i];
}

void DependencyGraph::begin_pass() {
  check(!in_pass_, "a pass starts within a pass");
  in_pass_ = true;
  ++pass_;
  noted_.clear();
}

void DependencyGraph::note(Node& node) {
  if (!in_pass_ || node.mark_ == pass_) return;
  node.mark_ = pass_;
  noted_.push_back(&node);
}

// Removes one back reference from its node; the node's last reader takes its place.
void DependencyGraph::unlink(const Read& read) {
  std::vector<Node::Reader>& readers = read.node->readers_;
  const Node::Reader moved = readers.back();
  readers.pop_back();
  if (read.position == readers.size()) return;
  readers[read.position] = moved;
  reads_[static_cast<std::size_t>(moved.key)][moved.slot].position = read.position;
}

void DependencyGraph::end_pass(KeyId key) {
  check(in_pass_, "a pass ends that never started");
  in_pass_ = false;
  std::vector<Read>& mine = list(key);
  // What is still read stays linked; its mark is cleared, so that the second loop links only what is new.
  for (std::size_t i = 0; i < mine.size();) {
    Node& node = *mine[i].node;
    if (node.mark_ == pass_) {
      node.mark_ = 0;
      ++i;
      continue;
    }
    unlink(mine[i]);
    if (i + 1 != mine.size()) {
      mine[i] = mine.back();
      mine[i].node->readers_[mine[i].position].slot = static_cast<std::uint32_t>(i);
    }
    mine.pop_back();
  }
  for (Node* node : noted_) {
    if (node->mark_ != pass_) continue;
    node->mark_ = 0;
    mine.push_back({node, static_cast<std::uint32_t>(node->readers_.size())});
    node->readers_.push_back({key, static_cast<std::uint32_t>(mine.size() - 1)});
  }
  noted_.clear();
}

bool DependencyGraph::abandon_pass(KeyId key) {
  check(in_pass_, "a pass ends that never started");
  in_pass_ = false;
  const std::vector<Read>& mine = list(key);
  bool same = mine.size() == noted_.size();
  for (const Read& read : mine) same = same && read.node->mark_ == pass_;
  noted_.clear();
  return same;
}

void DependencyGraph::forget(KeyId key) {
  std::vector<Read>& mine = list(key);
  while (!mine.empty()) {
    const Read last = mine.back();
    unlink(last);
    mine.pop_back();
  }
  mine.shrink_to_fit();
}

void DependencyGraph::readers(const Node& node, const std::function<void(KeyId)>& wake) const {
  for (const Node::Reader& reader : node.readers_) wake(reader.key);
}

std::size_t DependencyGraph::reads(KeyId key) const {
  const auto i = static_cast<std::size_t>(key);
  return i < reads_.size() ? reads_[i].size() : 0;
}

}  // namespace kube
