// One request of a plan and what its answer means, as pure functions.
#pragma once

#include <string>
#include <string_view>

#include "kube/api_error.h"
#include "kube/plan.h"
#include "kube/transport.h"
#include "kube/types.h"

namespace kube {

// The request that carries out `write`. `manager` is the field manager; `validation` the fieldValidation ("" = the
// server's default).
Request request_of(const Write& write, std::string_view manager, std::string_view validation, base::Duration timeout);
// A live read: no resourceVersion, so that it is answered from the quorum.
Request read_request(const Ref& target, base::Duration timeout);

// What came back, decoded as far as the loop needs it.
struct Reply {
  int status = 0;                 // 0: no answer
  ObjectPtr object;               // of a 2xx with an object in it, if the kind is known
  bool unreadable = false;        // a 2xx whose body should be an object and is none
  std::optional<ApiError> error;  // of anything but a 2xx
};
// Runs on the transport's thread. `kind` may be null. A body that is no object (the Status that answers a DELETE) gives
// none.
Reply decode_reply(const Kind* kind, Write::Verb verb, const Answer& answer);
Reply decode_read(const Kind& kind, const Answer& answer);

// What a write's answer means for the store and for its key.
enum class Outcome : std::uint8_t {
  stored,    // took effect: merge Reply::object
  gone,      // took effect, and the object is no more: entomb it
  unclear,   // took effect, but only a live read tells what is there now
  unsent,    // nothing reached the server, by our own decision: plan again
  conflict,  // the version it was planned from is not the current one
  exists,    // of a create: something is there already
  unknown,   // may have taken effect or not: read before planning again
  noop,      // changed nothing: a defect of the reconciler
  failed,    // refused, or nothing was sent: back off
};
std::string_view to_string(Outcome outcome);
Outcome outcome_of(const Write& write, const Reply& reply);

// What a live read's answer means.
enum class ReadOutcome : std::uint8_t { found, absent, failed };
ReadOutcome outcome_of(const Reply& read);

}  // namespace kube
