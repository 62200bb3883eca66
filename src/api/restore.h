// Contract §9: the same objects with other uids. A backup tool makes objects again; the uid that was recorded on each
// (recorded_uid_annotation) is then not its own, and so tells what the object was. The core and all drivers call these.
// Facts by which they know how long more may come:
//
// - restored/: an address that was seen as a restored copy less than the grace ago, back with its claim by now or not.
//   Published by addresses, looked after by the key restore/.
// - restoring/: there are such addresses: more may come. Published by that key, and read by all that wait: it flips
//   rarely, however many addresses come.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "api/ipam.h"
#include "base/clock.h"
#include "kube/plan.h"
#include "kube/view.h"

namespace api {

// How long a copy waits for what belongs to it (--restore-grace), and how long at most while more is being restored.
inline constexpr base::Duration k_restore_grace = std::chrono::minutes(2);
inline constexpr base::Duration k_longest_restore = std::chrono::minutes(30);

// A uid is recorded on it, and not its own.
bool is_copy(const kube::Meta& meta);

// §9.2: a copy that names the claim it belonged to by uid. Whoever asks has to see whether that claim is back: with
// that very uid the binding is intact (§9.1), and only the annotation is behind.
bool is_restored(const IPAddress& address);

// §9.3: the claim is a copy of the one that the restored address belonged to: of the same namespace and name, and with
// its uid on record. Neither is being deleted.
bool goes_back_to(const IPAddress& address, const IPAddressClaim& claim);

// --- on a view ---

// The reconciler of the key restore/, which a controller that asks the following has to declare.
inline constexpr std::string_view k_restore = "restore";
kube::Plan reconcile_restore(const kube::Key& key, kube::View& view);

// Says in the plan of an address that it is being restored, for as long as that counts, and returns whether it does.
bool note_restored(kube::View& view, base::Duration grace, const IPAddress& address, kube::Plan& plan);

// §9.4: when to look again whether what has waited under this name since `waits` began still has to: it is counted from
// then or from the youngest restored address, whichever is later. Zero once it waits no longer, which may be earlier
// than was said, and if it does not wait at all.
base::Duration restore_wait(kube::View& view, base::Duration grace, const std::string& name, bool waits);

}  // namespace api
