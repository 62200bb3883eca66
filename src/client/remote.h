// The client's server behind a kubeconfig.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "client/session.h"
#include "kube/client_config.h"

namespace client {

base::Result<std::unique_ptr<Server>> connect(kube::ClientConfig config, const std::string& user_agent);

}  // namespace client
