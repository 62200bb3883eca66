// The driver's benchmark, on a real API server with a real MetalLB (docs/performance.md): how long one claim takes to
// be Bound and one Service to get its claim's address, beside what MetalLB itself takes for a plain Service; a burst of
// claims beside MetalLB's own burst of Services; and what core and driver write for it. Run it through bench/run
// --driver.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/builtin.h"
#include "api/ipam.h"
#include "api/metallb.h"
#include "api/names.h"
#include "batch.h"
#include "connect.h"
#include "object_watch.h"
#include "scenarios/audit.h"
#include "scenarios/child.h"
#include "scenarios/real_backend.h"
#include "usage.h"

namespace {

using boost::json::object;
using std::chrono::minutes;
using std::chrono::seconds;

struct Options {
  std::string plane, sources = ".", binaries, metallb = "0.16";
  std::size_t runs = 200;
  std::size_t burst = 1000;
  std::size_t others = 0;
  std::size_t window = 64;
};

double in_seconds(base::Duration d) { return std::chrono::duration<double>(d).count(); }
double in_ms(base::Duration d) { return in_seconds(d) * 1000; }

const kube::Resource& claims() { return api::IPAddressClaim::kind().resource; }
const kube::Resource& services() { return api::Service::kind().resource; }

// What MetalLB serves as it does a placeholder: no endpoints, no node ports, a pool by name (else it gets nothing).
object service_body(std::string name, std::string_view pool) {
  object annotations;
  if (!pool.empty()) annotations[api::metallb::pool] = pool;
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object{{"name", std::move(name)}, {"annotations", std::move(annotations)}}},
          {"spec", object{{"type", "LoadBalancer"},
                          {"allocateLoadBalancerNodePorts", false},
                          {"ports", boost::json::array{object{{"port", 80}}}}}}};
}

object claim_body(std::string name) {
  return {{"apiVersion", claims().api_version()},
          {"kind", claims().kind},
          {"metadata", object{{"name", std::move(name)}}},
          {"spec", object{{"className", "bench"}}}};
}

kube::Request write(std::string method, std::string path, const object& body) {
  kube::Request request;
  request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = boost::json::serialize(body);
  return request;
}

// Stage 1: has an ingress. Stage 2: the handoff is over as well, the sharing key is off.
int service_stage(const boost::json::value& service) {
  boost::system::error_code error;
  const auto* ingress = service.find_pointer("/status/loadBalancer/ingress", error);
  if (ingress == nullptr || !ingress->is_array() || ingress->get_array().empty()) return 0;
  const auto* annotations = service.find_pointer("/metadata/annotations", error);
  const bool keyed = annotations != nullptr && annotations->get_object().contains(api::metallb::sharing_key);
  return keyed ? 1 : 2;
}

class Samples {
 public:
  void add(base::Duration taken) { all_.push_back(taken); }
  void print(std::string_view what, double aim) {
    std::ranges::sort(all_);
    if (all_.empty()) return;
    fmt::print("  {:<52} {:>8.1f} {:>8.1f} {:>8.1f}{}\n", what, in_ms(all_[all_.size() / 2]),
               in_ms(all_[all_.size() * 99 / 100]), in_ms(all_.back()), aim > 0 ? fmt::format(" {:>8.0f}", aim) : "");
  }

 private:
  std::vector<base::Duration> all_;
};

class Benchmark {
 public:
  explicit Benchmark(Options options)
      : options_(std::move(options)),
        transport_(bench::connect(options_.plane + "/kubeconfig", reactor_)),
        audit_(options_.plane + "/audit.log") {}

  void run() {
    prepare();
    single_runs();
    bursts();
    for (auto* child : {&core_, &driver_}) {
      require((*child)->running(), "a controller ended: " + (*child)->ending());
    }
    for (const std::string& breach : audit_.take_breaches()) fmt::print("  BREACH {}\n", breach);
  }

 private:
  static void require(bool condition, const std::string& otherwise) {
    if (!condition) throw std::runtime_error(otherwise);
  }
  template <typename T>
  static T expect(base::Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  bench::BatchResult batch(std::size_t count, const std::function<kube::Request(std::size_t)>& make) {
    bench::BatchResult result = bench::run_batch(reactor_, *transport_, count, options_.window, make);
    require(result.failed == 0,
            fmt::format("{} of {} requests failed: {}", result.failed, count, result.first_failure));
    return result;
  }
  void send(kube::Request request) {
    batch(1, [&request](std::size_t) { return std::move(request); });
  }

  std::unique_ptr<scenarios::Child> start(const std::string& program, const std::string& user, const std::string& log) {
    return expect(scenarios::Child::start(
        {options_.binaries + "/" + program, fmt::format("--kubeconfig={}/{}.kubeconfig", options_.plane, user),
         "--metrics-bind-address=0", "--health-probe-bind-address=0"},
        options_.plane + "/" + log));
  }

  // The class and a pool of MetalLB's own have room for everything.
  void prepare() {
    scenarios::RealOptions real;
    real.plane = options_.plane;
    real.sources = options_.sources;
    real.binaries = options_.binaries;
    real.metallb = options_.metallb;
    metallb_ = expect(scenarios::RealBackend::open(std::move(real)));
    expect(metallb_->prepare(true));
    core_ = start("address-controller", "core", "core.log");
    driver_ = start("metallb-iad", "driver", "driver.log");
    send(write("POST", "/api/v1/namespaces", {{"metadata", object{{"name", "bench"}}}}));
    const kube::Resource& pools = api::IPAddressPool::kind().resource;
    send(write("POST", pools.collection_path("metallb-system"),
               {{"apiVersion", pools.api_version()},
                {"kind", pools.kind},
                {"metadata", object{{"name", "plain"}}},
                {"spec", object{{"autoAssign", false}, {"addresses", boost::json::array{"10.1.0.0/16"}}}}}));
    const kube::Resource& classes = api::IPAddressClass::kind().resource;
    send(write("POST", classes.collection_path({}),
               {{"apiVersion", classes.api_version()},
                {"kind", classes.kind},
                {"metadata", object{{"name", "bench"}}},
                {"spec", object{{"provisioner", api::metallb::provisioner},
                                {"reclaimPolicy", "Delete"},
                                {"parameters", object{{"addresses", boost::json::array{"10.0.0.0/16"}}}}}}}));
    services_ =
        std::make_unique<bench::ObjectWatch>(reactor_, *transport_, services().collection_path("bench"), service_stage);
    claims_ = std::make_unique<bench::ObjectWatch>(reactor_, *transport_, claims().collection_path("bench"),
                                                   bench::in_phase("Bound"));
    // The first of each waits for starts and configuration.
    claim("warm-up", minutes(1));
    plain("warm-up", minutes(1));
    create_services(names("other", options_.others));
    require(services_->wait(options_.others + 1, minutes(10)), "Services with an ingress: " + services_->why());
    remove_services({"warm-up"});
    remove_claims({"warm-up"});
    settle();
  }

  base::Duration claim(const std::string& name, base::Duration limit) {
    const base::MonoTime start = reactor_.now();
    send(write("POST", claims().collection_path("bench"), claim_body(name)));
    require(claims_->wait_for("bench/" + name, 1, limit), "claim " + name + " was not Bound: " + claims_->why());
    return reactor_.now() - start;
  }

  base::Duration plain(const std::string& name, base::Duration limit) {
    const base::MonoTime start = reactor_.now();
    send(write("POST", services().collection_path("bench"), service_body(name, "plain")));
    require(services_->wait_for("bench/" + name, 1, limit), "Service " + name + " got nothing from MetalLB");
    return reactor_.now() - start;
  }

  // The Service is there already, and MetalLB has done with it.
  base::Duration attach(const std::string& name, const std::string& claim, base::Duration limit) {
    send(write("POST", services().collection_path("bench"), service_body(name, {})));
    settle();
    const base::MonoTime start = reactor_.now();
    send(write("PATCH", services().object_path("bench", name),
               {{"metadata", object{{"annotations", object{{api::claim_annotation, claim}}}}}}));
    require(services_->wait_for("bench/" + name, 1, limit), "Service " + name + " did not get its claim's address");
    const base::Duration taken = reactor_.now() - start;
    require(services_->wait_for("bench/" + name, 2, limit), "the handoff to Service " + name + " did not end");
    return taken;
  }

  void remove_services(const std::vector<std::string>& names) {
    batch(names.size(), [&](std::size_t i) { return write("DELETE", services().object_path("bench", names[i]), {}); });
    require(services_->wait_for_only(options_.others, minutes(5)), "the Services do not go: " + services_->why());
  }

  void remove_claims(const std::vector<std::string>& names) {
    batch(names.size(), [&](std::size_t i) { return write("DELETE", claims().object_path("bench", names[i]), {}); });
    require(claims_->wait_for_only(0, minutes(5)), "the claims do not go: " + claims_->why());
  }

  std::vector<std::string> names(const std::string& prefix, std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(fmt::format("{}-{:06}", prefix, i));
    return all;
  }

  void create_services(const std::vector<std::string>& names) {
    batch(names.size(), [&](std::size_t i) {
      return write("POST", services().collection_path("bench"), service_body(names[i], "plain"));
    });
  }

  // One after the other, each when the one before has settled.
  void single_runs() {
    Samples plains, bound, attached;
    for (std::size_t i = 0; i < options_.runs; ++i) {
      const std::size_t start = audit_position();
      plains.add(plain("plain", seconds(60)));
      settle();
      bound.add(claim("single", seconds(60)));
      settle();
      attached.add(attach("web", "single", seconds(60)));
      count_writes(start);
      remove_services({"plain", "web"});
      remove_claims({"single"});
      settle();
    }
    fmt::print("MetalLB {}, {} runs one after the other, {} other Services; ms\n  {:<52} {:>8} {:>8} {:>8} {:>8}\n",
               options_.metallb, options_.runs, options_.others, "", "p50", "p99", "max", "aim p50");
    plains.print("plain Service: create -> ingress, MetalLB alone", 0);
    bound.print("claim: create -> Bound", 40);
    attached.print("Service: annotate -> ingress", 50);
    fmt::print("writes for a claim and its attaching\n");
    print_writes(options_.runs);
  }

  void bursts() {
    if (options_.burst == 0) return;
    const auto n = static_cast<double>(options_.burst);
    const std::vector<std::string> all = names("burst", options_.burst);
    base::MonoTime start = reactor_.now();
    create_services(all);
    require(services_->wait(options_.others + options_.burst, minutes(10)),
            "Services with an ingress: " + services_->why());
    const double plain = n / in_seconds(reactor_.now() - start);
    remove_services(all);
    settle();

    const std::size_t position = audit_position();
    const base::Duration core_cpu = bench::cpu_of(core_->pid());
    const base::Duration driver_cpu = bench::cpu_of(driver_->pid());
    start = reactor_.now();
    batch(options_.burst,
          [&](std::size_t i) { return write("POST", claims().collection_path("bench"), claim_body(all[i])); });
    const double created = in_seconds(reactor_.now() - start);
    require(claims_->wait(options_.burst, minutes(10)), "claims that are Bound: " + claims_->why());
    const double rate = n / in_seconds(reactor_.now() - start);
    settle();
    fmt::print("a burst of {}; per second\n", options_.burst);
    fmt::print("  {:<52} {:>8.0f}\n", "plain Services -> all with ingress, MetalLB alone", plain);
    fmt::print("  {:<52} {:>8.0f}   {:.0f} % of MetalLB's, aim 60 %\n", "claims -> all Bound", rate,
               100 * rate / plain);
    fmt::print(
        "  the claims were created in {:.1f} s; CPU per claim: core {:.2f} ms, driver {:.2f} ms; peak memory: core "
        "{:.0f} MiB, driver {:.0f} MiB\n",
        created, in_ms(bench::cpu_of(core_->pid()) - core_cpu) / n,
        in_ms(bench::cpu_of(driver_->pid()) - driver_cpu) / n, bench::peak_memory_mib(core_->pid()),
        bench::peak_memory_mib(driver_->pid()));
    fmt::print("writes for a claim\n");
    count_writes(position);
    print_writes(options_.burst);
  }

  // Nobody has written for a moment.
  void settle() {
    for (std::size_t before = audit_position(), quiet = 0; quiet < 2;) {
      reactor_.at(reactor_.now() + std::chrono::milliseconds(150), [this] { reactor_.stop(); });
      reactor_.run();
      const std::size_t now = audit_position();
      quiet = now == before ? quiet + 1 : 0;
      before = now;
    }
  }

  std::size_t audit_position() {
    audit_.refresh();
    return audit_.writes().size();
  }

  // Those of core and driver from a position of the audit log on. Leases do not count.
  void count_writes(std::size_t from) {
    audit_.refresh();
    for (std::size_t i = from; i < audit_.writes().size(); ++i) {
      const scenarios::WriteRecord& write = audit_.writes()[i];
      if ((write.user != "core" && write.user != "driver") || write.plural == "leases") continue;
      std::string key = fmt::format("{:<6} {} {}{}", write.user, write.verb, write.plural,
                                    write.subresource.empty() ? "" : "/" + write.subresource);
      if (write.code >= 300) key += fmt::format(", refused with {}", write.code);
      ++counts_[key];
      if (write.plural == "events") continue;
      ++writes_;
      if (write.code >= 300) ++refused_;
    }
  }

  // What was counted since the last time, for one of `count`.
  void print_writes(std::size_t count) {
    const auto n = static_cast<double>(count);
    for (const auto& [key, number] : counts_) fmt::print("  {:<52} {:>8.3f}\n", key, static_cast<double>(number) / n);
    fmt::print("  {:<52} {:>8.3f}, {} of {} refused\n", "all but events", static_cast<double>(writes_) / n, refused_,
               writes_);
    counts_.clear();
    writes_ = refused_ = 0;
  }

  Options options_;
  base::ThreadReactor reactor_;
  std::unique_ptr<kube::Transport> transport_;
  scenarios::AuditLog audit_;
  std::unique_ptr<scenarios::RealBackend> metallb_;
  std::unique_ptr<scenarios::Child> core_, driver_;
  std::unique_ptr<bench::ObjectWatch> services_, claims_;
  std::map<std::string, std::size_t> counts_;  // by user, verb and resource
  std::size_t writes_ = 0, refused_ = 0;       // events apart
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures claims and handoffs beside MetalLB's own work");
  app.add_option("--plane", options.plane, "folder that tests/real/plane has started a control plane in")->required();
  app.add_option("--sources", options.sources, "root of the source tree");
  app.add_option("--binaries", options.binaries, "folder of address-controller and metallb-iad")->required();
  app.add_option("--metallb", options.metallb, "0.15 or 0.16");
  app.add_option("--runs", options.runs, "single runs of each kind");
  app.add_option("--burst", options.burst, "objects of a burst; 0: none");
  app.add_option("--others", options.others, "other Services of MetalLB in the cluster");
  app.add_option("--window", options.window, "requests of the load in flight");
  CLI11_PARSE(app, argc, argv);
  try {
    Benchmark(std::move(options)).run();
  } catch (const std::exception& problem) {
    fmt::print(stderr, "driver_speed: {}\n", problem.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
