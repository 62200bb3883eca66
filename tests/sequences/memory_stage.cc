#include "sandbox/metallb.h"
#include "sequences/player.h"

namespace sequences {
namespace {

class MemoryStage final : public Stage {
 public:
  MemoryStage(std::string_view version, std::uint64_t seed, int event_burst)
      : world_({.seed = seed}),
        version_(version == "0.15" ? sandbox::MetalLbOptions::Version::v0_15 : sandbox::MetalLbOptions::Version::v0_16),
        seed_(seed),
        event_burst_(event_burst) {
    world_.server().load_metallb_crds();
    world_.create("{apiVersion: v1, kind: Namespace, metadata: {name: metallb-system}}");
    (void)start("");
  }

  kube::Answer send(std::string_view method, std::string_view path, std::string_view body) override {
    return world_.call(method, path, body);
  }
  base::Result<void> start(const std::string& lb_class) override {
    stop();
    name_ = "metallb-" + std::to_string(++starts_);
    sandbox::start_metallb(
        world_, {.version = version_, .lb_class = lb_class, .event_burst = event_burst_, .seed = seed_}, name_);
    return settle("");
  }
  void stop() override {
    if (!name_.empty() && world_.running(name_)) world_.crash(name_);
  }
  base::Result<void> settle(const std::string&) override {
    if (!world_.running(name_)) return base::fail("MetalLB does not run");
    // quiet for longer than a change takes to arrive and than the first repeats of a pass
    if (!world_.settle(std::chrono::seconds(2), std::chrono::seconds(30)))
      return base::fail("MetalLB does not come to rest");
    return {};
  }
  base::Result<void> flush_events() override { return settle(""); }

 private:
  sandbox::World world_;
  sandbox::MetalLbOptions::Version version_;
  std::uint64_t seed_;
  int event_burst_;
  std::string name_;
  int starts_ = 0;
};

}  // namespace

std::unique_ptr<Stage> memory_stage(std::string_view version, std::uint64_t seed, int event_burst) {
  return std::make_unique<MemoryStage>(version, seed, event_burst);
}

}  // namespace sequences
