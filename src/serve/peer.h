// Who is at the other end of a TLS connection.
#pragma once

#include <openssl/types.h>

#include "serve/http.h"

namespace serve {

// What the subject of the client's certificate says, once the handshake is over; nobody where there is none or it was
// not verified.
Peer peer_of(const SSL* ssl);

}  // namespace serve
