// The dependency graph against a simple model of it.
#include "kube/graph.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "base/random.h"

namespace kube {
namespace {

TEST(DependencyGraph, WakesExactlyWhatTheLatestPassesRead) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    DependencyGraph graph;
    std::vector<std::unique_ptr<Node>> nodes;
    for (int i = 0; i < 30; ++i) nodes.push_back(std::make_unique<Node>());
    std::map<std::uint32_t, std::set<Node*>> model;
    for (int step = 0; step < 400; ++step) {
      const auto key = static_cast<std::uint32_t>(random.below(12));
      if (random.below(10) == 0) {
        graph.forget(KeyId{key});
        model[key].clear();
        continue;
      }
      graph.begin_pass();
      std::set<Node*> read;
      for (std::uint64_t n = random.below(15); n > 0; --n) {
        Node* node = nodes[random.below(nodes.size())].get();
        graph.note(*node);
        graph.note(*node);
        read.insert(node);
      }
      if (random.below(5) == 0) {
        ASSERT_EQ(graph.abandon_pass(KeyId{key}), read == model[key]) << "seed " << seed;
      } else {
        graph.end_pass(KeyId{key});
        model[key] = read;
      }
      ASSERT_EQ(graph.reads(KeyId{key}), model[key].size());
    }
    for (const auto& node : nodes) {
      std::multiset<std::uint32_t> woken, expected;
      graph.readers(*node, [&](KeyId key) { woken.insert(static_cast<std::uint32_t>(key)); });
      for (const auto& [key, read] : model) {
        if (read.contains(node.get())) expected.insert(key);
      }
      ASSERT_EQ(woken, expected) << "seed " << seed;
      ASSERT_EQ(node->unread(), expected.empty());
    }
  }
}

TEST(DependencyGraph, NotesOutsideAPassAreNothing) {
  DependencyGraph graph;
  Node node;
  graph.note(node);
  EXPECT_TRUE(node.unread());
}

}  // namespace
}  // namespace kube
