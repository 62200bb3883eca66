// Recorded conversations with a real API server, played against the sandbox: the answers must be equal, except for what
// belongs to the deployment (uids, versions, times, allocated addresses and ports). `record` makes and renews the
// files.
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "sandbox/json.h"
#include "sandbox/request.h"
#include "sandbox/world.h"

namespace sandbox {
namespace {

struct Exchange {
  int line = 0;
  std::string request;
  std::string answer;  // "200 {…}"
  std::vector<std::string> events;
  std::string keep;
  std::string note;
};

std::vector<Exchange> read(const std::filesystem::path& file) {
  std::vector<Exchange> exchanges;
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("> ")) {
      exchanges.push_back({});
      exchanges.back().line = number;
      exchanges.back().request = line.substr(2);
    }
    if (exchanges.empty()) continue;
    if (line.starts_with("< ")) exchanges.back().answer = line.substr(2);
    if (line.starts_with("<+ ")) exchanges.back().events.push_back(line.substr(3));
    if (line.starts_with("= ")) exchanges.back().keep = line.substr(2);
    if (line.starts_with("!")) exchanges.back().note = line.substr(1);
  }
  return exchanges;
}

std::string generalised(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>> rules = {
      {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"},
      {std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"), "TIME"},
      {std::regex(R"(^(\d+[smhdy])+$)"), "AGE"},
      {std::regex(R"(\b10\.96\.\d+\.\d+)"), "IP4"},
      {std::regex(R"(\bfd00:96::[0-9a-f]*)"), "IP6"},
      {std::regex(R"(ResourceVersion in record \(\d+\))"), "ResourceVersion in record (RV)"},
      {std::regex(R"(current: \d+)"), "current: RV"},
      {std::regex(R"(patch: Invalid value: "\{.*\}": )"), "patch: Invalid value: DOCUMENT: "},
      {std::regex(R"(^Invalid value: "\{\\"apiVersion.*\}": )"), "Invalid value: DOCUMENT: "},
      {std::regex("\\bgen-[a-z0-9]{5}\\b"), "gen-XXXXX"}};
  for (const auto& [pattern, replacement] : rules) text = std::regex_replace(text, pattern, replacement);
  return text;
}

void generalise(json::value& value, std::string_view name = {}) {
  if (json::object* object = value.if_object()) {
    if (name == "columnDefinitions") object->erase("description");  // in our own words
    for (json::key_value_pair& member : *object) generalise(member.value(), member.key());
    // the real server validates metadata of some kinds more than once and repeats the causes
    if (json::value* causes = object->if_contains("causes"); causes != nullptr && causes->is_array()) {
      json::array unique;
      for (const json::value& cause : causes->get_array()) {
        if (std::ranges::none_of(unique, [&](const json::value& other) { return same(cause, other); }))
          unique.push_back(cause);
      }
      *causes = std::move(unique);
    }
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array) generalise(item, name);
  } else if (name == "resourceVersion" || name == "continue") {
    if (!value.is_string() || !value.get_string().empty()) value = std::string(name);
  } else if ((name == "nodePort" || name == "healthCheckNodePort") && value.is_int64() && value.get_int64() >= 30000) {
    value = "PORT";
  } else if (value.is_string()) {
    value = json::string(generalised(std::string(view(value.get_string()))));
  }
}

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return json::string(text.substr(0, text.find_last_not_of('\n') + 1));
  generalise(*value);
  return std::move(*value);
}

class Collector final : public WatchSink {
 public:
  void event(std::shared_ptr<const std::string> line) override { events.push_back(line->substr(0, line->size() - 1)); }
  void ended() override { over = true; }
  std::vector<std::string> events;
  bool over = false;
};

class Replay {
 public:
  explicit Replay(bool managed_fields)
      : world_({.server = {.managed_fields = managed_fields}, .cluster_controllers = false}) {
    world_.server().load_crds(std::filesystem::path(PROJECT_DIR) / "crds");
  }

  void play(const Exchange& exchange) {
    std::string text = exchange.request;
    for (const auto& [name, value] : known_) {
      for (std::size_t at = text.find("${" + name + "}"); at != std::string::npos; at = text.find("${" + name + "}")) {
        text.replace(at, name.size() + 3, value);
      }
    }
    static const std::regex form(R"(([A-Z]+)(\+\w+)? (\S+)(?: (application/\S+|text/\S+))?(?: (.*))?)");
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(text, parts, form)) << text;
    const std::string code = exchange.answer.substr(0, exchange.answer.find(' '));
    const std::string body =
        exchange.answer.size() > code.size() ? exchange.answer.substr(code.size() + 1) : std::string();
    const bool watched = parts[1] == "WATCH";
    const std::string type = parts[4].matched || parts[1] != "PATCH" ? parts[4].str() : "application/merge-patch+json";
    const kube::Request request = make_request(watched ? "GET" : parts[1].str(), parts[3].str(), parts[5].str(), type);
    const std::string accept = accept_of(parts[2].str());
    const Caller caller{.user = "admin", .accept = accept, .user_agent = "Python-urllib/3.11"};
    if (watched) return watch(request, caller, exchange, code, body);
    const kube::Response response = world_.server().handle(request, caller);
    world_.run_for(std::chrono::milliseconds(20));
    remember(response.body, exchange.keep);
    if (!exchange.note.empty()) return;
    EXPECT_EQ(std::to_string(response.status), code);
    compare(parsed(response.body), parsed(body));
  }

 private:
  static std::string accept_of(std::string_view form) {
    if (form == "+table") return "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    if (form == "+partial") return "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
    if (form == "+partials") return "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
    return "application/json";
  }
  static void compare(const json::value& is, const json::value& wanted) {
    if (!same(is, wanted)) ADD_FAILURE() << "real:    " << to_text(wanted) << "\nsandbox: " << to_text(is);
  }

  void watch(const kube::Request& request, const Caller& caller, const Exchange& exchange, const std::string& code,
             const std::string& body) {
    Collector collector;
    const auto id = world_.server().watch(request, caller, collector);
    if (!exchange.note.empty()) return;
    if (!id) {
      EXPECT_EQ(std::to_string(id.error().status), code);
      return compare(parsed(id.error().body), parsed(body));
    }
    world_.server().unwatch(*id);
    EXPECT_EQ(code, "200");
    json::array is;
    json::array wanted;
    for (const std::string& event : collector.events) is.push_back(parsed(event));
    for (const std::string& event : exchange.events) wanted.push_back(parsed(event));
    compare(is, wanted);
  }

  void remember(std::string_view body, const std::string& keep) {
    const auto answer = parse_json(body);
    if (answer && answer->is_object()) {
      for (const auto& [name, field] :
           {std::pair("rv", "resourceVersion"), std::pair("uid", "uid"), std::pair("continue", "continue")}) {
        const std::string_view value = text_at(answer->get_object(), {"metadata", field});
        if (!value.empty()) known_[name] = value;
      }
    }
    if (!keep.empty()) known_[keep] = known_["rv"];
  }

  World world_;  // the recording was made without kube-controller-manager
  std::map<std::string, std::string> known_;
};

class Conversation : public testing::TestWithParam<std::string> {};

TEST_P(Conversation, GoesAsWithTheRealServer) {
  Replay replay(GetParam().starts_with("apply"));
  const auto file = std::filesystem::path(PROJECT_DIR) / "tests/sandbox/conversations" / (GetParam() + ".txt");
  const std::vector<Exchange> exchanges = read(file);
  ASSERT_FALSE(exchanges.empty());
  for (const Exchange& exchange : exchanges) {
    SCOPED_TRACE(file.filename().string() + ":" + std::to_string(exchange.line) + ": " + exchange.request);
    ASSERT_FALSE(exchange.answer.empty()) << "not recorded";
    replay.play(exchange);
  }
}

std::vector<std::string> conversations() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(PROJECT_DIR) / "tests/sandbox/conversations")) {
    names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Conversation, testing::ValuesIn(conversations()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace sandbox
