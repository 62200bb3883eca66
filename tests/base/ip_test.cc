#include "base/ip.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "base/random.h"

namespace base {
namespace {

IpAddress ip(std::string_view text) {
  const auto a = IpAddress::parse(text);
  EXPECT_TRUE(a.has_value()) << text;
  return a.value_or(IpAddress());
}
IpRange range(std::string_view first, std::string_view last) { return {ip(first), ip(last)}; }
IpPrefix prefix(std::string_view text) {
  const auto p = IpPrefix::parse(text);
  EXPECT_TRUE(p.has_value()) << text;
  return p.value_or(IpPrefix());
}
std::vector<std::string> texts(const IpRangeSet& set) {
  std::vector<std::string> out;
  for (const IpPrefix& p : set.prefixes()) out.push_back(p.to_string());
  return out;
}

TEST(IpAddress, CanonicalTextIsWhatGoPrints) {
  const std::pair<const char*, const char*> table[] = {
      {"203.0.113.7", "203.0.113.7"},
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"2001:DB8::7", "2001:db8::7"},
      {"2001:0db8:0000:0000:0000:0000:0000:0007", "2001:db8::7"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // one zero group is not shortened
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // the longest run
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // the first of equal runs
      {"0:0:0:0:0:0:a00:5", "::a00:5"},
      {"::10.0.0.5", "::a00:5"},  // glibc prints ::10.0.0.5
      {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
      {"::ffff:192.0.2.1", "192.0.2.1"},  // IPv4-mapped is the IPv4 address
      {"::ffff:c000:201", "192.0.2.1"},
      {"0:0:0:0:0:FFFF:c000:0201", "192.0.2.1"},
      {"::ffff:0:0:1", "::ffff:0:0:1"},  // not mapped: another group
      {"fe80::1", "fe80::1"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
  };
  for (const auto& [text, canonical] : table) EXPECT_EQ(ip(text).to_string(), canonical) << text;
}

TEST(IpAddress, RefusesWhatGoRefuses) {
  for (const char* text : {"",
                           " ",
                           "1",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.",
                           ".1.2.3",
                           "1..2.3",
                           "256.1.1.1",
                           "1.2.3.256",
                           "01.2.3.4",
                           "1.2.3.04",
                           "1.2.3.00",
                           "1.2.3.1000",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "1.2.3.4/32",
                           "1.2.3.-4",
                           "0x1.2.3.4",
                           "a.b.c.d",
                           ":",
                           ":::",
                           "1:",
                           ":1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8:",
                           "1::2::3",
                           "1:::2",
                           "12345::",
                           "g::",
                           "::1%eth0",
                           "fe80::1%1",
                           "::/0",
                           "1:2:3:4:5:6:7::8",
                           "::1:2:3:4:5:6:7:8",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "::1.2.3",
                           "::1.2.3.256",
                           "::01.2.3.4",
                           "1.2.3.4::",
                           "1.2.3.4:5::",
                           "::1.2.3.4:5",
                           "[::1]",
                           "::ffff:1.2.3.4.5",
                           "example.org"})
    EXPECT_FALSE(IpAddress::parse(text).has_value()) << text;
  EXPECT_EQ(IpAddress::parse("nonsense").error().message, "\"nonsense\" is not an IP address");
}

// The C library is an independent reader: what it takes without oddities, we read as the same bytes.
TEST(IpAddress, ReadsRandomTextsAsTheCLibraryDoes) {
  Random random(7);
  const std::string_view alphabet = "0123456789abcdfF::::..";
  int valid = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (auto n = 1 + random.below(14); n > 0; --n) text += alphabet[random.below(alphabet.size())];
    in6_addr six{};
    in_addr four{};
    const bool is_six = inet_pton(AF_INET6, text.c_str(), &six) == 1;
    const bool is_four = inet_pton(AF_INET, text.c_str(), &four) == 1;
    const auto ours = IpAddress::parse(text);
    // glibc also takes leading zeros in the dotted quad; Go does not.
    if (ours) {
      ++valid;
      ASSERT_TRUE(is_six || is_four) << text;
      if (is_four) {
        ASSERT_EQ(*ours, IpAddress::v4(ntohl(four.s_addr))) << text;
      } else {
        std::array<std::uint8_t, 16> bytes{};
        std::copy(std::begin(six.s6_addr), std::end(six.s6_addr), bytes.begin());
        ASSERT_EQ(*ours, IpAddress::v6(bytes)) << text;
      }
    } else if (text.find('.') == std::string::npos) {
      ASSERT_FALSE(is_six || is_four) << text;
    }
  }
  EXPECT_GT(valid, 1000);
}

TEST(IpAddress, EveryValueSurvivesItsText) {
  Random random(11);
  for (int round = 0; round < 50'000; ++round) {
    std::array<std::uint8_t, 16> bytes{};
    // Many zero groups, so that runs of all lengths occur.
    for (std::size_t group = 0; group < 8; ++group) {
      if (random.below(2) == 0) continue;
      bytes[2 * group] = static_cast<std::uint8_t>(random.below(3) == 0 ? random.next() : 0);
      bytes[2 * group + 1] = static_cast<std::uint8_t>(random.next());
    }
    const IpAddress a = IpAddress::v6(bytes);
    ASSERT_EQ(ip(a.to_string()), a);
    const IpAddress b = IpAddress::v4(static_cast<std::uint32_t>(random.next()));
    ASSERT_EQ(ip(b.to_string()), b);
  }
}

TEST(IpAddress, StepsAndEnds) {
  EXPECT_EQ(ip("10.0.0.255").next(), ip("10.0.1.0"));
  EXPECT_EQ(ip("10.0.1.0").previous(), ip("10.0.0.255"));
  EXPECT_EQ(ip("255.255.255.255").next(), std::nullopt);
  EXPECT_EQ(ip("0.0.0.0").previous(), std::nullopt);
  EXPECT_EQ(ip("::").previous(), std::nullopt);
  EXPECT_EQ(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").next(), std::nullopt);
  EXPECT_EQ(ip("2001:db8::ffff:ffff:ffff:ffff").next(), ip("2001:db8:0:1::"));
  // The mapped block is no part of IPv6.
  EXPECT_EQ(ip("::fffe:ffff:ffff").next(), ip("::1:0:0:0"));
  EXPECT_EQ(ip("::1:0:0:0").previous(), ip("::fffe:ffff:ffff"));
}

TEST(IpAddress, Kinds) {
  for (const char* text : {"0.0.0.0", "::", "127.0.0.1", "127.255.255.255", "::1", "224.0.0.1", "239.255.255.255",
                           "ff02::1", "255.255.255.255", "::ffff:127.0.0.1"})
    EXPECT_FALSE(ip(text).is_claimable()) << text;
  for (const char* text :
       {"0.0.0.1", "10.0.0.0", "10.0.0.255", "192.168.1.1", "169.254.0.1", "fd00::", "fe80::1", "::2", "240.0.0.1",
        "255.255.255.254", "126.255.255.255", "128.0.0.0", "223.255.255.255", "::127.0.0.1"})
    EXPECT_TRUE(ip(text).is_claimable()) << text;
}

TEST(IpAddress, OrderIsNumericWithinAFamily) {
  EXPECT_LT(ip("9.0.0.0"), ip("10.0.0.0"));
  EXPECT_LT(ip("255.255.255.255"), ip("::"));
  EXPECT_LT(ip("2001:db8::9"), ip("2001:db8::10"));
}

TEST(IpPrefix, ParsesAndExplains) {
  EXPECT_EQ(prefix("203.0.113.0/29").range(), range("203.0.113.0", "203.0.113.7"));
  EXPECT_EQ(prefix("203.0.113.6/31").range(), range("203.0.113.6", "203.0.113.7"));
  EXPECT_EQ(prefix("203.0.113.7/32").range(), range("203.0.113.7", "203.0.113.7"));
  EXPECT_EQ(prefix("2001:db8::/126").range(), range("2001:db8::", "2001:db8::3"));
  EXPECT_EQ(prefix("2001:db8::2/127").range(), range("2001:db8::2", "2001:db8::3"));
  EXPECT_EQ(prefix("2001:db8::2/128").range(), range("2001:db8::2", "2001:db8::2"));
  EXPECT_EQ(prefix("0.0.0.0/0").range(), range("0.0.0.0", "255.255.255.255"));
  EXPECT_EQ(prefix("::/0").range(), range("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
  EXPECT_EQ(prefix("::fffe:0:0/95").range(), range("::fffe:0:0", "::fffe:ffff:ffff"));
  EXPECT_EQ(prefix("2001:DB8::/32").to_string(), "2001:db8::/32");
  EXPECT_EQ(IpPrefix::parse("203.0.113.9/29").error().message,
            "\"203.0.113.9/29\" has host bits set: 203.0.113.8/29 was probably meant");
  EXPECT_EQ(IpPrefix::parse("203.0.113.9/29", true)->to_string(), "203.0.113.8/29");
  for (const char* text :
       {"", "/", "203.0.113.0", "203.0.113.0/", "203.0.113.0/33", "203.0.113.0/-1", "203.0.113.0/+8", "203.0.113.0/08",
        "203.0.113.0/8 ", "203.0.113.0/255.0.0.0", "::/129", "::/1000", "x/8", "::ffff:10.0.0.0/104", "10.0.0.0/8/8"})
    EXPECT_FALSE(IpPrefix::parse(text).has_value()) << text;
}

TEST(IpRangeSet, ShortPrefixesAreNotEmpty) {
  for (const auto& [text, count] :
       std::map<std::string, std::int64_t>{{"10.0.0.0/30", 4}, {"10.0.0.0/31", 2}, {"10.0.0.1/32", 1}}) {
    IpRangeSet set;
    set.add(prefix(text).range());
    EXPECT_EQ(set.count(Family::v4).value, count) << text;
    EXPECT_EQ(set.count(Family::v6).value, 0) << text;
    EXPECT_THAT(texts(set), testing::ElementsAre(text));
  }
  for (const auto& [text, count] : std::map<std::string, std::int64_t>{
           {"fd00::/126", 4}, {"fd00::/127", 2}, {"fd00::1/128", 1}, {"fd00::/66", std::int64_t{1} << 62}}) {
    IpRangeSet set;
    set.add(prefix(text).range());
    EXPECT_EQ(set.count(Family::v6).value, count) << text;
    EXPECT_FALSE(set.count(Family::v6).saturated) << text;
    EXPECT_THAT(texts(set), testing::ElementsAre(text));
  }
}

TEST(IpRangeSet, HugeCountsSaturateAndSaySo) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const char* text : {"::/0", "2000::/3", "fd00::/64", "fd00::/65"}) {
    IpRangeSet set;
    set.add(prefix(text).range());
    EXPECT_EQ(set.count(Family::v6).value, most) << text;
    EXPECT_TRUE(set.count(Family::v6).saturated) << text;
  }
  IpRangeSet exactly;  // 2^63 - 1 addresses: the largest count that is still exact
  exactly.add(range("fd00::1", "fd00::7fff:ffff:ffff:ffff"));
  EXPECT_EQ(exactly.count(Family::v6).value, most);
  EXPECT_FALSE(exactly.count(Family::v6).saturated);
  exactly.add(range("fd00::", "fd00::"));
  EXPECT_TRUE(exactly.count(Family::v6).saturated);
  IpRangeSet sum;  // saturates as a sum too
  sum.add(prefix("fd00::/66").range());
  sum.add(prefix("fd01::/66").range());
  EXPECT_TRUE(sum.count(Family::v6).saturated);
  IpRangeSet all;
  all.add(prefix("0.0.0.0/0").range());
  EXPECT_EQ(all.count(Family::v4).value, std::int64_t{1} << 32);
}

TEST(IpRangeSet, RangesAroundTheMappedBlock) {
  IpRangeSet set;
  set.add(range("::fffe:ffff:ffff", "::1:0:0:0"));
  EXPECT_EQ(set.count(Family::v6).value, 2);
  EXPECT_THAT(texts(set), testing::ElementsAre("::fffe:ffff:ffff/128", "::1:0:0:0/128"));
  set.remove(range("::1:0:0:0", "::1:0:0:0"));
  EXPECT_THAT(texts(set), testing::ElementsAre("::fffe:ffff:ffff/128"));
}

TEST(IpRangeSet, WholeSpaces) {
  IpRangeSet set;
  set.add(prefix("::/0").range());
  set.add(prefix("0.0.0.0/0").range());
  EXPECT_THAT(texts(set), testing::ElementsAre("0.0.0.0/0", "::/0"));
  EXPECT_TRUE(set.contains(ip("::")));
  EXPECT_TRUE(set.contains(ip("255.255.255.255")));
  set.remove(range("0.0.0.0", "0.0.0.0"));
  EXPECT_EQ(texts(set).size(), 33U);
  EXPECT_FALSE(set.contains(ip("0.0.0.0")));
  set.remove(prefix("0.0.0.0/0").range());
  set.remove(prefix("::/0").range());
  EXPECT_TRUE(set.empty());
}

TEST(IpRangeSet, SplitsAndMelts) {
  IpRangeSet set;
  set.add(prefix("203.0.113.0/29").range());
  set.remove(range("203.0.113.0", "203.0.113.0"));
  set.remove(range("203.0.113.7", "203.0.113.7"));
  EXPECT_THAT(texts(set), testing::ElementsAre("203.0.113.1/32", "203.0.113.2/31", "203.0.113.4/31", "203.0.113.6/32"));
  set.add(range("203.0.113.7", "203.0.113.7"));
  set.add(range("203.0.113.0", "203.0.113.0"));
  EXPECT_THAT(set.ranges(), testing::ElementsAre(range("203.0.113.0", "203.0.113.7")));
  EXPECT_TRUE(set.intersects(range("203.0.113.7", "203.0.114.0")));
  EXPECT_FALSE(set.intersects(range("203.0.113.8", "203.0.114.0")));
  EXPECT_FALSE(set.intersects(range("::", "::ffff")));
}

// Random operations on a space of 64 addresses, against a plain set.
void compare_with_brute_force(const IpAddress& base, std::uint64_t seed) {
  Random random(seed);
  std::vector<IpAddress> space{base};
  while (space.size() < 64) space.push_back(*space.back().next());
  for (int history = 0; history < 200; ++history) {
    IpRangeSet set;
    std::set<IpAddress> model;
    for (int step = 0; step < 12; ++step) {
      const auto i = random.below(64);
      const auto j = i + random.below(64 - i);
      const bool adding = random.below(3) != 0;
      adding ? set.add({space[i], space[j]}) : set.remove({space[i], space[j]});
      for (auto k = i; k <= j; ++k)
        adding ? static_cast<void>(model.insert(space[k])) : static_cast<void>(model.erase(space[k]));
    }
    std::set<IpAddress> covered;
    for (const IpPrefix& p : set.prefixes()) {
      for (auto a = std::optional(p.range().first); a && *a <= p.range().last; a = a->next())
        ASSERT_TRUE(covered.insert(*a).second);
    }
    ASSERT_EQ(covered, model);
    ASSERT_EQ(set.count(base.family()).value, static_cast<std::int64_t>(model.size()));
    for (const IpAddress& a : space) ASSERT_EQ(set.contains(a), model.contains(a));
    for (std::size_t r = 1; r < set.ranges().size(); ++r)
      ASSERT_GT(set.ranges()[r].first, *set.ranges()[r - 1].last.next());
  }
}

TEST(IpRangeSet, AgreesWithBruteForce) {
  compare_with_brute_force(ip("10.0.0.230"), 1);
  compare_with_brute_force(ip("0.0.0.0"), 2);
  compare_with_brute_force(IpAddress::v4(0xffffffffU - 63), 3);
  compare_with_brute_force(ip("2001:db8::fff0"), 4);
  compare_with_brute_force(ip("::"), 5);
  compare_with_brute_force(ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0"), 6);
  compare_with_brute_force(ip("::fffe:ffff:fff0"), 7);
}

TEST(ObjectName, IsAsTheContractSays) {
  EXPECT_EQ(object_name(ip("203.0.113.7")), "ip-203-0-113-7");
  EXPECT_EQ(object_name(ip("2001:db8::7")), "ip-2001-db8--7");
  EXPECT_EQ(object_name(ip("2001:db8::")), "ip-2001-db8--0");
  EXPECT_EQ(object_name(ip("::a00:5")), "ip---a00-5");
  EXPECT_EQ(object_name(ip("::ffff:203.0.113.7")), "ip-203-0-113-7");
  EXPECT_EQ(object_name(ip("::")), "ip---0");
}

TEST(ObjectName, IsInjective) {
  Random random(3);
  std::map<std::string, IpAddress> seen;
  for (int round = 0; round < 100'000; ++round) {
    std::array<std::uint8_t, 16> bytes{};
    for (std::size_t group = 0; group < 8; ++group) bytes[2 * group + 1] = static_cast<std::uint8_t>(random.below(3));
    const IpAddress a =
        random.below(4) == 0 ? IpAddress::v4(static_cast<std::uint32_t>(random.below(100'000))) : IpAddress::v6(bytes);
    const auto [it, fresh] = seen.emplace(object_name(a), a);
    ASSERT_EQ(it->second, a) << it->first;
    ASSERT_NE(it->first.back(), '-');
  }
}

}  // namespace
}  // namespace base
