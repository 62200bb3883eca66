// --data: what was answered is there after whatever happens to the process, its file and its disk.
#include <signal.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "cmd/sandbox_fixture.h"

namespace cmd_test {
namespace {

TEST_F(AddressSandbox, KilledAtAnyMomentItHasAllThatWasAnswered) {
  std::mt19937 random(7);
  int answered = 0;  // objects m00000 to m<answered - 1> exist for sure
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(start_alone({"--data=" + data().string()})) << log();
    const auto admin = client();
    const auto list = admin->send(request("GET", std::string(k_maps)));
    ASSERT_TRUE(list);
    int there = 0;
    while (list->body.find(fmt::format("\"m{:05}\"", there)) != std::string::npos) ++there;
    ASSERT_GE(there, answered) << "round " << round;
    ASSERT_LE(there, answered + 1) << "round " << round;
    answered = there;
    std::thread killer([this, after = milliseconds(20 + random() % 300)] {
      std::this_thread::sleep_for(after);
      ::kill(child_->pid(), SIGKILL);
    });
    while (true) {
      const auto answer = admin->send(request("POST", std::string(k_maps), config_map(answered)));
      if (!answer || answer->status != 201) break;
      ++answered;
    }
    killer.join();
  }
  EXPECT_GT(answered, 8);
}

TEST_F(AddressSandbox, GoesOnWhereItEnded) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  client()->send(request("POST", std::string(k_maps), config_map(1)));
  const std::string path = std::string(k_maps) + "/m00001";  // lists have another version: definitions are renewed
  const std::string before = client()->send(request("GET", path))->body;
  EXPECT_THAT(before, HasSubstr("resourceVersion"));
  ASSERT_TRUE(child_->end(seconds(20)));
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  EXPECT_EQ(client()->send(request("GET", path))->body, before);
}

TEST_F(AddressSandbox, LeavesADamagedFileAsItIs) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  ASSERT_TRUE(child_->end(seconds(20)));
  std::string damaged = text_of(data());
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(data(), std::ios::binary) << damaged;
  EXPECT_EQ(ending_of({"--data=" + data().string()}), "exited with 1");
  EXPECT_THAT(log(), HasSubstr(data().string() + " is left as it is: it is damaged"));
  EXPECT_EQ(text_of(data()), damaged);
}

// What is known of one object: its last value that was answered, and what may have been done to it since.
struct Known {
  std::optional<std::string> answered = {};                  // nullopt: it is not there
  std::optional<std::optional<std::string>> asked_for = {};  // by a request without an answer
};

// Values are so large that the file is written anew again and again while the process is killed.
TEST_F(AddressSandbox, KilledAtAnyMomentNothingThatWasAnsweredIsLostWhateverWasDone) {
  std::mt19937 random(11);
  std::map<std::string, Known> objects;
  for (int i = 0; i < 8; ++i) objects[fmt::format("o{}", i)];
  int answers = 0;
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(start_alone({"--data=" + data().string()})) << log();
    const auto admin = client();
    for (auto& [name, known] : objects) {
      const auto answer = admin->send(request("GET", std::string(k_maps) + "/" + name));
      ASSERT_TRUE(answer);
      const auto is = [&](const std::optional<std::string>& value) {
        return value ? answer->status == 200 && answer->body.find("\"v\":\"" + *value + "\"") != std::string::npos
                     : answer->status == 404;
      };
      const bool done = known.asked_for && is(*known.asked_for);
      EXPECT_TRUE(done || is(known.answered)) << "round " << round << ": " << name << " answered " << answer->status;
      if (done) known.answered = *known.asked_for;
      known.asked_for.reset();
    }
    std::thread killer([this, after = milliseconds(50 + random() % 700)] {
      std::this_thread::sleep_for(after);
      ::kill(child_->pid(), SIGKILL);
    });
    while (true) {
      auto& [name, known] = *std::next(objects.begin(), static_cast<std::ptrdiff_t>(random() % objects.size()));
      const bool removes = known.answered && random() % 4 == 0;
      std::optional<std::string> value;
      if (!removes) value = std::string(200'000, static_cast<char>('a' + random() % 26)) + std::to_string(random());
      const std::string path = std::string(k_maps) + (known.answered ? "/" + name : "");
      known.asked_for = value;
      const auto answer = admin->send(
          removes ? request("DELETE", path)
                  : request(known.answered ? "PUT" : "POST", path,
                            fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})", name, *value)));
      if (!answer || answer->status >= 300) break;
      known = {.answered = std::move(value), .asked_for = {}};
      ++answers;
    }
    killer.join();
  }
  EXPECT_GT(answers, 10);
}

TEST_F(AddressSandbox, RefusesFilesThatAreNotWholeAndLeavesThem) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  ASSERT_TRUE(child_->end(seconds(20)));
  const std::string whole = text_of(data());
  std::string garbled = whole;
  for (std::size_t at = 100; at < garbled.size(); at += 997) garbled[at] = '#';
  std::string other_version = whole;
  other_version.replace(0, other_version.find('\n'), "address-sandbox data 2");
  const std::map<std::string, std::string> wrong = {
      {whole.substr(0, 500), "it is damaged: the snapshot is cut short"},
      {whole.substr(0, 10), "it is damaged: it is not a data file of address-sandbox"},
      {garbled, "it is damaged: a checksum is wrong at byte"},
      {other_version, "it is damaged: it is of another version of address-sandbox: \"address-sandbox data 2\""},
      {std::string(5000, 'x'), "it is damaged: it is not a data file of address-sandbox"},
      {whole + std::string(5000, 'x'), "it is damaged: a checksum is wrong at byte"},
  };
  for (const auto& [text, why] : wrong) {
    std::ofstream(data(), std::ios::binary) << text;
    EXPECT_EQ(ending_of({"--data=" + data().string()}), "exited with 1") << why;
    EXPECT_THAT(log(), HasSubstr(data().string() + " is left as it is: " + why));
    EXPECT_EQ(text_of(data()), text) << why;
  }
}

TEST_F(AddressSandbox, RefusesPlacesWhereNoFileCanBe) {
  const std::vector<std::string> places = {"/dev/full", "/proc/address-sandbox-state", folder_.string(),
                                           (folder_ / "missing" / "state").string()};
  for (const std::string& place : places) {
    EXPECT_EQ(ending_of({"--data=" + place}), "exited with 1") << place;
    EXPECT_THAT(log(), HasSubstr(place));
  }
}

TEST_F(AddressSandbox, OneFileOneSandbox) {
  ASSERT_TRUE(start_alone({"--data=" + data().string()}));
  ASSERT_EQ(client()->send(request("POST", std::string(k_maps), config_map(1)))->status, 201);
  const auto other =
      Child::start({ADDRESS_SANDBOX, "--dir=" + (folder_ / "other").string(), "--data=" + data().string()},
                   (folder_ / "log").string());
  ASSERT_TRUE(other);
  EXPECT_TRUE(eventually([&] { return !(*other)->running(); }));
  EXPECT_EQ((*other)->ending(), "exited with 1");
  EXPECT_THAT(log(), HasSubstr(data().string() + " is in use by another sandbox"));
  EXPECT_EQ(client()->send(request("POST", std::string(k_maps), config_map(2)))->status, 201);
}

// As on a full disk: the system takes no more bytes of this file.
TEST_F(AddressSandbox, EndsWithoutAnsweringWhenTheDiskTakesNoMore) {
  const auto limited =
      Child::start({"/bin/bash", "-c", "ulimit -f 600; exec \"$@\"", "bash", ADDRESS_SANDBOX, "--dir=" + dir().string(),
                    "--data=" + data().string(), "--no-controllers", "--without=metallb"},
                   (folder_ / "log").string());
  ASSERT_TRUE(limited);
  ASSERT_TRUE(eventually([this] { return fs::exists(dir() / "metallb.kubeconfig"); })) << log();
  const auto admin = client();
  int answered = 0;
  for (; answered < 1000; ++answered) {
    const auto answer = admin->send(request(
        "POST", std::string(k_maps),
        fmt::format(R"({{"metadata":{{"name":"m{:05}"}},"data":{{"v":"{}"}}}})", answered, std::string(20'000, 'x'))));
    if (!answer || answer->status != 201) break;
  }
  EXPECT_GT(answered, 0);
  EXPECT_LT(answered, 1000);
  EXPECT_TRUE(eventually([&] { return !(*limited)->running(); }));
  EXPECT_EQ((*limited)->ending(), "exited with 1");
  EXPECT_THAT(log(), HasSubstr("The state can no longer be kept"));
  ASSERT_TRUE(start_alone({"--data=" + data().string()})) << log();
  const auto list = client()->send(request("GET", std::string(k_maps)));
  for (int i = 0; i < answered; ++i) EXPECT_THAT(list->body, HasSubstr(fmt::format("\"m{:05}\"", i)));
}

}  // namespace
}  // namespace cmd_test
