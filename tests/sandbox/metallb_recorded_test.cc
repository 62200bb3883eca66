// What both supported versions of MetalLB made of the Services of metallb/services.txt, against the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/metallb.h"

namespace sandbox {
namespace {

const std::filesystem::path folder = std::filesystem::path(PROJECT_DIR) / "tests/sandbox/metallb";

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(folder / file).rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(folder / file);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

// MetalLB names the sharers of an address in no particular order.
std::string ordered(std::string line) {
  constexpr std::string_view marker = "address also in use by ";
  const std::size_t at = line.find(marker);
  if (at == std::string::npos) return line;
  std::set<std::string> names;
  std::stringstream in(line.substr(at + marker.size()));
  for (std::string name; std::getline(in, name, ',');) names.insert(name);
  line.resize(at + marker.size());
  for (const std::string& name : names) line += name + ",";
  return line;
}

struct Version {
  const char* name;
  MetalLbOptions::Version version;
};
class MetalLbRecorded : public testing::TestWithParam<Version> {};

TEST_P(MetalLbRecorded, TheModelDecidesAsTheRealOne) {
  World world;
  world.server().load_metallb_crds();
  world.create("{apiVersion: v1, kind: Namespace, metadata: {name: metallb-system}}");
  world.create(text_of("pools.yaml"));
  start_metallb(world, {.version = GetParam().version});
  world.run_for(std::chrono::seconds(2));
  for (const std::string& line : lines_of("services.txt")) {
    const auto cells = columns(line);
    ASSERT_EQ(cells.size(), 4U) << line;
    world.create("{apiVersion: v1, kind: Service, metadata: {name: " + cells[0] + ", annotations: {" + cells[1] +
                 "}}, spec: {type: LoadBalancer, ports: [{port: " + cells[3] + "}], " + cells[2] + "}}");
    world.run_for(std::chrono::milliseconds(400));
  }
  world.run_for(std::chrono::seconds(2));

  std::set<std::string> is;
  const auto services = parse_json(world.call("GET", "/api/v1/services").body)->get_object();
  for (const json::value& item : *array_at(services, {"items"})) {
    const json::object& service = item.get_object();
    std::string ips;
    if (const json::array* ingress = array_at(service, {"status", "loadBalancer", "ingress"})) {
      for (const json::value& entry : *ingress)
        ips += (ips.empty() ? "" : ",") + std::string(text_at(entry.as_object(), {"ip"}));
    }
    const std::string_view pool = text_at(service, {"metadata", "annotations", "metallb.io/ip-allocated-from-pool"});
    is.insert("state | " + std::string(text_at(service, {"metadata", "name"})) + " | " + ips + " | " +
              std::string(pool));
  }
  const auto events = parse_json(world.call("GET", "/api/v1/namespaces/default/events").body)->get_object();
  for (const json::value& item : *array_at(events, {"items"})) {
    const json::object& event = item.get_object();
    std::string line = "event";
    for (const auto& cell : {text_at(event, {"involvedObject", "name"}), text_at(event, {"type"}),
                             text_at(event, {"reason"}), text_at(event, {"message"})}) {
      line += " | " + std::string(cell);
    }
    is.insert(ordered(line));
  }
  std::set<std::string> wanted;
  for (const std::string& line : lines_of(std::string("recorded-") + GetParam().name + ".txt"))
    wanted.insert(ordered(line));
  ASSERT_GT(wanted.size(), 60U);
  for (const std::string& line : wanted) EXPECT_TRUE(is.contains(line)) << "only the real one: " << line;
  for (const std::string& line : is) EXPECT_TRUE(wanted.contains(line)) << "only the model: " << line;
}

INSTANTIATE_TEST_SUITE_P(Versions, MetalLbRecorded,
                         testing::Values(Version{"0.15", MetalLbOptions::Version::v0_15},
                                         Version{"0.16", MetalLbOptions::Version::v0_16}));

}  // namespace
}  // namespace sandbox
