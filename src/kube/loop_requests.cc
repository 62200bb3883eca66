// Requests and answers: what is busy, what may be sent, and how an answer becomes part of the state.
#include "base/log.h"
#include "kube/check.h"
#include "kube/loop_impl.h"

namespace kube {
namespace {
constexpr base::Duration k_lease_poll = std::chrono::milliseconds(250);
}  // namespace

bool Loop::Impl::busy(const Ref& target) {
  if (Store* store = state.store_of(*target.resource)) {
    const Slot* slot = store->find(target.ns, target.name);
    return slot != nullptr && slot->busy();
  }
  return foreign_writes.contains(target.to_string());
}

void Loop::Impl::begin_write(const Ref& target) {
  check(!busy(target), "two writes on one object at once");
  if (Store* store = state.store_of(*target.resource)) return store->begin_write(target.ns, target.name);
  ++foreign_writes[target.to_string()];
}

void Loop::Impl::end_write(const Ref& target) {
  if (Store* store = state.store_of(*target.resource)) {
    store->end_write(target.ns, target.name);
  } else {
    foreign_writes.erase(target.to_string());
  }
  if (parked.empty()) return;
  const auto it = parked.find(target.to_string());
  if (it == parked.end()) return;
  const std::vector<KeyId> waiting = std::move(it->second);
  parked.erase(it);
  for (const KeyId id : waiting) {
    if (state.keys().known(id)) wake(id, State::Cause::fresh);
  }
}

bool Loop::Impl::lease_outlives(base::Duration timeout) const {
  if (!lease_until) return true;
  const base::MonoTime until = lease_until();
  return until == base::MonoTime::max() || until - reactor.now() > timeout;
}

// Leading, but the lease is about to end unless it is renewed.
void Loop::Impl::wait_for_lease() {
  if (lease_timer != base::TimerId::none) return;
  lease_timer = reactor.at(reactor.now() + k_lease_poll, later([](Impl& self) {
                             self.lease_timer = base::TimerId::none;
                             self.pump();
                             self.schedule();
                           }));
}

// Sends what may be sent: reads always, writes while the lease holds.
void Loop::Impl::pump() {
  while (requests < options.max_requests) {
    bool write = !writes_to_send.empty() && leading && whole();
    if (write && !lease_outlives(options.write_timeout)) {
      wait_for_lease();
      write = false;
    }
    if (reads_to_send.empty() && !write) return;
    auto& queued = reads_to_send.empty() ? writes_to_send : reads_to_send;
    const KeyId id = queued.front();
    queued.pop_front();
    Activation& activation = *key_state(id).activation;
    transmit(id, activation.sent++);
    if (activation.sent < activation.exchanges.size()) queued.push_back(id);
  }
}

void Loop::Impl::transmit(KeyId id, std::size_t index) {
  Exchange& exchange = key_state(id).activation->exchanges[index];
  Store* store = state.store_of(*exchange.target.resource);
  const Kind* kind = store == nullptr ? nullptr : &store->kind();
  exchange.sent = reactor.now();
  ++requests;
  Request request;
  std::optional<Write::Verb> verb;
  if (exchange.write) {
    ++counts.writes;
    request = request_of(*exchange.write, controller.name, options.field_validation, options.write_timeout);
    verb = exchange.write->verb;
  } else {
    ++counts.reads;
    request = read_request(exchange.target, options.read_timeout);
  }
  transport.send(std::move(request), [weak = weak_from_this(), id, index, kind, verb](Answer answer) -> base::Task {
    return [weak, id, index, reply = verb ? decode_reply(kind, *verb, answer) : decode_read(*kind, answer)]() mutable {
      if (const auto self = weak.lock()) self->answered(id, index, std::move(reply));
    };
  });
}

void Loop::Impl::answered(KeyId id, std::size_t index, Reply reply) {
  KeyState& key = key_state(id);
  check(key.phase == Phase::running && key.activation != nullptr, "an answer to a key that asked nothing");
  Exchange& exchange = key.activation->exchanges[index];
  --requests;
  const std::string_view step = exchange.write ? std::string_view(exchange.write->step) : "confirm";
  metrics.answered(name_of(key), step, reply.status, reactor.now() - exchange.sent);
  merging = id;
  if (exchange.write) {
    merge_write(exchange, std::move(reply));
    if (exchange.outcome == Outcome::stored || exchange.outcome == Outcome::gone) ++counts.stored;
    if (exchange.outcome == Outcome::noop) {
      ++counts.noop_writes;
      metrics.noop_write(name_of(key), exchange.write->step);
    }
  } else {
    merge_read(exchange, std::move(reply));
  }
  close_exchange(id, exchange);
  pump();
}

// The write is over, one way or the other.
void Loop::Impl::close_exchange(KeyId id, Exchange& exchange) {
  check(!exchange.answered, "a request is answered twice");
  exchange.answered = true;
  merging = id;
  if (exchange.write) end_write(exchange.target);
  merging.reset();
  Activation& activation = *key_state(id).activation;
  if (--activation.open == 0) finish(id);
}

void Loop::Impl::merge_write(Exchange& exchange, Reply reply) {
  const Write& write = *exchange.write;
  exchange.outcome = outcome_of(write, reply);
  exchange.error = std::move(reply.error);
  Store* store = state.store_of(*write.target.resource);
  if (store == nullptr) return;
  switch (exchange.outcome) {
    case Outcome::stored:
    case Outcome::noop:
      if (reply.object != nullptr) store->apply(std::move(reply.object));
      break;
    case Outcome::gone: {
      std::string uid = reply.object == nullptr ? std::string() : reply.object->meta.uid;
      if (uid.empty()) {
        const boost::json::value* preconditions = write.body.if_contains("preconditions");
        if (preconditions != nullptr) uid = preconditions->at("uid").as_string();
      }
      store->entomb(write.target.ns, write.target.name, uid);
      break;
    }
    default:
      break;
  }
}

void Loop::Impl::merge_read(Exchange& exchange, Reply reply) {
  exchange.read = outcome_of(reply);
  exchange.error = std::move(reply.error);
  Store& store = *state.store_of(*exchange.target.resource);
  if (exchange.read == ReadOutcome::found) store.apply(std::move(reply.object));
  if (exchange.read == ReadOutcome::absent) store.entomb(exchange.target.ns, exchange.target.name, exchange.uid);
}

// Leadership has ended, a needed kind is not served, or the loop is drained: writes that nobody has seen yet never
// happen.
void Loop::Impl::give_up_unsent() {
  for (const KeyId id : std::exchange(writes_to_send, {})) {
    Activation& activation = *key_state(id).activation;  // ends with its last exchange
    const std::size_t n = activation.exchanges.size();
    for (std::size_t i = std::exchange(activation.sent, n); i < n; ++i) {
      Exchange& exchange = activation.exchanges[i];
      exchange.outcome = Outcome::unsent;
      ++counts.held_back;
      close_exchange(id, exchange);
    }
  }
}

}  // namespace kube
