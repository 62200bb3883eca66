// The guards that every write carries (contract §2), as the builders put them in; and the requests made of them.
#include "kube/plan.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/exchange.h"
#include "support/thing.h"

namespace kube::testing {
namespace {
namespace json = boost::json;
using namespace std::chrono_literals;

const Resource& things() { return Thing::kind().resource; }

// T51: a merge patch replaces lists as a whole, so it must not meet another version than the one it was made from.
TEST(Plan, T51_APatchCarriesTheVersionItWasPlannedFrom) {
  const auto from = thing("a", 17);
  for (const bool status : {false, true}) {
    const json::object body{{"metadata", {{"finalizers", json::array{"f"}}}}, {"spec", {{"value", "x"}}}};
    const Write write = status ? patch_status(things(), *from, body, "step") : patch(things(), *from, body, "step");
    EXPECT_EQ(write.body.at("metadata").at("resourceVersion"), "17");
    EXPECT_EQ(write.body.at("metadata").at("finalizers"), json::array{"f"});
    EXPECT_EQ(write.body.at("spec").at("value"), "x");
    EXPECT_EQ(write.planned_from, "17");
    EXPECT_EQ(write.target, (Ref{&things(), "ns", "a"}));
  }
}

// T54: a patch holds what it was given and nothing else of the object.
TEST(Plan, T54_APatchHoldsNothingButItsFields) {
  const auto from = thing("a", 17, "value of somebody else");
  const Write write = patch(things(), *from, {{"spec", {{"group", "g"}}}}, "step");
  EXPECT_EQ(write.body, (json::object{{"spec", {{"group", "g"}}}, {"metadata", {{"resourceVersion", "17"}}}}));
}

TEST(Plan, ADeletionNamesTheUidAndTheVersionWhereItMatters) {
  const auto from = thing("a", 17);
  const Write any = remove(things(), *from, false, "step");
  EXPECT_EQ(any.body.at("preconditions"), (json::object{{"uid", "uid-a"}}));
  const Write exact = remove(things(), *from, true, "step");
  EXPECT_EQ(exact.body.at("preconditions"), (json::object{{"uid", "uid-a"}, {"resourceVersion", "17"}}));
}

TEST(Plan, ACreationIsACompleteObject) {
  const Write write = create(things(), {{"metadata", {{"namespace", "ns"}, {"name", "new"}}}}, "step");
  EXPECT_EQ(write.body.at("apiVersion"), "tests.example/v1");
  EXPECT_EQ(write.body.at("kind"), "Thing");
  EXPECT_EQ(write.target, (Ref{&things(), "ns", "new"}));
  EXPECT_TRUE(write.planned_from.empty());
}

TEST(PlanDeathTest, WhatCannotBeGuardedIsABug) {
  Thing unknown;
  unknown.meta.ns = "ns";
  unknown.meta.name = "a";
  EXPECT_DEATH(patch(things(), unknown, {}, "step"), "without a version");
  EXPECT_DEATH(remove(things(), unknown, false, "step"), "uid");
  EXPECT_DEATH(create(things(), {{"metadata", {{"namespace", "ns"}}}}, "step"), "name");
  EXPECT_DEATH(create(things(), {{"metadata", {{"name", "a"}}}}, "step"), "namespace");
}

TEST(Plan, TheEarliestRevisitCounts) {
  Plan plan;
  plan.then_look_after(10s);
  plan.then_look_after(3s);
  plan.then_look_after(7s);
  EXPECT_EQ(plan.revisit, 3s);
}

TEST(Exchange, RequestsAreWhatTheServerExpects) {
  const auto from = thing("a b", 17);
  const Request status =
      request_of(patch_status(things(), *from, {{"status", {{"state", "s"}}}}, "s"), "me", "Strict", 5s);
  EXPECT_EQ(status.method, "PATCH");
  EXPECT_EQ(status.path, "/apis/tests.example/v1/namespaces/ns/things/a%20b/status");
  EXPECT_EQ(status.content_type, "application/merge-patch+json");
  EXPECT_EQ(status.timeout, 5s);
  EXPECT_EQ(status.query,
            (std::vector<std::pair<std::string, std::string>>{{"fieldManager", "me"}, {"fieldValidation", "Strict"}}));
  const Request made =
      request_of(create(things(), {{"metadata", {{"namespace", "ns"}, {"name", "n"}}}}, "s"), "me", "", 5s);
  EXPECT_EQ(made.method, "POST");
  EXPECT_EQ(made.path, "/apis/tests.example/v1/namespaces/ns/things");
  const Request gone = request_of(remove(things(), *from, false, "s"), "me", "", 5s);
  EXPECT_EQ(gone.method, "DELETE");
  EXPECT_TRUE(gone.query.empty());
  const Request read = read_request({&things(), "ns", "a"}, 5s);
  EXPECT_EQ(read.method, "GET");
  EXPECT_TRUE(read.query.empty()) << "no resourceVersion: from the quorum";
}

// --- what answers mean ---

Answer answer(int status, json::object body = {}) {
  Response response;
  response.status = status;
  response.body = json::serialize(body);
  return response;
}
json::object stored(std::string_view version, bool deleting = false, bool finalizer = false) {
  json::object metadata{{"namespace", "ns"}, {"name", "a"}, {"uid", "uid-a"}, {"resourceVersion", version}};
  if (deleting) metadata["deletionTimestamp"] = "2025-01-01T00:00:00Z";
  if (finalizer) metadata["finalizers"] = json::array{"f"};
  return {{"metadata", std::move(metadata)}};
}
json::object failure(std::string_view reason) {
  return {{"kind", "Status"}, {"status", "Failure"}, {"reason", reason}};
}
Outcome outcome(const Write& write, const Answer& from) {
  return outcome_of(write, decode_reply(&Thing::kind(), write.verb, from));
}

struct AnswerTest : ::testing::Test {
  std::shared_ptr<Thing> from = thing("a", 17);
  Write spec = patch(things(), *from, {{"spec", {{"value", "x"}}}}, "spec");
  Write release = patch(things(), *from, {{"metadata", {{"finalizers", json::array()}}}}, "release");
  Write deletion = remove(things(), *from, true, "delete");
  Write creation = create(things(), {{"metadata", {{"namespace", "ns"}, {"name", "a"}}}}, "create");
  const json::object success{{"kind", "Status"}, {"status", "Success"}, {"metadata", json::object()}};
};

TEST_F(AnswerTest, OfAPatch) {
  EXPECT_EQ(outcome(spec, answer(200, stored("18"))), Outcome::stored);
  EXPECT_EQ(outcome(spec, answer(200, stored("17"))), Outcome::noop);
  EXPECT_EQ(outcome(spec, answer(200, stored("18", true, true))), Outcome::stored);
  EXPECT_EQ(outcome(release, answer(200, stored("18", true))), Outcome::gone) << "the last finalizer is off";
  EXPECT_EQ(outcome(release, answer(200, stored("18", true, true))), Outcome::stored) << "another one is left";
  EXPECT_EQ(outcome(release, answer(200, stored("18"))), Outcome::stored) << "it is not being deleted";
  EXPECT_EQ(outcome(spec, answer(200, {{"what", "is this"}})), Outcome::unknown);
}

TEST_F(AnswerTest, OfADeletion) {
  EXPECT_EQ(outcome(deletion, answer(200, success)), Outcome::gone);
  EXPECT_EQ(outcome(deletion, answer(200, stored("17"))), Outcome::gone) << "the object as it last was";
  EXPECT_EQ(outcome(deletion, answer(200, stored("18", true, true))), Outcome::stored);
  EXPECT_EQ(outcome(deletion, answer(200, stored("17", true, true))), Outcome::noop);
  EXPECT_EQ(outcome(deletion, answer(202, stored("18", true))), Outcome::unclear);
  EXPECT_EQ(outcome(deletion, answer(404, failure("NotFound"))), Outcome::conflict);
  EXPECT_EQ(outcome(deletion, answer(409, failure("Conflict"))), Outcome::conflict);
}

TEST_F(AnswerTest, OfACreation) {
  EXPECT_EQ(outcome(creation, answer(201, stored("18"))), Outcome::stored);
  EXPECT_EQ(outcome(creation, answer(409, failure("AlreadyExists"))), Outcome::exists);
  EXPECT_EQ(outcome(creation, answer(409, failure("Conflict"))), Outcome::failed);
  EXPECT_EQ(outcome(creation, answer(404, failure("NotFound"))), Outcome::failed) << "its namespace";
  EXPECT_EQ(outcome(creation, answer(403, failure("Forbidden"))), Outcome::failed);
}

TEST_F(AnswerTest, OfTrouble) {
  EXPECT_EQ(outcome(spec, answer(409, failure("Conflict"))), Outcome::conflict);
  EXPECT_EQ(outcome(spec, answer(404, failure("NotFound"))), Outcome::conflict);
  EXPECT_EQ(outcome(spec, answer(422, failure("Invalid"))), Outcome::failed);
  EXPECT_EQ(outcome(spec, answer(429, failure("TooManyRequests"))), Outcome::failed);
  for (const int code : {500, 502, 503, 504}) EXPECT_EQ(outcome(spec, answer(code)), Outcome::unknown) << code;
  EXPECT_EQ(outcome(spec, std::unexpected(TransportError{TransportError::Kind::timeout, "", true})), Outcome::unknown);
  EXPECT_EQ(outcome(spec, std::unexpected(TransportError{TransportError::Kind::connect, "", false})), Outcome::failed);
}

TEST_F(AnswerTest, OfALiveRead) {
  const auto read = [](const Answer& from_server) { return outcome_of(decode_read(Thing::kind(), from_server)); };
  EXPECT_EQ(read(answer(200, stored("18"))), ReadOutcome::found);
  EXPECT_EQ(read(answer(404, failure("NotFound"))), ReadOutcome::absent);
  EXPECT_EQ(read(answer(404)), ReadOutcome::failed) << "a kind that is not served proves nothing";
  EXPECT_EQ(read(answer(403, failure("Forbidden"))), ReadOutcome::failed);
  EXPECT_EQ(read(answer(200, {{"what", "is this"}})), ReadOutcome::failed);
  EXPECT_EQ(read(std::unexpected(TransportError{TransportError::Kind::reset, "", true})), ReadOutcome::failed);
}

}  // namespace
}  // namespace kube::testing
