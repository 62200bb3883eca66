// What a reconcile pass may look at. Reading is recorded: a change to anything read wakes the key (and nothing else
// does).
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/plan.h"
#include "kube/store.h"

namespace kube {

// A fact bucket as readers see it.
struct FactBucket {
  Node node;
  struct Value {
    std::string value;
    Key publisher;
  };
  // (order, publishing key) → value
  std::map<std::pair<std::string, std::string>, Value> members;
  bool doubtful = false;  // noted for FactTable::collect()
};

// What is kept for one key between passes, and offered through the view.
struct KeyMemory {
  int failures = 0;                                          // passes in a row whose plan failed
  std::string refusal;                                       // the server's words about the last of them; "" if none
  int refusal_code = 0;                                      // and its HTTP status; 0 if there was no answer
  std::map<std::string, base::MonoTime, std::less<>> since;  // facts that held without a break since
  std::map<std::string, std::string, std::less<>> notes;
  struct Bucket {
    double tokens = 0;
    base::MonoTime at;
    int burst = 0;
    base::Duration refill{};
    void refill_until(base::MonoTime now);
    base::Duration shortfall() const;  // until there is a whole token
  };
  std::map<std::string, Bucket, std::less<>> throttles;
  std::vector<Ref> confirmed;  // answered for this very pass
  // Draws one token from a throttle that a pass has asked for.
  void spend(std::string_view name);
};

// The world of one controller as the view reads it. kube::State implements it for the loop and for tests.
class World {
 public:
  virtual ~World() = default;
  // The store of a kind; aborts if the controller did not declare it (a bug).
  virtual Store& store(const Kind& kind) = 0;
  // The store of the kind with that resource; null if the controller watches no such kind.
  virtual Store* store_of(const Resource& resource) = 0;
  virtual FactBucket& facts(std::string_view bucket) = 0;
  virtual DependencyGraph& dependencies() = 0;
  virtual base::MonoTime now() const = 0;
  virtual base::WallTime wall() const = 0;
  // From the process's (or simulation's) seeded source.
  virtual std::uint64_t entropy() = 0;
};

// One pass's view. T below is a decoded kind with `static const Kind& kind()`. Pointers stay valid during the pass.
class View {
 public:
  // Between world.dependencies().begin_pass() and end_pass().
  View(World& world, KeyMemory& memory) : world_(world), memory_(memory) {}

  // The object, or null. Recorded.
  template <class T>
  const T* get(std::string_view ns, std::string_view name) {
    return static_cast<const T*>(get(T::kind(), ns, name));
  }
  template <class T>
  const T* get(std::string_view name) {
    return get<T>({}, name);
  }
  // The same for a kind that is known at run time only.
  const Object* get(const Kind& kind, std::string_view ns, std::string_view name);

  // Visits a bucket in order until `visit` returns false. Records the bucket and every object visited.
  template <class T>
  void each(std::string_view index, std::string_view bucket, const std::function<bool(const T&)>& visit) {
    each_from<T>(index, bucket, {}, visit);
  }
  // As each(), starting with the first member whose order is not less than `from`: costs what is visited, whatever the
  // bucket's size.
  template <class T>
  void each_from(std::string_view index, std::string_view bucket, std::string_view from,
                 const std::function<bool(const T&)>& visit) {
    walk(T::kind(), index, bucket, from, [&](const Object& o) { return visit(static_cast<const T&>(o)); });
  }
  template <class T>
  std::vector<const T*> all(std::string_view index, std::string_view bucket) {
    std::vector<const T*> found;
    each<T>(index, bucket, [&](const T& o) {
      found.push_back(&o);
      return true;
    });
    return found;
  }
  // Number of members; records the bucket only.
  template <class T>
  std::size_t count(std::string_view index, std::string_view bucket) {
    return size_of(T::kind(), index, bucket);
  }

  // Visits the facts of a bucket in order until `visit` returns false. Recorded.
  void each_fact(std::string_view bucket,
                 const std::function<bool(std::string_view order, const FactBucket::Value&)>& visit);
  bool has_fact(std::string_view bucket);

  // A write of another key is in flight on it: do not plan on it now. Recorded: the key is woken when the write is
  // answered.
  bool busy(const Ref& target);
  // Whether the kind's objects are known (an optional kind's CRD may be missing). Recorded. Until then its objects and
  // buckets read as absent and empty.
  bool available(const Kind& kind);
  // The pass right before this one asked for a live read of `target`, and this view has its answer.
  bool confirmed(const Ref& target) const;
  // How long `holds` has been true in every pass of this key under this name; zero when false or first seen now. The
  // process's own observation on the monotonic clock, starting anew with the process. Ask again later with
  // Plan::revisit.
  base::Duration since(std::string_view fact, bool holds);
  // Whether since() was last told that it holds. Asks only: for what is to be remembered for a while after it has
  // ended.
  bool remembers(std::string_view fact) const { return memory_.since.contains(fact); }
  // What this process has drawn or decided for the key and cannot read back from anywhere; gone with the process.
  // note() with "" forgets; noted() is "" if there is nothing under that name.
  void note(std::string_view name, std::string value);
  std::string_view noted(std::string_view name) const;
  // Token bucket per key: zero if a token is there now (draw it with Plan::spends), else how long until there is one.
  base::Duration throttle(std::string_view name, int burst, base::Duration refill);
  // The same for a throttle that may not have been asked for yet: zero then, and nothing is remembered.
  base::Duration throttled(std::string_view name) const;
  int failures() const { return memory_.failures; }
  // What the server said to the write that failed last, while failures() > 0; "" if it said nothing. For people.
  const std::string& refusal() const { return memory_.refusal; }
  // Its HTTP status; 0 if there was no answer, or if no write failed.
  int refusal_code() const { return memory_.refusal_code; }
  std::uint64_t entropy() { return world_.entropy(); }
  // RFC 3339, seconds: for lastTransitionTime, and for what people are told will be `ahead` of now. Never for
  // decisions.
  std::string wall_text(base::Duration ahead = {}) const;

 private:
  void walk(const Kind& kind, std::string_view index, std::string_view bucket, std::string_view from,
            const std::function<bool(const Object&)>& visit);
  std::size_t size_of(const Kind& kind, std::string_view index, std::string_view bucket);

  World& world_;
  KeyMemory& memory_;
};

}  // namespace kube
