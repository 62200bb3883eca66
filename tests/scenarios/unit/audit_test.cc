// What the audit log tells, and what counts as a breach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "scenarios/audit.h"

namespace scenarios {
namespace {

std::string line(const std::string& user, const std::string& verb, int code, const std::string& request,
                 const std::string& response, const std::string& resource = "ipaddresses") {
  return R"({"stage":"ResponseComplete","verb":")" + verb + R"(","user":{"username":")" + user +
         R"("},"objectRef":{"resource":")" + resource + R"(","name":"a"},"responseStatus":{"code":)" +
         std::to_string(code) + R"(},"requestObject":)" + request + R"(,"responseObject":)" + response + "}\n";
}

class Audit : public testing::Test {
 protected:
  void SetUp() override { std::remove(path_.c_str()); }
  void add(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  std::string path_ = testing::TempDir() + "audit-" + testing::UnitTest::GetInstance()->current_test_info()->name();
  AuditLog log_{path_};
};

TEST_F(Audit, ReadsWritesAsTheyAreAdded) {
  log_.refresh();
  EXPECT_TRUE(log_.writes().empty());
  const std::string first = line("admin", "create", 201, "{}", R"({"metadata":{"name":"b"}})");
  add(first.substr(0, 40));
  log_.refresh();
  EXPECT_TRUE(log_.writes().empty());
  add(first.substr(40) + line("core", "get", 200, "{}", "{}"));
  log_.refresh();
  ASSERT_EQ(log_.writes().size(), 1U);
  EXPECT_EQ(log_.writes()[0].to_string(), "admin create ipaddresses a -> 201");
  EXPECT_TRUE(log_.take_breaches().empty());
}

TEST_F(Audit, GuardedWritesAreFine) {
  add(line("core", "patch", 200, R"({"metadata":{"resourceVersion":"5"}})", R"({"metadata":{"resourceVersion":"6"}})"));
  add(line("core", "patch", 409, R"({"metadata":{"resourceVersion":"5"}})", "{}"));
  add(line("core", "delete", 200, R"({"preconditions":{"uid":"u"}})", "{}"));
  add(line("core", "patch", 200, "{}", "{}", "leases"));
  add(line("core", "patch", 200, R"({"metadata":{"resourceVersion":"5"}})",
           R"({"metadata":{"resourceVersion":"5","deletionTimestamp":"2026-01-02T03:04:05Z"}})"));
  log_.refresh();
  EXPECT_THAT(log_.take_breaches(), testing::IsEmpty());
  EXPECT_TRUE(log_.writes().back().changed);
  EXPECT_TRUE(log_.writes()[0].changed);
  EXPECT_FALSE(log_.writes()[1].changed);
}

TEST_F(Audit, RemindersOfMetalLbAreKnown) {
  const std::string touch = R"("metallb.drivers.local.sdn.cozystack.io/touched":"1")";
  const auto patch = [&](const std::string& annotations, const std::string& rest) {
    add(line("driver", "patch", 200,
             R"({"metadata":{"resourceVersion":"5","annotations":{)" + annotations + "}}" + rest + "}",
             R"({"metadata":{"resourceVersion":"6"}})", "services"));
    log_.refresh();
    return log_.writes().back().reminder;
  };
  EXPECT_TRUE(patch(touch, ""));
  EXPECT_FALSE(patch(touch + R"(,"metallb.io/loadBalancerIPs":"203.0.113.1")", ""));
  EXPECT_FALSE(patch(touch, R"(,"spec":{"type":"LoadBalancer"})"));
  EXPECT_FALSE(patch(R"("metallb.io/loadBalancerIPs":"203.0.113.1")", ""));
}

TEST_F(Audit, BreachesAreToldOnce) {
  add(line("core", "list", 403, "{}", "{}"));
  add(line("driver", "patch", 200, "{}", R"({"metadata":{"resourceVersion":"6"}})"));
  add(line("driver", "delete", 200, "{}", "{}"));
  add(line("core", "patch", 200, R"({"metadata":{"resourceVersion":"5"}})", R"({"metadata":{"resourceVersion":"5"}})"));
  add(line("admin", "patch", 200, "{}", "{}"));
  log_.refresh();
  EXPECT_THAT(
      log_.take_breaches(),
      testing::ElementsAre(testing::StartsWith("forbidden"), testing::StartsWith("patch without resourceVersion"),
                           testing::StartsWith("deletion without uid"), testing::StartsWith("write without change")));
  EXPECT_THAT(log_.take_breaches(), testing::IsEmpty());
}

TEST_F(Audit, WhatSomethingElseThanRightsForbidsIsNoBreach) {
  std::string refused = line("driver", "create", 403, "{}", "{}", "ipaddresspools");
  add(refused);
  log_.refresh();
  EXPECT_EQ(log_.take_breaches().size(), 1U);
  refused.replace(refused.rfind("}\n"), 1, R"(,"annotations":{"authorization.k8s.io/decision":"allow"}})");
  add(refused);
  log_.refresh();
  EXPECT_TRUE(log_.take_breaches().empty());
}

}  // namespace
}  // namespace scenarios
