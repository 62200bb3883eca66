// Scenarios on a real control plane that tests/real/plane has started: shipped binaries under identities of their own,
// RBAC on; or on the sandbox's server over HTTP, with the same binaries.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
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
  base::Result<void> kill_after(Process writer, std::size_t writes, Process victim) override;
  bool has_struck() override { return struck_ || (trap_ != nullptr && trap_->has_struck()); }
  std::size_t position() override;
  std::vector<WriteRecord> writes(std::size_t from) override;
  std::vector<std::string> take_breaches() override;
  base::Result<std::vector<boost::json::value>> changes(const std::string& collection,
                                                        const std::string& version) override;
  base::Result<void> store_unchecked(const boost::json::object& object) override;
  std::string unrest() override;

 private:
  explicit RealBackend(RealOptions options);
  std::string log_of(Process process) const;
  // What it is started with; `probes`: the first of two ports.
  std::vector<std::string> command_of(Process process, int probes, int metrics) const;
  base::Result<void> start_controller(Process process, bool to_lead);
  base::Result<void> serve_again(Process part);
  bool is_server_struck() const;
  // Starts a controller that has ended since it could not renew its lease, as whoever runs it does.
  void start_what_lost_its_lease();
  std::string said_since(Process process, std::uint64_t position) const;
  base::Result<void> plane(const std::vector<std::string>& arguments);
  base::Result<void> start_sandbox();
  base::Result<void> start_metallb();
  base::Result<void> kill_metallb();
  base::Result<void> grant_inventory(bool granted);
  base::Result<void> apply_file(const std::string& path, std::string_view user);
  base::Result<void> grant_rights();
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
  std::map<Process, int> metrics_;   // their ports
  std::unique_ptr<WriteTrap> trap_;  // after the children: ends before they are waited for
  Process victim_{};                 // of the trap
  bool struck_ = false;              // it has, and the victim runs again
  std::set<Process> down_;           // of apiserver and etcd
  bool interrupted_ = false;         // one of the two was down in this scenario
  bool metallb_running_ = false;
  std::vector<std::string> breaches_;
  std::map<std::string, std::uint64_t> log_start_;  // sizes of the logs when the scenario began
  std::map<Process, std::uint64_t> said_before_;    // the same when the controller was started
};

}  // namespace scenarios
