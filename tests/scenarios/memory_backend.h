// Scenarios on the in-memory server: virtual time, the same controllers in this process, a model of MetalLB.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "metallb/controller.h"
#include "sandbox/metallb.h"
#include "sandbox/workloads.h"
#include "sandbox/world.h"
#include "scenarios/backend.h"
#include "scenarios/rbac.h"

namespace scenarios {

struct MemoryOptions {
  std::string sources = ".";  // root of the source tree: crds/, deploy/
  std::uint64_t seed = 1;
  std::string metallb = "0.16";
};

class MemoryBackend : public Backend {
 public:
  static base::Result<std::unique_ptr<MemoryBackend>> open(MemoryOptions options);
  ~MemoryBackend() override;

  std::string_view name() const override { return "memory"; }
  kube::Answer send(std::string_view user, const kube::Request& request) override;
  base::MonoTime now() const override;
  void let_pass(base::Duration time) override;
  base::Result<void> begin(const std::string& scenario) override;
  void end(const std::string& scenario, bool failed) override;
  base::Result<void> set_driver_flags(const std::vector<std::string>& flags) override;
  base::Result<void> set_webhook(bool on) override;
  base::Result<void> set_metallb_version(const std::string& version) override;
  base::Result<void> run_only(const std::vector<Process>& processes) override;
  bool running(Process process) override;
  base::Result<void> start(Process process) override;
  base::Result<void> start_behind(Process process) override;
  base::Result<void> start_refused(Process process, const std::string& words) override;
  base::Result<void> drain(Process process) override;
  base::Result<void> stop(Process process, bool kill) override;
  base::Result<void> kill_after(Process writer, std::size_t writes, Process victim) override;
  bool has_struck() override { return struck_; }
  std::size_t position() override;
  std::vector<WriteRecord> writes(std::size_t from) override;
  std::vector<std::string> take_breaches() override;
  base::Result<std::vector<boost::json::value>> changes(const std::string& collection,
                                                        const std::string& version) override;
  std::vector<std::string> check_settled() override;
  base::Result<void> store_unchecked(const boost::json::object& object) override;

 private:
  explicit MemoryBackend(MemoryOptions options);
  void put_namespace(std::string_view name, std::string_view uid);
  bool is_allowed(const sandbox::Access& access) const;
  sandbox::World::Factory factory_of(Process process) const;
  void install_metallb();
  void new_world();
  base::Result<void> grant(bool inventory);
  void count_down(const sandbox::AuditEntry& entry);
  void cut_off(Process part);
  void serve_again(Process part);

  MemoryOptions options_;
  metallb::Options driver_options_;
  std::string metallb_version_;
  std::unique_ptr<sandbox::MetalLbWebhook> webhook_;
  std::map<std::string, Rights, std::less<>> rights_;  // by user
  std::unique_ptr<sandbox::World> world_;
  std::unique_ptr<sandbox::Workloads> workloads_;  // endpoints of Services that have a selector
  std::set<Process> started_;                      // once in this world
  int drains_ = 0;
  std::set<Process> down_;       // of apiserver and etcd
  std::string writer_;           // after so many more writes of it …
  std::size_t writes_left_ = 0;  // … (0: never)
  Process victim_{};             // … this is killed
  bool struck_ = false;
  std::vector<std::string> breaches_;
};

}  // namespace scenarios
