#include "kube/registry.h"

#include <gtest/gtest.h>

#include "kube/watch_fixture.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

struct RegistryTest : ::testing::Test {
  RegistryTest() {
    controller.name = "c";
    controller.reconcilers = {{"claim", {}, 0}, {"match", {}, 1}};
    controller.metrics = {{"ipam_binds_total", "binds", MetricSpec::Type::counter, {}},
                          {"ipam_gap_seconds", "gaps", MetricSpec::Type::histogram, {0.5, 1}}};
    registry = std::make_unique<Registry>(controller, 64, [this] { return now; });
  }
  // The value of one series, as text; "-" if there is none.
  std::string value(const std::string& series) const {
    const std::string text = "\n" + registry->expose();
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "-";
    const std::size_t from = at + series.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
  }

  Controller controller;
  base::MonoTime now{std::chrono::hours(5)};
  std::unique_ptr<Registry> registry;
};

TEST_F(RegistryTest, SeriesExistFromTheStart) {
  for (const char* name : {"claim", "match"}) {
    const std::string label = std::string("{controller=\"") + name + "\"";
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
      EXPECT_EQ(value("controller_runtime_reconcile_total" + label + ",result=\"" + result + "\"}"), "0");
    }
    EXPECT_EQ(value("controller_runtime_reconcile_errors_total" + label + "}"), "0");
    EXPECT_EQ(value("controller_runtime_terminal_reconcile_errors_total" + label + "}"), "0");
    EXPECT_EQ(value("controller_runtime_reconcile_panics_total" + label + "}"), "0");
    EXPECT_EQ(value("controller_runtime_max_concurrent_reconciles" + label + "}"), "64");
    EXPECT_EQ(value("controller_runtime_reconcile_time_seconds_count" + label + "}"), "0");
    EXPECT_EQ(value("workqueue_adds_total" + label + ",name=\"" + name + "\"}"), "0");
    EXPECT_EQ(value("workqueue_depth" + label + ",name=\"" + name + "\",priority=\"0\"}"), "0");
  }
}

TEST_F(RegistryTest, ObjectsAreCountedByTheirLabels) {
  CountSpec spec{"things", "how many", {"class", "phase"}, {}};
  controller.watches.emplace_back();
  controller.watches.back().counts = {spec};
  registry = std::make_unique<Registry>(controller, 64, [this] { return now; });
  registry->refresh(Count{spec, {{{"a", "Bound"}, 3}, {{"b", "Lost"}, 1}}});
  EXPECT_EQ(value("things{class=\"a\",phase=\"Bound\"}"), "3");
  registry->refresh(Count{spec, {{{"a", "Bound"}, 0}, {{"b", "Lost"}, 2}}});
  EXPECT_EQ(value("things{class=\"a\",phase=\"Bound\"}"), "0");
  EXPECT_EQ(value("things{class=\"b\",phase=\"Lost\"}"), "2");
}

TEST_F(RegistryTest, WhatTheLoopTellsIsCounted) {
  registry->reconciled("claim", MetricsSink::Result::error, 30ms);
  registry->reconciled("claim", MetricsSink::Result::success, 3ms);
  registry->queue_added("claim");
  registry->queue_depth("claim", MetricsSink::QueueLane::background, 7);
  registry->queue_waited("claim", 20us);
  registry->queue_retried("claim");
  registry->answered("claim", "bind", 409, 4ms);
  registry->noop_write("claim", "bind");
  registry->panicked("claim");
  registry->event_sent();
  registry->event_dropped();
  EXPECT_EQ(value(R"(controller_runtime_reconcile_total{controller="claim",result="error"})"), "1");
  EXPECT_EQ(value(R"(controller_runtime_reconcile_errors_total{controller="claim"})"), "1");
  EXPECT_EQ(value(R"(controller_runtime_reconcile_time_seconds_bucket{controller="claim",le="0.005"})"), "1");
  EXPECT_EQ(value(R"(controller_runtime_reconcile_time_seconds_bucket{controller="claim",le="0.05"})"), "2");
  EXPECT_EQ(value(R"(workqueue_adds_total{controller="claim",name="claim"})"), "1");
  EXPECT_EQ(value(R"(workqueue_depth{controller="claim",name="claim",priority="-100"})"), "7");
  EXPECT_EQ(value(R"(workqueue_retries_total{controller="claim",name="claim"})"), "1");
  EXPECT_EQ(value(R"(workqueue_work_duration_seconds_count{controller="claim",name="claim"})"), "2");
  EXPECT_EQ(value(R"(controller_requests_total{code="409",controller="claim",step="bind"})"), "1");
  EXPECT_EQ(value(R"(controller_runtime_reconcile_panics_total{controller="claim"})"), "1");
  EXPECT_EQ(value(R"(controller_noop_writes_total{controller="claim",step="bind"})"), "1");
  EXPECT_EQ(value(R"(controller_events_total{result="dropped"})"), "1");
}

TEST_F(RegistryTest, UnfinishedWorkAges) {
  registry->active_workers("claim", 1);
  now += 2s;
  registry->active_workers("claim", 2);
  now += 1s;
  registry->refresh_queues();
  EXPECT_EQ(value(R"(workqueue_unfinished_work_seconds{controller="claim",name="claim"})"), "4");
  EXPECT_EQ(value(R"(workqueue_longest_running_processor_seconds{controller="claim",name="claim"})"), "3");
  registry->active_workers("claim", 0);
  registry->refresh_queues();
  EXPECT_EQ(value(R"(workqueue_unfinished_work_seconds{controller="claim",name="claim"})"), "0");
}

TEST_F(RegistryTest, TheControllersOwnMetrics) {
  registry->observe({"ipam_binds_total", 1, {{"class", "x"}}});
  registry->observe({"ipam_binds_total", 2, {{"class", "x"}}});
  registry->observe({"ipam_gap_seconds", 0.7, {}});
  EXPECT_EQ(value(R"(ipam_binds_total{class="x"})"), "3");
  EXPECT_EQ(value(R"(ipam_gap_seconds_bucket{le="0.5"})"), "0");
  EXPECT_EQ(value(R"(ipam_gap_seconds_bucket{le="1"})"), "1");
}

TEST_F(RegistryTest, RequestsAsClientGoCountsThem) {
  const auto observer = registry->request_observer();
  RequestReport report;
  report.method = "PATCH";
  report.host = "h:1";
  report.code = 200;
  report.duration = 3ms;
  observer->done(report);
  report.code = 0;
  observer->done(report);
  observer->retried("GET", "h:1", 429);
  observer->exec_call(1, "plugin_execution_error");
  observer->reloaded("ca", "unchanged");
  EXPECT_EQ(value(R"(rest_client_requests_total{code="200",host="h:1",method="PATCH"})"), "1");
  EXPECT_EQ(value(R"(rest_client_requests_total{code="<error>",host="h:1",method="PATCH"})"), "1");
  EXPECT_EQ(value(R"(rest_client_request_duration_seconds_bucket{host="h:1",verb="PATCH",le="0.005"})"), "2");
  EXPECT_EQ(value(R"(rest_client_request_retries_total{code="429",host="h:1",verb="GET"})"), "1");
  EXPECT_EQ(value(R"(rest_client_exec_plugin_call_total{call_status="plugin_execution_error",code="1"})"), "1");
  EXPECT_EQ(value(R"(rest_client_transport_ca_reload_total{result="unchanged"})"), "1");
}

TEST_F(RegistryTest, InformersAndTheLease) {
  const Resource& widgets = watch_test::widget_kind().resource;
  ReflectorStatus status;
  status.synced = true;
  status.version = "123";
  status.last_event = now - 42s;
  registry->refresh(widgets, status, 17);
  registry->watch_counted(widgets, WatchMachine::Counter::relist, "expired");
  registry->leading("lock", true);
  registry->lease_slow_path("lock");
  const std::string labels = R"({group="example.com",resource="widgets",version="v1"})";
  EXPECT_EQ(value("informer_objects" + labels), "17");
  EXPECT_EQ(value("informer_last_event_age_seconds" + labels), "42");
  EXPECT_EQ(value("informer_store_resource_version" + labels), "123");
  EXPECT_EQ(value(R"(informer_relists_total{group="example.com",reason="expired",resource="widgets",version="v1"})"),
            "1");
  EXPECT_EQ(value(R"(leader_election_master_status{name="lock"})"), "1");
  EXPECT_EQ(value(R"(leader_election_slowpath_total{name="lock"})"), "1");
}

TEST_F(RegistryTest, TheProcessItself) {
  EXPECT_GT(std::stod(value("process_resident_memory_bytes")), 1e6);
  EXPECT_GT(std::stod(value("process_open_fds")), 2);
  EXPECT_GE(std::stod(value("process_threads")), 1);
  EXPECT_GT(std::stod(value("process_start_time_seconds")), 1.6e9);
}

}  // namespace
}  // namespace kube
