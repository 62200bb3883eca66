// The state of one scenario while it runs. Internal to run*.cc.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "scenarios/cluster.h"
#include "scenarios/expression.h"
#include "scenarios/resources.h"
#include "scenarios/run.h"

namespace scenarios {

namespace json = boost::json;

// How often a server is asked, how long something is waited for, and how long nothing must be written for a cluster at
// rest. Patience is the time meant to pass between the questions: what the questions themselves take is the machine's.
inline constexpr auto k_poll = std::chrono::milliseconds(20);
inline constexpr auto k_patience = std::chrono::seconds(30);
inline constexpr auto k_quiet = std::chrono::milliseconds(600);

// Raised to end a scenario; caught where it is run.
struct Failed {
  std::string problem;
};

class Run {
 public:
  Run(Backend& backend, const Scenario& scenario, const RunOptions& options, Cluster& cluster)
      : backend_(backend), scenario_(scenario), options_(options), cluster_(cluster), client_(backend) {}

  void prepare(int number);
  void run();

 private:
  [[noreturn]] static void fail(std::string problem) { throw Failed{std::move(problem)}; }
  template <class T>
  static T check(base::Result<T> result) {
    if (!result) fail(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  // --- bindings
  void bind(const BindingList& list);
  void outputs(const json::object& argument, const json::value& object);

  // --- operations (run.cc)
  void run_all(const json::array& operations, const std::string& step);
  void run_one(const std::string& verb, const json::object& argument);
  json::object document(const json::object& argument, std::string_view key = "resource");
  // The same without evaluating what stands in it: a pattern.
  json::object pattern(const json::object& argument, Target& target);
  void repeat(const json::object& argument);
  void sleep(const json::object& argument);
  // Until nobody has written anything for a while.
  void settle(const json::object& argument);
  void pass(base::Duration time);
  std::vector<Process> processes(const json::object& argument);
  void set_up(const json::object& argument);
  void start(const json::object& argument);
  void stop(const json::object& argument);
  void kill(const json::object& argument);
  void restart(const json::object& argument);
  void drain(const json::object& argument);
  void restart_controllers();

  // --- on objects (run_objects.cc)
  Client client_of(const json::object& argument);
  void expect(const json::object& argument, const Target& target, const Outcome& outcome);
  void create(const json::object& argument);
  void apply(const json::object& argument);
  void patch(const json::object& argument);
  void remove(const json::object& argument);
  static std::string uid_of(const json::value& object);
  void store(const json::object& argument);
  void served(const json::object& argument);

  // --- backups (run_restore.cc)
  // All objects of the kinds that a backup has, as they are.
  std::vector<std::pair<Target, json::object>> saved_kinds();
  void backup(const json::object& argument);
  void wipe(const json::object& argument);
  void restore(const json::object& argument);

  // --- what must be so (run_checks.cc)
  // The objects that `resource` may mean: the named one, or all of its kind in its namespace.
  std::vector<json::value> candidates(const Target& target, std::string& problem);
  // "" if an object matches, which is then in `found`; else why the nearest one does not.
  std::string matching(const Target& target, const json::object& tree, json::value* found = nullptr);
  void assert_(const json::object& argument);
  void error(const json::object& argument);
  void count(const json::object& argument);
  void equal(const json::object& argument);
  // Asks until the answer is "" or patience ends; fails with the last answer.
  void until(const json::object& argument, const std::function<std::string()>& ask);
  void never(const json::object& argument);
  void always(const json::object& argument);
  void watch(const json::object& argument, bool must_match);
  void check_watchers();
  // No event or claim in a tenant's namespace tells of another one's (run_disclosure.cc).
  void check_disclosure();
  static void check_silence(const json::value& object, const std::string& tenant,
                            const std::vector<std::string>& tenants);
  // --- at every version, and beside the steps (run_shown.cc)
  struct Shown {
    std::string ip;
    std::string never;           // "NAMESPACE/" that must not show it; "" for none
    std::string version;         // gone through until here
    std::set<std::string> by{};  // "NAMESPACE/NAME" that show it then
    base::MonoTime looked{};
    std::size_t versions = 0;
  };
  void shown(const json::object& argument);
  void review_shown(bool at_once);
  static void judge(const Shown& shown, const std::string& after);
  json::value services_at(const std::string& version);
  static void look_at(Shown& shown, const json::value& list);
  void go_through_versions(Shown& shown);
  // Nothing can be seen while the API server or what it keeps its objects in is down.
  bool is_served();
  void meanwhile(const json::object& argument);
  void go_on_meanwhile();
  // --- killed between any two writes (run_cut.cc)
  void cut(const json::object& argument);
  void revive();
  static std::string listed(const std::vector<WriteRecord>& records, std::string_view user);
  void mark(const json::object& argument);
  // {since: mark, core: 5, driver: 3} exactly; {most: {driver: 6}} at most; {of: [services]} on these resources only.
  void writes(const json::object& argument);
  static void compare(const std::vector<WriteRecord>& records, std::string_view user, std::size_t wanted, bool at_most);

  Backend& backend_;
  const Scenario& scenario_;
  const RunOptions& options_;
  Cluster& cluster_;
  Client client_;
  Bindings bindings_;
  std::map<std::string, std::size_t> marks_;
  std::vector<std::function<std::string()>> watchers_;
  std::vector<std::pair<Target, json::object>> backup_;
  std::vector<Shown> shown_;
  json::array meanwhile_;
  bool in_meanwhile_ = false;
  std::optional<Process> doomed_;  // by `cut`, and not killed yet
};

}  // namespace scenarios
