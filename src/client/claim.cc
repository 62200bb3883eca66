// claim, release, recycle.
#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "client/cluster.h"
#include "client/kinds.h"
#include "client/product.h"

namespace client {
namespace {

json::object document_of(const Session& session, const ClaimOptions& options, const std::string& address_name) {
  json::object spec{{"family", options.family}};
  if (!options.class_name.empty()) spec["className"] = options.class_name;
  if (!address_name.empty()) spec["addressName"] = address_name;
  return {{"apiVersion", claim_kind.api_version()},
          {"kind", claim_kind.kind},
          {"metadata", {{"name", options.name}, {"namespace", session.ns}}},
          {"spec", std::move(spec)}};
}

// The name of the object that is meant by a name or an address: of an address without one, the name it would have.
std::string object_meant(const Session& session, const std::string& text) {
  const auto ip = base::IpAddress::parse(text);
  if (!ip) return text;
  const auto address = address_for(session, *ip);
  return address && *address ? (*address)->name : base::object_name(*ip);
}

// Why no object can have what is meant by --address or --class as its name; "" if one can.
std::string impossible(std::string_view flag, const std::string& text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool numbers = text.find_first_not_of("0123456789.") == std::string::npos;
  const bool name = !text.empty() && text.size() <= 253 && plain(text.front()) && plain(text.back()) &&
                    std::ranges::all_of(text, [&](char c) { return plain(c) || c == '-' || c == '.'; });
  if (name && !(flag == "--address" && numbers)) return {};
  if (flag == "--class") return fmt::format("--class: \"{}\" cannot be the name of a class; see: classes", text);
  const auto parsed = base::IpAddress::parse(text);
  return fmt::format("--address: {}, nor can an IPAddress object have that name", parsed.error().message);
}

// What to do about a claim that waits, "" where the condition says it.
std::string advice(const Session& session, std::string_view reason) {
  if (reason == "AddressNotFound") return "without --address a claim gets any free address of its class";
  if (reason == "ClassNotFound" || reason == "NoDefaultClass" || reason == "MultipleDefaultClasses")
    return fmt::format("the classes there are: {} classes", session.program);
  return {};
}

// What a claim that is there already asks for differently; "" if it is the same.
std::string difference(const Claim& claim, const ClaimOptions& options, const std::string& address_name) {
  const auto say = [](std::string_view what, const std::string& has, const std::string& wanted) {
    return fmt::format("its {} is {}, not {}", what, has.empty() ? "not set" : has, wanted.empty() ? "unset" : wanted);
  };
  if (claim.family != options.family) return say("family", claim.family, options.family);
  // Naming the class that the default turned out to be asks for nothing else.
  if (claim.wanted_class != options.class_name &&
      (options.class_name.empty() || claim.class_name != options.class_name)) {
    return say("class", claim.wanted_class, options.class_name);
  }
  if (claim.wanted_address != address_name) return say("address", claim.wanted_address, address_name);
  return {};
}

int wait_bound(const Session& session, const std::string& name, const Waiting& waiting) {
  if (!waiting.wait) return k_done;
  const base::MonoTime begin = session.server.now();
  std::optional<kube::ApiError> error;
  Claim claim;
  const bool done = session.wait_until(waiting.timeout, [&] {
    const auto now = session.get(claim_kind, session.ns, name);
    if (!now) {
      error = now.error();
      return true;
    }
    claim = claim_of(*now);
    return claim.phase != api::phase::pending;
  });
  if (error) return session.fail(*error);
  if (!done || claim.phase != api::phase::bound) {
    const base::Duration waited = session.server.now() - begin;
    const int status = session.fail(fmt::format("claim {} is {} after {}; {}", name, claim.phase, seconds_text(waited),
                                                why_unbound(claim, waited)));
    if (const std::string what = advice(session, claim.reason); !what.empty()) session.err << what << '\n';
    if (claim.phase == api::phase::pending) {
      session.err << fmt::format("it goes on waiting; to give it up: {} release {} -n {}\n", session.program, name,
                                 session.ns);
    }
    return status;
  }
  session.out << fmt::format("claim {} has {} of class {} (after {})\n", name, claim.texts(), claim.class_name,
                             seconds_text(session.server.now() - begin));
  return k_done;
}

struct Fate {
  std::string told;  // "" if the user may not look
  bool settled = true;
};

// What became of an address that the claim had reported, now that it is gone.
Fate fate(const Session& session, const Claim& claim, const Reported& reported) {
  const auto now = session.get(address_kind, {}, reported.name);
  if (!now) {
    if (!now.error().is_not_found()) return {};
    return {fmt::format("{} went back to where it came from", reported.address)};
  }
  const Address address = address_of(*now);
  const bool named = address.claim_ns == claim.ns && address.claim == claim.name;
  if (!address.claim.empty() && (!named || (!address.claim_uid.empty() && address.claim_uid != claim.uid)))
    return {fmt::format("{} was not the claim's any more: it is {}/{}'s", reported.address, address.claim_ns,
                        address.claim)};
  if (address.phase == api::phase::released && !address.deleting)
    return {fmt::format("{} is Released: kept, and nobody's until an administrator recycles it", reported.address)};
  const bool underway = address.deleting || address.phase == api::phase::bound || address.phase == api::phase::pending;
  return {fmt::format("{} is {}{}", reported.address, address.phase, address.deleting ? ", being deleted" : ""),
          !underway};
}

// The object of an address or of a name; after a failure the message is printed.
std::optional<Address> need_address(const Session& session, const std::string& text) {
  std::expected<std::optional<Address>, kube::ApiError> address;
  if (const auto ip = base::IpAddress::parse(text)) {
    address = address_for(session, *ip);
  } else if (const auto object = session.get(address_kind, {}, text)) {
    address = address_of(*object);
  } else if (!object.error().is_not_found()) {
    address = std::unexpected(object.error());
  }
  if (!address) {
    session.fail(address.error());
    return std::nullopt;
  }
  if (!*address)
    session.fail(fmt::format("no IPAddress object for {}: nobody has claimed or set aside that address", text));
  return *address;
}

}  // namespace

int claim(const Session& session, const ClaimOptions& options) {
  if (!options.address.empty() && !base::IpAddress::parse(options.address)) {
    if (const std::string why = impossible("--address", options.address); !why.empty())
      return session.fail(why, k_usage);
  }
  if (!options.class_name.empty()) {
    if (const std::string why = impossible("--class", options.class_name); !why.empty())
      return session.fail(why, k_usage);
  }
  const std::string address_name = options.address.empty() ? std::string() : object_meant(session, options.address);
  const auto created = session.create(claim_kind, session.ns, document_of(session, options, address_name));
  if (created) {
    session.out << fmt::format("{} created\n", display_name(claim_kind, options.name));
  } else if (created.error().is_already_exists()) {
    const auto now = session.get(claim_kind, session.ns, options.name);
    if (!now) return session.fail(now.error());
    const Claim there = claim_of(*now);
    if (there.deleting)
      return session.fail(fmt::format("a claim {} is being deleted; try again when it is gone", options.name));
    if (const std::string other = difference(there, options, address_name); !other.empty()) {
      return session.fail(
          fmt::format("there is a claim {} in namespace {} already, and {}", options.name, session.ns, other));
    }
    session.out << fmt::format("{} is there already\n", display_name(claim_kind, options.name));
  } else {
    return session.fail(created.error());
  }
  return wait_bound(session, options.name, options.waiting);
}

int release(const Session& session, const std::string& name, bool even_if_attached, const Waiting& waiting) {
  const auto claim = need_claim(session, name);
  if (!claim) return k_failed;
  for (const Service& service : services_of(session, name)) {
    if (even_if_attached) break;
    const bool shows =
        std::ranges::any_of(claim->addresses, [&](const auto& one) { return service.shows(one.address); });
    return session.fail(
        fmt::format("service {} names claim {} and {}; detach it first ({} detach {} -n {}), or say --even-if-attached",
                    service.name, name, shows ? "would lose its address" : "waits for its address", session.program,
                    service.name, session.ns));
  }
  const json::object options{{"preconditions", {{"uid", claim->uid}}}, {"propagationPolicy", "Background"}};
  const auto removed = session.remove(claim_kind, session.ns, name, options);
  if (!removed && !removed.error().is_not_found()) return session.fail(removed.error());
  session.out << fmt::format("claim {} is given up\n", name);
  if (!waiting.wait) return k_done;
  const bool gone = session.wait_until(waiting.timeout, [&] {
    const auto now = session.get(claim_kind, session.ns, name);
    return !now || text_at(*now, {"metadata", "uid"}) != claim->uid;
  });
  if (!gone)
    return session.fail(fmt::format("claim {} is still being deleted after {}; is address-controller running?", name,
                                    seconds_text(waiting.timeout)));
  for (const Reported& reported : claim->addresses) {
    // A Delete address goes a moment after its claim, when the backend has let go.
    Fate now;
    session.wait_until(waiting.timeout, [&] {
      now = fate(session, *claim, reported);
      return now.settled;
    });
    if (!now.told.empty()) session.out << now.told << "\n";
  }
  return k_done;
}

int recycle(const Session& session, const std::string& text, const Waiting& waiting) {
  const auto address = need_address(session, text);
  if (!address) return k_failed;
  const std::string& phase = address->phase;
  if (phase == api::phase::available && address->claim.empty()) {
    session.out << fmt::format("{} is Available already\n", address->text);
    return k_done;
  }
  if (phase != api::phase::released) {
    const std::string owner =
        address->claim.empty() ? "nobody" : fmt::format("{}/{}", address->claim_ns, address->claim);
    return session.fail(fmt::format(
        "{} is {} and belongs to {}; only a Released address can be recycled. To take one from its claim, delete "
        "the claim: {} release {} -n {}",
        address->text, phase, owner, session.program, address->claim.empty() ? "CLAIM" : address->claim,
        address->claim_ns.empty() ? "NAMESPACE" : address->claim_ns));
  }
  const json::object cleared{{"metadata", {{"resourceVersion", address->version}}}, {"spec", {{"claimRef", nullptr}}}};
  const auto patched = session.patch(address_kind, {}, address->name, cleared);
  if (!patched && patched.error().is_conflict()) {
    return session.fail(fmt::format("{} changed at the same moment; nothing was done, look at it again: {} who {}",
                                    address->text, session.program, address->text));
  }
  if (!patched) return session.fail(patched.error());
  session.out << fmt::format("{} is no longer reserved for {}/{}\n", address->text, address->claim_ns, address->claim);
  if (!waiting.wait) return k_done;
  Address now = *address;
  const bool done = session.wait_until(waiting.timeout, [&] {
    const auto object = session.get(address_kind, {}, address->name);
    if (!object) return true;
    now = address_of(*object);
    return now.phase != api::phase::released;
  });
  if (!done)
    return session.fail(fmt::format("{} is still {} after {}; is address-controller running?", now.text, now.phase,
                                    seconds_text(waiting.timeout)));
  if (now.phase == api::phase::bound) {
    session.out << fmt::format("{} is Bound to {}/{}, which waited for one\n", now.text, now.claim_ns, now.claim);
  } else {
    session.out << fmt::format("{} is {}\n", now.text, now.phase);
  }
  return k_done;
}

}  // namespace client
