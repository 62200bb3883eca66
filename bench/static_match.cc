// The static-match benchmark: N addresses settled as Available, then N claims at once, on a real API server
// (docs/performance.md). Prints binds per second, CPU and peak memory of the controller, its requests from the audit
// log, and the server's own ceiling: as many patches of the same size from this client, without any logic. Run it
// through bench/run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#include "api/ipam.h"
#include "base/ip.h"
#include "batch.h"
#include "connect.h"
#include "object_watch.h"
#include "scenarios/audit.h"
#include "scenarios/child.h"
#include "usage.h"

namespace {

using boost::json::object;
using std::chrono::minutes;

struct Options {
  std::string kubeconfig, controller, controller_kubeconfig, audit_log, log = "controller.log";
  std::size_t count = 1000;
  std::size_t window = 64;
  bool cold = false;
};

double seconds(base::Duration d) { return std::chrono::duration<double>(d).count(); }

const kube::Resource& claims() { return api::IPAddressClaim::kind().resource; }
const kube::Resource& addresses() { return api::IPAddress::kind().resource; }

kube::Request post(const kube::Resource& resource, std::string_view ns, object body) {
  body["apiVersion"] = resource.api_version();
  body["kind"] = resource.kind;
  kube::Request request;
  request.method = "POST";
  request.path = resource.collection_path(ns);
  request.content_type = "application/json";
  request.body = boost::json::serialize(body);
  return request;
}

base::IpAddress nth_address(std::size_t i) { return base::IpAddress::v4(0x0a000001U + static_cast<std::uint32_t>(i)); }

// The controller's writes from a position of the audit log on, by verb and resource. Events and leases do not count as
// writes.
void print_writes(const std::vector<scenarios::WriteRecord>& writes, std::size_t from, std::size_t count) {
  std::map<std::string, std::size_t> counts;
  std::size_t total = 0;
  for (std::size_t i = from; i < writes.size(); ++i) {
    const scenarios::WriteRecord& write = writes[i];
    if (write.user != "core" || write.plural == "events" || write.plural == "leases") continue;
    std::string key = write.verb + " " + write.plural + (write.subresource.empty() ? "" : "/" + write.subresource);
    if (write.code >= 300) key += fmt::format(", refused with {}", write.code);
    ++counts[key];
    ++total;
  }
  for (const auto& [key, number] : counts) fmt::print("  {:<50} {:>8}\n", key, number);
  fmt::print("  writes per claim: {:.3f}\n", static_cast<double>(total) / static_cast<double>(count));
}

class Benchmark {
 public:
  explicit Benchmark(Options options)
      : options_(std::move(options)),
        transport_(bench::connect(options_.kubeconfig, reactor_)),
        audit_(options_.audit_log) {}

  void run() {
    prepare();
    if (options_.cold) {
      create_claims();
      start_controller();
      measure("cold: all stored first, then the controller starts");
    } else {
      start_controller();
      bench::ObjectWatch available(reactor_, *transport_, addresses().collection_path(), bench::in_phase("Available"));
      require(available.wait(options_.count, minutes(10)),
              "the addresses did not become Available: " + available.why());
      measure("claims created at once");
    }
    restart();
    ceiling();
  }

 private:
  static void require(bool condition, const std::string& otherwise) {
    if (!condition) throw std::runtime_error(otherwise);
  }

  bench::BatchResult batch(std::size_t count, const std::function<kube::Request(std::size_t)>& make) {
    bench::BatchResult result = bench::run_batch(reactor_, *transport_, count, options_.window, make);
    require(result.failed == 0,
            fmt::format("{} of {} requests failed: {}", result.failed, count, result.first_failure));
    return result;
  }

  void prepare() {
    batch(1, [](std::size_t) {
      return post(api::IPAddressClass::kind().resource, {},
                  {{"metadata", object{{"name", "bench"}}}, {"spec", object{{"provisioner", "static.example.org"}}}});
    });
    batch(1, [](std::size_t) {
      kube::Request request;
      request.method = "POST";
      request.path = "/api/v1/namespaces";
      request.content_type = "application/json";
      request.body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench"}})";
      return request;
    });
    batch(options_.count, [](std::size_t i) {
      const base::IpAddress ip = nth_address(i);
      return post(addresses(), {},
                  {{"metadata", object{{"name", base::object_name(ip)}}},
                   {"spec", object{{"address", ip.to_string()},
                                   {"className", "bench"},
                                   {"source", object{{"providerRef", object{{"id", ip.to_string()}}}}}}}});
    });
  }

  bench::BatchResult create_claims() {
    return batch(options_.count, [](std::size_t i) {
      return post(claims(), "bench",
                  {{"metadata", object{{"name", fmt::format("claim-{:06}", i)}, {"namespace", "bench"}}},
                   {"spec", object{{"className", "bench"}}}});
    });
  }

  void start_controller() {
    auto child = scenarios::Child::start({options_.controller, "--kubeconfig", options_.controller_kubeconfig,
                                          "--metrics-bind-address=0", "--health-probe-bind-address=0"},
                                         options_.log);
    require(child.has_value(), child ? "" : child.error().message);
    controller_ = std::move(*child);
  }

  std::size_t audit_position() {
    audit_.refresh();
    return audit_.writes().size();
  }

  void measure(std::string_view name) {
    const std::size_t position = audit_position();
    const base::Duration cpu = bench::cpu_of(controller_->pid());
    const base::MonoTime start = reactor_.now();
    {
      bench::ObjectWatch bound(reactor_, *transport_, claims().collection_path("bench"), bench::in_phase("Bound"));
      if (!options_.cold) create_claims();
      require(bound.wait(options_.count, minutes(20)), "the claims did not become Bound: " + bound.why());
    }
    const double elapsed = seconds(reactor_.now() - start);
    settle_addresses();
    const double used = seconds(bench::cpu_of(controller_->pid()) - cpu);
    const auto n = static_cast<double>(options_.count);
    fmt::print("{}, N = {}\n", name, options_.count);
    fmt::print("  {:.2f} s, {:.0f} binds/s, controller CPU {:.2f} ms per claim, peak memory {:.1f} MiB\n", elapsed,
               n / elapsed, used * 1000 / n, bench::peak_memory_mib(controller_->pid()));
    audit_.refresh();
    print_writes(audit_.writes(), position, options_.count);
  }

  // They are sent behind everything else, the last of them while it ends.
  std::size_t events() const {
    return static_cast<std::size_t>(std::ranges::count_if(audit_.writes(), [](const scenarios::WriteRecord& write) {
      return write.user == "core" && write.plural == "events" && write.verb == "create" && write.code < 300;
    }));
  }

  void settle_addresses() {
    bench::ObjectWatch bound(reactor_, *transport_, addresses().collection_path(), bench::in_phase("Bound"));
    require(bound.wait(options_.count, minutes(5)), "the addresses did not become Bound: " + bound.why());
  }

  // A restart over settled objects must write nothing; the probe claim tells when the start is over.
  void restart() {
    require(controller_->end(std::chrono::seconds(20)),
            "the controller did not end cleanly on SIGTERM: " + controller_->ending());
    const std::size_t position = audit_position();
    fmt::print("  events of the controller by its end: {}\n", events());
    const base::MonoTime start = reactor_.now();
    start_controller();
    batch(1, [](std::size_t) {
      return post(
          claims(), "bench",
          {{"metadata", object{{"name", "probe"}, {"namespace", "bench"}}}, {"spec", object{{"className", "bench"}}}});
    });
    bench::ObjectWatch pending(reactor_, *transport_, claims().collection_path("bench"), bench::in_phase("Pending"));
    require(pending.wait(1, minutes(5)), "the restarted controller did not answer: " + pending.why());
    fmt::print(
        "restart over {} settled objects: one more claim answered after {:.2f} s; all writes since, its two "
        "included:\n",
        2 * options_.count, seconds(reactor_.now() - start));
    audit_.refresh();
    print_writes(audit_.writes(), position, 1);
    fmt::print("  peak memory {:.1f} MiB\n", bench::peak_memory_mib(controller_->pid()));
    controller_->end(std::chrono::seconds(20));
  }

  // The same number of patches of the same size by this client, with no logic behind them.
  void ceiling() {
    const std::size_t count = 4 * options_.count;
    const bench::BatchResult result = batch(count, [this, count](std::size_t i) {
      kube::Request request;
      request.method = "PATCH";
      request.path = addresses().object_path({}, base::object_name(nth_address(i % options_.count)));
      request.content_type = "application/merge-patch+json";
      request.body =
          fmt::format(R"({{"metadata":{{"annotations":{{"bench.example.org/patch":"{:0>80}"}}}}}})", i * count);
      return request;
    });
    fmt::print(
        "the server's own ceiling: {} patches in {:.2f} s, {:.0f}/s, p50 {:.1f} ms, p99 {:.1f} ms with {} in flight\n",
        count, seconds(result.elapsed), static_cast<double>(count) / seconds(result.elapsed),
        seconds(result.p50) * 1000, seconds(result.p99) * 1000, options_.window);
  }

  Options options_;
  base::ThreadReactor reactor_;
  std::unique_ptr<kube::Transport> transport_;
  scenarios::AuditLog audit_;
  std::unique_ptr<scenarios::Child> controller_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Binds N claims to N static addresses and measures it");
  app.add_option("--kubeconfig", options.kubeconfig, "cluster-admin, for the load")->required();
  app.add_option("--controller", options.controller, "path of address-controller")->required();
  app.add_option("--controller-kubeconfig", options.controller_kubeconfig, "the controller's own identity (user core)")
      ->required();
  app.add_option("--audit-log", options.audit_log, "the API server's audit log")->required();
  app.add_option("--log", options.log, "where the controller's log goes");
  app.add_option("-n,--count", options.count, "how many claims");
  app.add_option("--window", options.window, "requests of the load in flight");
  app.add_flag("--cold", options.cold, "store everything first, then start the controller");
  CLI11_PARSE(app, argc, argv);
  try {
    Benchmark(std::move(options)).run();
  } catch (const std::exception& problem) {
    fmt::print(stderr, "static_match: {}\n", problem.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
