// A controller as data: the kinds it watches and the functions that plan its keys. The loop runs it; it knows no loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/plan.h"
#include "kube/read_right.h"
#include "kube/store.h"
#include "kube/view.h"

namespace kube {

struct WatchSpec {
  const Kind* kind = nullptr;
  std::string ns;  // watch one namespace only; "" = all
  std::string label_selector;
  std::string field_selector;
  // The kind's CRD may be missing or come later: reconcilers start without it and View::available tells.
  bool optional = false;
  std::vector<IndexSpec> indexes;
  std::vector<CountSpec> counts = {};
  // The keys this object gives birth to. Called for both sides of a change; a key is woken when it is new on one side
  // only, or when the object appears, goes or changes its uid. Everything else is woken by what it read.
  std::function<void(const Object&, std::vector<Key>&)> keys = {};
  // Of an optional kind only.
  ReadRight right = ReadRight::needed;
};

struct ReconcilerSpec {
  std::string name;  // Key::reconciler
  std::function<Plan(const Key&, View&)> reconcile;
  // Planned only when no key of an earlier rank can be: for keys that pair or sum up what other keys publish.
  int rank = 0;
};

// What controllers may do, for RBAC manifests and the checks of tests: "get,list,watch …".
struct Rule {
  std::string group;
  std::string resource;  // plural, with "/status" for the subresource
  std::string ns;        // "" = everywhere
  std::vector<std::string> verbs;
};

// A finalizer that the controller puts on objects of a kind.
struct FinalizerSpec {
  const Kind* kind = nullptr;
  std::string name;
};

struct MetricSpec {
  std::string name;
  std::string help;
  enum class Type { counter, histogram } type = Type::counter;
  std::vector<double> buckets;  // histogram bounds, seconds
};

struct Controller {
  std::string name;        // "address-controller": reportingController, user agent, metric label
  std::string lease_name;  // of leader election
  std::vector<WatchSpec> watches;
  std::vector<ReconcilerSpec> reconcilers;
  std::vector<Key> initial_keys;  // keys that exist without an object
  std::vector<MetricSpec> metrics;
  std::vector<Rule> rules;
  // Why it must not work on what it finds, for people; nullopt if it may. Asked when the stores are filled, and again
  // when the process begins to lead, before anything is planned: an answer ends the process. May be empty.
  std::function<std::optional<std::string>(View&)> objection;
  // Everything of it that can keep an object from going; releasing() takes it off.
  std::vector<FinalizerSpec> finalizers;
};

// The controller that leaves: with the same name, lease and rights it takes the finalizers of `controller` off every
// object and does nothing else. Kinds whose CRD is gone are no obstacle.
Controller releasing(const Controller& controller);

}  // namespace kube
