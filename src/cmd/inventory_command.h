// `kubectl address inventory`, which asks the driver's own functions: the client knows no driver.
#pragma once

#include "client/cli.h"

int inventory_command(const client::Session& session, const client::InventoryOptions& options);
