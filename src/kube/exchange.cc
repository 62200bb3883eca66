#include "kube/exchange.h"

#include <boost/json/serialize.hpp>

#include "kube/check.h"

namespace kube {
namespace {

bool is_success(int status) { return status >= 200 && status < 300; }

// Whether the patch writes metadata.finalizers.
bool sets_finalizers(const Write& write) {
  const boost::json::value* metadata = write.body.if_contains("metadata");
  return metadata != nullptr && metadata->is_object() && metadata->get_object().contains("finalizers");
}

Outcome outcome_of_success(const Write& write, const Reply& reply) {
  if (reply.unreadable) return Outcome::unknown;
  const Object* object = reply.object.get();
  if (write.verb == Write::Verb::remove) {
    if (object == nullptr || !object->meta.deleting) return Outcome::gone;
    // Marked and waiting for its finalizers, or (a pod, say) for its grace period, or gone with the last of them.
    if (object->meta.finalizers.empty()) return Outcome::unclear;
  } else if (object != nullptr && object->meta.deleting && object->meta.finalizers.empty() && sets_finalizers(write)) {
    return Outcome::gone;  // the patch took the last finalizer away
  }
  const bool same =
      object != nullptr && !write.planned_from.empty() && object->meta.resourceVersion == write.planned_from;
  return same ? Outcome::noop : Outcome::stored;
}

Outcome outcome_of_error(const Write& write, const ApiError& error) {
  if (error.is_transport()) return error.sent ? Outcome::unknown : Outcome::failed;
  if (write.verb == Write::Verb::create) return error.is_already_exists() ? Outcome::exists : Outcome::failed;
  if (error.code == 409 || error.is_not_found()) return Outcome::conflict;
  // The server gave up waiting for its storage: the write may still happen.
  if (error.code == 500 || error.code == 502 || error.code == 503 || error.code == 504) return Outcome::unknown;
  return Outcome::failed;
}

}  // namespace

Request request_of(const Write& write, std::string_view manager, std::string_view validation, base::Duration timeout) {
  const Resource& resource = *write.target.resource;
  Request request;
  request.timeout = timeout;
  request.body = boost::json::serialize(write.body);
  request.content_type = "application/json";
  switch (write.verb) {
    case Write::Verb::create:
      request.method = "POST";
      request.path = resource.collection_path(write.target.ns);
      break;
    case Write::Verb::patch:
    case Write::Verb::patch_status:
      request.method = "PATCH";
      request.path = resource.object_path(write.target.ns, write.target.name);
      if (write.verb == Write::Verb::patch_status) request.path += "/status";
      request.content_type = "application/merge-patch+json";
      break;
    case Write::Verb::remove:
      request.method = "DELETE";
      request.path = resource.object_path(write.target.ns, write.target.name);
      return request;
  }
  request.query.emplace_back("fieldManager", manager);
  if (!validation.empty()) request.query.emplace_back("fieldValidation", validation);
  return request;
}

Request read_request(const Ref& target, base::Duration timeout) {
  Request request;
  request.path = target.resource->object_path(target.ns, target.name);
  request.timeout = timeout;
  return request;
}

Reply decode_reply(const Kind* kind, Write::Verb verb, const Answer& answer) {
  Reply reply;
  reply.error = error_of(answer);
  if (!answer) return reply;
  reply.status = answer->status;
  if (!is_success(reply.status) || kind == nullptr) return reply;
  auto object = kind->decode(answer->body);
  // A Status has no metadata.name.
  if (object && !(*object)->meta.name.empty()) {
    reply.object = std::move(*object);
  } else {
    reply.unreadable = verb != Write::Verb::remove;
  }
  return reply;
}

Reply decode_read(const Kind& kind, const Answer& answer) { return decode_reply(&kind, Write::Verb::patch, answer); }

Outcome outcome_of(const Write& write, const Reply& reply) {
  if (reply.error) return outcome_of_error(write, *reply.error);
  return outcome_of_success(write, reply);
}

ReadOutcome outcome_of(const Reply& read) {
  if (read.object != nullptr) return ReadOutcome::found;
  // A kind that the server does not serve is "404 page not found" without a reason: that proves nothing about the
  // object.
  if (read.error && read.error->is_not_found() && read.error->reason == "NotFound") return ReadOutcome::absent;
  return ReadOutcome::failed;
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::stored:
      return "stored";
    case Outcome::gone:
      return "gone";
    case Outcome::unclear:
      return "unclear";
    case Outcome::unsent:
      return "unsent";
    case Outcome::conflict:
      return "conflict";
    case Outcome::exists:
      return "exists";
    case Outcome::unknown:
      return "unknown";
    case Outcome::noop:
      return "noop";
    case Outcome::failed:
      return "failed";
  }
  return "";
}

}  // namespace kube
