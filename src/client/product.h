// The commands of kubectl-address: what tenants and administrators do with claims and addresses (docs/contract.md).
// Each looks before it writes, guards its writes by the version it looked at, says what happened, and waits until it
// has. Each returns one of k_done, k_failed, k_usage.
#pragma once

#include <string>

#include "base/clock.h"
#include "client/session.h"

namespace client {

struct Waiting {
  bool wait = true;
  base::Duration timeout = std::chrono::seconds(60);
};

struct ClaimOptions {
  std::string name;
  std::string class_name;
  std::string family = "IPv4";
  std::string address;  // an address or the name of its object: this one and no other
  Waiting waiting;
};
// Creates a claim, or finds that the same one is there.
int claim(const Session& session, const ClaimOptions& options);

// Names the claim on a Service that names none, unless another Service has it.
int attach(const Session& session, const std::string& claim, const std::string& service, const Waiting& waiting);
// Takes the claim's name off the Service. The address stays with the claim.
int detach(const Session& session, const std::string& service, const Waiting& waiting);
// Names the claim on a Service and takes it off every other.
int move(const Session& session, const std::string& claim, const std::string& service, const Waiting& waiting);

// Deletes a claim, and with it the right to its addresses.
int release(const Session& session, const std::string& claim, bool even_if_attached, const Waiting& waiting);
// Administrators: makes a Released address available to anybody.
int recycle(const Session& session, const std::string& address, const Waiting& waiting);

// The claims with what they have.
int list(const Session& session);
// Whose an address is, as far as the user may know.
int who(const Session& session, const std::string& address);
// Where addresses come from.
int classes(const Session& session);

}  // namespace client
