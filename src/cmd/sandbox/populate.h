// What a cluster has that MetalLB and the controllers have been installed into.
#pragma once

#include "base/result.h"
#include "sandbox/api_server.h"

namespace sandbox_process {

// Definitions and namespaces, as far as they are not there; definitions of an older sandbox are brought up to date. The
// error says what the server does not take.
base::Result<void> populate(sandbox::ApiServer& server);

}  // namespace sandbox_process
