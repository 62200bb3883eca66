// A server of one Lease, for the tests of leader election.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <optional>
#include <string>

#include "kube/transport.h"

namespace kube::testing {

// One Lease, with optimistic locking. Shared by several electors.
struct LeaseServer {
  std::optional<boost::json::object> lease;
  int version = 100;
  int gets = 0;
  int puts = 0;
  int posts = 0;

  std::string spec(const char* field) const { return boost::json::serialize(lease->at("spec").at(field)); }
  Response handle(const Request& request) {
    EXPECT_EQ(request.lane, Lane::lease);
    if (request.method == "GET") {
      ++gets;
      return lease ? ok(200) : status(404, "NotFound");
    }
    boost::json::object body = boost::json::parse(request.body).as_object();
    if (request.method == "POST") {
      ++posts;
      EXPECT_EQ(request.path, "/apis/coordination.k8s.io/v1/namespaces/sys/leases");
      if (lease) return status(409, "AlreadyExists");
      return store(std::move(body), 201);
    }
    ++puts;
    if (!lease) return status(404, "NotFound");
    if (body.at("metadata").at("resourceVersion") != lease->at("metadata").at("resourceVersion")) {
      return status(409, "Conflict");
    }
    return store(std::move(body), 200);
  }
  // Somebody else writes.
  void write(const std::string& holder, std::int64_t seconds, const std::string& renewed) {
    boost::json::object body =
        lease ? *lease : boost::json::object{{"metadata", {{"name", "lock"}, {"namespace", "sys"}}}};
    if (!body.contains("spec")) body["spec"].emplace_object();
    body["spec"].as_object()["holderIdentity"] = holder;
    body["spec"].as_object()["leaseDurationSeconds"] = seconds;
    body["spec"].as_object()["renewTime"] = renewed;
    store(std::move(body), 200);
  }

 private:
  Response store(boost::json::object body, int code) {
    body["metadata"].as_object()["uid"] = "lease-uid";
    body["metadata"].as_object()["resourceVersion"] = std::to_string(++version);
    lease = std::move(body);
    return ok(code);
  }
  Response ok(int code) const {
    Response r;
    r.status = code;
    r.body = boost::json::serialize(*lease);
    return r;
  }
  static Response status(int code, const char* reason) {
    Response r;
    r.status = code;
    r.body = boost::json::serialize(boost::json::object{{"kind", "Status"}, {"code", code}, {"reason", reason}});
    return r;
  }
};

}  // namespace kube::testing
