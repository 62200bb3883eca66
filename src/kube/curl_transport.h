// kube::Transport over HTTP: libcurl on one I/O thread.
#pragma once

#include <memory>

#include "base/reactor.h"
#include "base/result.h"
#include "kube/client_config.h"
#include "kube/transport.h"
#include "kube/transport_options.h"

namespace kube {

// Connects on first use, not here: an error means that the configuration cannot work (a file that is missing or
// unusable, a malformed URL). `reactor` is where continuations run; it must outlive the transport. Destroying the
// transport, on the reactor's thread or after that thread has left run(), ends every request and stream with
// `cancelled`: their last tasks are posted before the destructor returns.
//
// Beyond what Transport promises:
// - Ordinary requests share few connections (one with HTTP/2), leases have their own, each stream has its own.
// - A GET whose connection breaks is sent once more on a fresh one. Other methods are never repeated after a byte was
// sent.
// - 429 (and 500, 502, 503, except for POST) with Retry-After is obeyed, as often as options and the request's time-out
// allow.
// - A 401 is answered by one more attempt with fresh credentials where there are any.
// - A stream with a timeoutSeconds in its query ends at the latest that long, plus its header time-out and ten seconds,
// after its start.
base::Result<std::unique_ptr<Transport>> make_transport(ClientConfig config, base::Reactor& reactor,
                                                        TransportOptions options = {});

}  // namespace kube
