// The watch, stepped by hand. Numbers in names are those of the scenarios in docs/kubernetes-client-scenarios.md.
#include "kube/watch_machine.h"

#include <gtest/gtest.h>

#include <set>

#include "kube/watch_fixture.h"

namespace kube::watch_test {
namespace {

using namespace std::chrono_literals;

// Watching after a paged list at version 10 that holds a=3 and b=7.
Harness watching() {
  Harness h(Harness::pages());
  h.list_page({widget("a", 3), widget("b", 7)}, 10);
  h.open();
  h.pass(5s);
  return h;
}

TEST(WatchMachine, StreamsTheFirstListAndGoesOnWithTheSameStream) {
  Harness h;
  EXPECT_TRUE(h.streaming());
  EXPECT_EQ(h.watch_param("resourceVersion"), "");
  EXPECT_EQ(h.watch_param("resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(h.watch_param("allowWatchBookmarks"), "true");
  h.open();
  h.events({added(widget("b", 7)), added(widget("a", 3))});
  EXPECT_EQ(h.replaces, 0) << "a part of a list is no list";
  h.events({bookmark(10, true), modified(widget("a", 11))});
  EXPECT_EQ(h.replaces, 1);
  EXPECT_EQ(h.held(), "a=11 b=7");
  EXPECT_EQ(h.watches, 1);
  EXPECT_EQ(h.lists, 0);
  h.pass(1min);
  h.end();
  EXPECT_FALSE(h.streaming());
  EXPECT_EQ(h.watch_param("resourceVersion"), "11");
}

TEST(WatchMachine, ChangesDuringTheInitialEventsAreFoldedIn) {
  Harness h;
  h.open();
  h.events({added(widget("a", 3)), added(widget("b", 7)), deleted(widget("a", 8)), added(widget("c", 9)),
            modified(widget("c", 10)), added(widget("a", 11, "other"))});
  h.events({bookmark(11, true)});
  EXPECT_EQ(h.held(), "a=11 b=7 c=10");
}

TEST(WatchMachine, AnEmptyCollectionIsSyncedToo) {
  Harness h;
  h.open();
  h.events({bookmark(4, true)});
  EXPECT_TRUE(h.machine.synced());
  EXPECT_EQ(h.replaces, 1);
}

TEST(WatchMachine, TimeoutSecondsAreSpreadOverFiveToTenMinutes) {
  std::set<int> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const int lifetime = std::stoi(Harness({}, seed).watch_param("timeoutSeconds"));
    EXPECT_GE(lifetime, 300);
    EXPECT_LE(lifetime, 600);
    seen.insert(lifetime / 60);
  }
  EXPECT_GE(seen.size(), 5U);
}

TEST(WatchMachine, AWatchThatOutlivesItsTimeIsReplaced) {
  Harness h = watching();
  const int lifetime = std::stoi(h.watch_param("timeoutSeconds"));
  EXPECT_EQ(*h.timer, std::chrono::seconds(lifetime + 10));
  h.fire();
  EXPECT_EQ(h.restarts("overdue"), 1);
  EXPECT_EQ(h.watch_param("resourceVersion"), "10");
}

TEST(WatchMachine, T01_T02_AStalledWatchGoesOnFromTheLastVersionWithoutAList) {
  Harness h = watching();
  h.events({modified(widget("a", 12))});
  h.pass(75s);
  h.end(lost(TransportError::Kind::timeout));
  EXPECT_EQ(h.watch_param("resourceVersion"), "12");
  EXPECT_EQ(h.restarts("stalled"), 1);
  EXPECT_EQ(h.lists, 1);
}

TEST(WatchMachine, SilenceTwiceWhereBookmarksUsedToComeIsLookedInto) {
  Harness h = watching();
  h.events({bookmark(20)});
  h.pass(75s);
  h.end(lost(TransportError::Kind::timeout));  // had an event
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(h.relists("stalled"), 0);
    h.open();
    h.pass(75s);
    h.end(lost(TransportError::Kind::timeout));
  }
  EXPECT_EQ(h.relists("stalled"), 1);
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "20");
}

TEST(WatchMachine, SilenceOfAServerWithoutBookmarksIsNoReasonForLists) {
  Harness h = watching();
  for (int i = 0; i < 20; ++i) {
    h.pass(75s);
    h.end(lost(TransportError::Kind::timeout));
    h.open();
  }
  EXPECT_EQ(h.lists, 1);
}

TEST(WatchMachine, T06_AWatchWhoseHeadersNeverComeBacksOffAndIsTriedAgain) {
  Harness h = watching();
  h.end();
  EXPECT_EQ(h.watch->header_timeout, 30s);
  h.pass(30s);
  h.refuse(lost(TransportError::Kind::timeout));
  EXPECT_FALSE(h.watch);
  h.fire();
  EXPECT_EQ(h.watch_param("resourceVersion"), "10");
  EXPECT_EQ(h.lists, 1);
}

TEST(WatchMachine, T17_AListOlderThanWhatIsKnownIsNotBelieved) {
  Harness h = watching();
  h.events({error_event(status(410, "Expired"))});
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "-") << "the most recent state, whatever its version";
  h.list_page({widget("a", 2)}, 5);  // a lagging server
  EXPECT_EQ(h.held(), "a=3 b=7");
  EXPECT_EQ(h.relists("older_than_known"), 1);
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "-");
  h.list_page({widget("a", 11)}, 12);
  EXPECT_EQ(h.held(), "a=11");
}

TEST(WatchMachine, AServerRestoredFromABackupIsBelievedTheSecondTime) {
  Harness h = watching();
  h.events({error_event(status(410, "Expired"))});
  h.fire();
  h.list_page({widget("a", 2)}, 5);
  h.fire();
  h.list_page({widget("a", 2)}, 6);
  EXPECT_EQ(h.held(), "a=2");
  EXPECT_EQ(h.machine.version(), "6");
  EXPECT_EQ(h.watch_param("resourceVersion"), "6");
}

TEST(WatchMachine, ABookmarkFromThePastMeansThatTheServerWasReset) {
  Harness h = watching();
  h.events({modified(widget("a", 11)), bookmark(4)});
  EXPECT_EQ(h.held(), "a=11 b=7");
  EXPECT_EQ(h.relists("version_regressed"), 1);
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "-");
}

TEST(WatchMachine, T18_TooLargeVersionsLeadToOneListOfTheMostRecentStateInBothDialects) {
  ApiError caused = status(504, "Timeout", "timed out");
  caused.causes.push_back({"ResourceVersionTooLarge", "", "Too large resource version"});
  for (const ApiError& dialect : {caused, status(504, "Timeout", "Too large resource version: 10, current: 5")}) {
    // Relisting after a failure that named the version.
    Harness h = watching();
    h.events({error_event(status(400, "BadRequest"))});
    h.fire();
    EXPECT_EQ(h.list_param("resourceVersion"), "10");
    h.list_fails(dialect);
    EXPECT_LE(*h.timer, 4s);
    h.fire();
    EXPECT_EQ(h.list_param("resourceVersion"), "-");
    EXPECT_EQ(h.relists("too_large_resource_version"), 1);
    h.list_page({widget("a", 20)}, 20);
    EXPECT_EQ(h.held(), "a=20");
    // At the start of a watch.
    h.refuse(dialect);
    h.fire();
    EXPECT_EQ(h.list_param("resourceVersion"), "-");
  }
}

TEST(WatchMachine, T18_TheRuleIsForgottenAfterThatList) {
  Harness h = watching();
  h.refuse(status(504, "Timeout", "Too large resource version: 10, current: 5"));
  h.fire();
  h.list_page({}, 30);
  h.open();
  h.events({error_event(status(400, "BadRequest"))});
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "30");
}

TEST(WatchMachine, T19_BackoffDoublesFromEightHundredMillisecondsToThirtySecondsWithJitter) {
  Harness h(Harness::pages(), 7);
  base::Duration floor = 800ms;
  for (int i = 0; i < 9; ++i) {
    h.list_fails(lost(TransportError::Kind::connect));
    EXPECT_GE(*h.timer, floor);
    EXPECT_LT(*h.timer, 2 * floor);
    floor = std::min<base::Duration>(2 * floor, 30s);
    h.fire();
  }
  h.pass(2min + 1s);  // without a failure
  h.list_fails(lost());
  EXPECT_LT(*h.timer, 1600ms);
}

TEST(WatchMachine, T19_AVeryShortWatchIsAFailure) {
  Harness h = watching();
  h.end();  // lived 5 s: at once
  h.open();
  h.pass(200ms);
  h.end();
  EXPECT_FALSE(h.watch);
  EXPECT_GE(*h.timer, 800ms);
  h.fire();
  EXPECT_EQ(h.watch_param("resourceVersion"), "10");
}

TEST(WatchMachine, T19_AShortWatchThatBroughtSomethingIsNot) {
  Harness h = watching();
  h.end();
  h.open();
  h.pass(200ms);
  h.events({modified(widget("a", 11))});
  h.end();
  EXPECT_EQ(h.watch_param("resourceVersion"), "11");
}

TEST(WatchMachine, T20_T23_ExpiryInsideAStreamIsASilentRelist) {
  for (const char* reason : {"Expired", "Gone"}) {
    Harness h = watching();
    h.events({modified(widget("b", 12)), error_event(status(410, reason, "too old resource version"))});
    EXPECT_EQ(h.held(), "a=3 b=12") << "what came before the error counts";
    EXPECT_EQ(h.relists("expired"), 1);
    EXPECT_FALSE(h.watch);
    EXPECT_TRUE(h.reports.back().quiet);
    h.fire();
    EXPECT_EQ(h.list_param("resourceVersion"), "-");
    h.list_page({widget("b", 12)}, 15);
    EXPECT_EQ(h.held(), "b=12");
  }
}

TEST(WatchMachine, T20_ExpiryAtTheStartOfAWatch) {
  Harness h = watching();
  h.end();
  h.refuse(status(410, "Expired"));
  EXPECT_EQ(h.relists("expired"), 1);
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "-");
}

// Each restart costs some refused connections and, since a server remembers no version from before, one list.
TEST(WatchMachine, AServerThatIsRestartedAgainAndAgainIsFollowedWithinSeconds) {
  Harness h = watching();
  int version = 10;
  for (int restart = 0; restart < 8; ++restart) {
    SCOPED_TRACE(restart);
    h.pass(20s);
    h.end(lost());
    base::Duration refused{};
    while (refused < 10s) {
      h.refuse(lost());
      refused += *h.timer;
      h.fire();
    }
    EXPECT_LT(refused, 45s) << "no longer than a first outage of this length";
    h.refuse(status(410, "Expired"));
    EXPECT_LT(*h.timer, 2s);
    h.fire();
    version += 10;
    h.list_page({widget("a", 3)}, version);
    h.open();
  }
  // Without a watch that works in between the pauses grow all the same.
  base::Duration longest{};
  for (int i = 0; i < 8; ++i) {
    h.refuse(status(410, "Expired"));
    longest = std::max(longest, *h.timer);
    h.fire();
    h.list_page({widget("a", 3)}, version);
  }
  EXPECT_GT(longest, 20s);
}

TEST(WatchMachine, T21_ARefusedWatchIsAnErrorOfTheServerAndNoEvent) {
  Harness h = watching();
  h.end();
  h.refuse(status(403, "Forbidden", "widgets is forbidden"));
  EXPECT_EQ(h.reports.back().error.code, 403);
  EXPECT_FALSE(h.reports.back().quiet);
  h.fire();
  EXPECT_EQ(h.watch_param("resourceVersion"), "10");
  EXPECT_EQ(h.lists, 1);
}

TEST(WatchMachine, T22_ErrorsInsideAStreamByTheirKind) {
  Harness busy = watching();
  busy.events({error_event(status(429, "TooManyRequests"))});
  busy.fire();
  EXPECT_EQ(busy.watch_param("resourceVersion"), "10");

  Harness internal = watching();
  for (int i = 0; i < 4; ++i) {
    internal.events({error_event(status(500, "InternalError"))});
    internal.fire();
    EXPECT_EQ(internal.watch_param("resourceVersion"), "10");
    internal.open();
  }
  internal.events({error_event(status(500, "InternalError"))});
  EXPECT_EQ(internal.relists("watch_error"), 1) << "not for ever";

  Harness other = watching();
  other.events({error_event(status(400, "BadRequest"))});
  EXPECT_EQ(other.relists("watch_error"), 1);
}

TEST(WatchMachine, T22_GarbageEndsTheWatchAndIsNotRetriedForEver) {
  Harness h = watching();
  for (int i = 0; i < 2; ++i) {
    h.garbage();
    EXPECT_FALSE(h.watch);
    EXPECT_GE(*h.timer, 800ms);
    h.fire();
    EXPECT_EQ(h.watch_param("resourceVersion"), "10");
    h.open();
  }
  h.garbage();
  EXPECT_EQ(h.relists("unreadable"), 1);
  h.fire();
  EXPECT_TRUE(h.list);
}

TEST(WatchMachine, T24_WithoutTheEndOfInitialEventsPagesAreUsedAndRemembered) {
  for (const bool plain_bookmarks : {false, true}) {
    Harness h;
    h.open();
    EXPECT_EQ(*h.timer, 30s);
    h.pass(20s);
    h.events({added(widget("a", 3))});
    EXPECT_EQ(*h.timer, 30s) << "additions are progress";
    if (plain_bookmarks) {
      h.timer = 10s;
      h.events({bookmark(9), modified(widget("a", 8))});
      EXPECT_EQ(*h.timer, 10s) << "bookmarks without the annotation and changes are not";
    }
    h.fire();
    EXPECT_EQ(h.fallbacks(), 1);
    EXPECT_FALSE(h.watch);
    EXPECT_EQ(h.list_param("limit"), "500");
    h.list_page({widget("a", 3)}, 10);
    EXPECT_TRUE(h.machine.synced());
    // Remembered: the next list begins with pages.
    h.open();
    h.events({error_event(status(410, "Expired"))});
    h.fire();
    EXPECT_TRUE(h.list);
    h.list_page({}, 20);
    // But not for ever.
    h.open();
    h.pass(1h);
    h.events({error_event(status(410, "Expired"))});
    h.fire();
    EXPECT_TRUE(h.streaming());
  }
}

TEST(WatchMachine, T25_AServerThatRefusesInitialEventsIsListedAtOnce) {
  for (const int code : {400, 422}) {
    Harness h;
    h.refuse(status(code, "Invalid", "sendInitialEvents is forbidden"));
    EXPECT_EQ(h.list_param("limit"), "500");
    EXPECT_EQ(h.fallbacks(), 1);
    h.list_page({}, 5);
    EXPECT_EQ(h.watch_param("resourceVersion"), "5");
    EXPECT_FALSE(h.streaming());
  }
}

TEST(WatchMachine, T26_AStreamingListThatBreaksOffBeginsAnewFromNothing) {
  Harness h;
  h.open();
  h.events({added(widget("z", 900)), added(widget("a", 3))});
  h.end(lost());
  h.fire();
  EXPECT_TRUE(h.streaming());
  EXPECT_EQ(h.watch_param("resourceVersion"), "") << "synthetic events prove no version";
  h.open();
  h.events({added(widget("a", 3)), added(widget("b", 7)), bookmark(901, true)});
  EXPECT_EQ(h.held(), "a=3 b=7") << "nothing is left of the first attempt";
}

TEST(WatchMachine, T26_BrokenOffTwiceItIsPagedOnce) {
  Harness h;
  for (int i = 0; i < 2; ++i) {
    h.open();
    h.events({added(widget("a", 3))});
    h.end();
    h.fire();
  }
  EXPECT_EQ(h.list_param("limit"), "500");
  EXPECT_EQ(h.fallbacks(), 0) << "an accident, nothing to remember";
}

TEST(WatchMachine, T27_NoGhostsAfterAReplayOfCreations) {
  Harness h;
  h.open();
  h.events({added(widget("ghost", 3)), added(widget("a", 5))});
  h.end(lost());
  h.fire();
  h.open();
  h.events({added(widget("a", 5)), bookmark(9, true)});
  EXPECT_EQ(h.held(), "a=5");
}

TEST(WatchMachine, T28_AVersionIsNeverSentTogetherWithAContinueToken) {
  Harness h = watching();
  h.events({error_event(status(400, "BadRequest"))});
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "10");
  h.list_page({widget("a", 3)}, 20, "token");  // a server that pages on its own accord
  EXPECT_EQ(h.list_param("continue"), "token");
  EXPECT_EQ(h.list_param("resourceVersion"), "-");
  EXPECT_EQ(h.list_param("resourceVersionMatch"), "-");
}

TEST(WatchMachine, T29_AnExpiredContinueTokenLeadsToOneListInOnePiece) {
  Harness h(Harness::pages());
  h.list_page({widget("a", 1)}, 10, "t1");
  h.list_page({widget("b", 2)}, 10, "t2");
  h.list_fails(status(410, "Expired"));
  EXPECT_EQ(h.list_param("limit"), "-");
  EXPECT_EQ(h.list_param("continue"), "-");
  EXPECT_EQ(h.list_param("resourceVersion"), "-");
  EXPECT_EQ(h.relists("continue_expired"), 1);
  h.list_page({widget("b", 2), widget("c", 3)}, 12);
  EXPECT_EQ(h.held(), "b=2 c=3");
  EXPECT_EQ(h.replaces, 1);
}

TEST(WatchMachine, T30_AllPagesBecomeOneList) {
  Harness h(Harness::pages());
  EXPECT_EQ(h.list_param("limit"), "500");
  const std::size_t sizes[] = {500, 500, 200};
  int made = 0;
  for (std::size_t page = 0; page < 3; ++page) {
    std::vector<ObjectPtr> objects;
    for (std::size_t i = 0; i < sizes[page]; ++i) objects.push_back(widget("w" + std::to_string(made++), 1));
    EXPECT_EQ(h.replaces, 0);
    h.list_page(std::move(objects), 10, page < 2 ? "t" + std::to_string(page) : "");
  }
  EXPECT_EQ(h.replaces, 1);
  EXPECT_EQ(h.store.size(), 1200U);
}

TEST(WatchMachine, T30_AFailedPageIsAskedForAgainNotTheWholeList) {
  Harness h(Harness::pages());
  h.list_page({widget("a", 1)}, 10, "t1");
  h.list_fails(status(503, "ServiceUnavailable"));
  EXPECT_EQ(h.replaces, 0);
  h.fire();
  EXPECT_EQ(h.list_param("continue"), "t1");
  h.list_page({widget("b", 2)}, 10);
  EXPECT_EQ(h.held(), "a=1 b=2");
}

TEST(WatchMachine, T31_RelistsNameTheirVersionAndHaveNoLimit) {
  Harness h = watching();
  h.events({error_event(status(400, "BadRequest"))});
  h.fire();
  EXPECT_EQ(h.list_param("resourceVersion"), "10");
  EXPECT_EQ(h.list_param("resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(h.list_param("limit"), "-");
}

TEST(WatchMachine, T31_AServerThatComesBackSeesWatchesAndNoLists) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Harness h(Harness::pages(), seed);
    h.list_page({}, 10);
    h.open();
    h.pass(30s);
    h.end(lost());
    for (int i = 0; i < 5; ++i) {
      h.refuse(lost(TransportError::Kind::connect));
      h.fire();
    }
    h.open();
    EXPECT_EQ(h.lists, 1);
  }
}

TEST(WatchMachineDeathTest, T32_AWatchWithoutAVersionCannotBe) {
  Harness h(Harness::pages());
  EXPECT_DEATH(h.machine.listed(h.now, ListPage{}), "needs a version");
}

TEST(WatchMachine, T33_AnObjectThatCameAndWentAroundARelistIsGone) {
  Harness h = watching();
  h.events({added(widget("x", 11))});
  h.pass(1s);
  h.end(status(410, "Expired"));
  h.fire();
  h.list_page({widget("a", 3), widget("b", 7)}, 14);
  EXPECT_EQ(h.held(), "a=3 b=7");
}

TEST(WatchMachine, RetryAfterIsObeyed) {
  Harness h = watching();
  ApiError busy = status(429, "TooManyRequests");
  busy.retry_after = 25s;
  h.end();
  h.refuse(busy);
  EXPECT_EQ(*h.timer, 25s);
}

TEST(WatchMachine, AMissingKindIsLookedForQuietlyAndFound) {
  WatchPolicy policy = Harness::pages();
  policy.optional = true;
  Harness h(policy);
  for (int i = 0; i < 3; ++i) {
    h.list_fails(status(404, "", "404 page not found"));
    EXPECT_TRUE(h.reports.back().quiet);
    EXPECT_EQ(h.availability, std::vector<bool>{false});
    EXPECT_GE(*h.timer, 10s);
    EXPECT_LT(*h.timer, 14s);
    h.fire();
  }
  h.list_page({widget("a", 3)}, 10);
  EXPECT_EQ(h.availability, (std::vector<bool>{false, true}));
  EXPECT_EQ(h.held(), "a=3");
}

// Its right is in a Role that may be missing: told once, and nobody waits for it.
TEST(WatchMachine, AKindThatMayBeForbiddenIsMissingWhileItIs) {
  for (const bool streaming : {false, true}) {
    WatchPolicy policy = streaming ? WatchPolicy{} : Harness::pages();
    policy.optional = true;
    policy.right = ReadRight::optional;
    Harness h(policy);
    for (int i = 0; i < 3; ++i) {
      streaming ? h.refuse(status(403, "Forbidden")) : h.list_fails(status(403, "Forbidden"));
      EXPECT_EQ(h.reports.back().quiet, i != 0);
      EXPECT_EQ(h.availability, std::vector<bool>{false});
      h.fire();
    }
  }
  WatchPolicy policy = Harness::pages();
  policy.optional = true;
  Harness h(policy);
  h.list_fails(status(403, "Forbidden"));
  EXPECT_EQ(h.availability, std::vector<bool>{}) << "any other kind is waited for";
}

TEST(WatchMachine, ARightThatIsTakenLaterMakesItMissingUntilItIsBack) {
  WatchPolicy policy;
  policy.optional = true;
  policy.right = ReadRight::optional;
  Harness h(policy);
  h.open();
  h.events({added(widget("a", 3)), bookmark(10, true)});
  h.pass(1min);
  h.end();
  h.refuse(status(403, "Forbidden"));
  EXPECT_EQ(h.availability, std::vector<bool>{false});
  h.fire();
  h.open();
  h.events({added(widget("a", 3)), bookmark(12, true)});
  EXPECT_EQ(h.availability, (std::vector<bool>{false, true}));
}

// A Role goes with its namespace: what else the process does must not wait until it is there again. One answer alone is
// no proof, and what has been read once is kept as it is.
TEST(WatchMachine, AKindWhoseRightsMayBeMissingIsGivenUpAfterThreeRefusals) {
  WatchPolicy policy = Harness::pages();
  policy.optional = true;
  policy.right = ReadRight::late;
  Harness h(policy);
  for (int i = 0; i < 2; ++i) {
    h.list_fails(status(403, "Forbidden"));
    EXPECT_TRUE(h.availability.empty());
    h.fire();
  }
  h.list_fails(status(403, "Forbidden"));
  EXPECT_EQ(h.availability, std::vector<bool>{false});
  EXPECT_FALSE(h.reports.back().quiet) << "rights that are missing are told";
  h.fire();
  h.list_page({widget("a", 3)}, 10);
  EXPECT_EQ(h.availability, (std::vector<bool>{false, true}));
  EXPECT_EQ(h.held(), "a=3");
}

TEST(WatchMachine, AnOptionalKindThatMustBeReadableIsNotGivenUpWhenItIsNot) {
  WatchPolicy policy = Harness::pages();
  policy.optional = true;  // as with --drain, which must not end without having looked
  Harness h(policy);
  for (int i = 0; i < 10; ++i) {
    h.list_fails(status(403, "Forbidden"));
    h.fire();
  }
  EXPECT_TRUE(h.availability.empty());
}

TEST(WatchMachine, AKindThatVanishesIsReportedOnceAndComesBack) {
  Harness h;
  h.open();
  h.events({added(widget("a", 3)), bookmark(10, true)});
  h.pass(1min);
  h.events({deleted(widget("a", 11))});
  h.end();
  for (int i = 0; i < 2; ++i) {
    h.refuse(status(404, "NotFound"));
    EXPECT_TRUE(h.availability.empty()) << "one answer is no proof";
    h.fire();
    EXPECT_TRUE(h.streaming());
  }
  h.refuse(status(404, "NotFound"));
  EXPECT_EQ(h.availability, std::vector<bool>{false});
  EXPECT_FALSE(h.reports.back().quiet) << "it is a required kind";
  h.fire();
  EXPECT_TRUE(h.streaming());
  h.refuse(status(404, "NotFound"));
  EXPECT_TRUE(h.reports.back().quiet) << "no news";
  h.fire();
  h.open();
  h.events({added(widget("n", 30)), bookmark(31, true)});
  EXPECT_EQ(h.availability, (std::vector<bool>{false, true}));
  EXPECT_EQ(h.held(), "n=30");
  EXPECT_EQ(h.fallbacks(), 0);
}

// What stands before the server finds nothing for a moment, while it rolls.
TEST(WatchMachine, WhatIsNotAnApiServersAnswerSaysNothingAboutAKind) {
  Harness h;
  h.open();
  h.events({added(widget("a", 3)), bookmark(10, true)});
  h.pass(1min);
  h.end();
  ApiError error;
  error.code = 404;
  error.message = "default backend - 404";
  for (int i = 0; i < 10; ++i) {
    h.refuse(error);
    h.fire();
  }
  EXPECT_TRUE(h.availability.empty());
  EXPECT_TRUE(h.streaming());
  EXPECT_EQ(h.fallbacks(), 0);
}

TEST(WatchMachine, OnlyRefusalsInARowMakeAKindMissing) {
  WatchPolicy policy = Harness::pages();
  policy.optional = true;
  policy.right = ReadRight::late;
  Harness h(policy);
  for (int i = 0; i < 6; ++i) {
    h.list_fails(i % 2 == 0 ? status(403, "Forbidden") : status(500, "InternalError"));
    h.fire();
  }
  EXPECT_TRUE(h.availability.empty());
}

}  // namespace
}  // namespace kube::watch_test
