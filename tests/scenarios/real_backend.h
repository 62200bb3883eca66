// Scenarios on a real control plane that tests/real/plane has started: shipped binaries under identities of their own,
// RBAC on; or on the sandbox's server over HTTP, with the same binaries.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "scenarios/audit.h"
#include "scenarios/backend.h"
#include "scenarios/child.h"
#include "scenarios/http.h"
#include "scenarios/write_trap.h"

namespace scenarios {

struct RealOptions {
  std::string plane;     // the folder that tests/real/plane was given
  std::string sources;   // root of the source tree: crds/, deploy/, tests/real/plane
  std::string binaries;  // folder of address-controller and metallb-iad
  // Instead of a control plane: this address-sandbox, started in `plane`, with its model of MetalLB.
  std::string sandbox;
  std::string metallb = "0.16";
  std::string logs;  // where the logs of failing scenarios go
  int port = 23010;  // two ports a controller: probes and metrics; 0: free ones
};

class RealBackend : public Backend {
 public:
  static base::Result<std::unique_ptr<RealBackend>> open(RealOptions options);
  ~RealBackend() override;

  // Installs the CRDs and the controllers' rights. Once, before anything else.
  base::Result<void> prepare(bool with_controllers);

  std::string_view name() const override { return name_; }
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
  void kill_after(Process process, std::size_t writes) override;
  std::size_t position() override;
  std::vector<WriteRecord> writes(std::size_t from) override;
  std::vector<std::string> take_breaches() override;
  base::Result<std::vector<boost::json::value>> changes(const std::string& collection,
                                                        const std::string& version) override;
  base::Result<void> store_unchecked(const boost::json::object& object) override;

 private:
  explicit RealBackend(RealOptions options);
  std::string log_of(Process process) const;
  // What it is started with; `probes`: the first of two ports.
  std::vector<std::string> command_of(Process process, int probes, int metrics) const;
  base::Result<void> start_controller(Process process, bool to_lead);
  base::Result<void> plane(const std::vector<std::string>& arguments);
  base::Result<void> start_sandbox();
  base::Result<void> start_metallb();
  base::Result<void> kill_metallb();
  base::Result<void> grant_inventory(bool granted);
  base::Result<void> apply_file(const std::string& path, std::string_view user);
  base::Result<void> wait_until(const std::string& what, base::Duration patience, const std::function<bool()>& reached);

  RealOptions options_;
  std::vector<std::string> driver_flags_;
  bool inventory_granted_ = false;
  bool webhook_ = false;
  std::string metallb_version_;
  std::string name_;
  AuditLog audit_;
  std::map<std::string, std::unique_ptr<HttpClient>, std::less<>> clients_;
  std::unique_ptr<Child> sandbox_;  // first: the others need it to the end
  std::unique_ptr<Child> sandbox_metallb_;
  std::map<Process, std::unique_ptr<Child>> children_;
  std::unique_ptr<WriteTrap> trap_;  // after the children: ends before they are waited for
  bool metallb_running_ = false;
  std::vector<std::string> breaches_;
  std::map<std::string, std::uint64_t> log_start_;  // sizes of the logs when the scenario began
};

}  // namespace scenarios
