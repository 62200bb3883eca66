// Class parameters (driver design §2; scenario 46): one row for each thing an administrator may write.
#include "metallb/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metallb/rendering.h"

namespace metallb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Parameters that are fine: what the pool's entries come to, in order, and what is remarked.
struct Accepted {
  const char* name;
  const char* json;
  std::vector<std::string> entries;
  std::vector<std::string> notes = {};
};

// Parameters that are refused: pieces of text that the problems must contain, one for each problem, in order.
struct Refused {
  const char* name;
  const char* json;
  std::vector<std::vector<std::string>> problems;
};

std::vector<Accepted> accepted_rows() {
  return {
      // One entry of each form.
      {"Network24", R"({"addresses":["203.0.113.0/24"]})", {"203.0.113.1-203.0.113.254"}},
      {"Network29", R"({"addresses":["203.0.113.0/29"]})", {"203.0.113.1-203.0.113.6"}},
      {"Network30", R"({"addresses":["203.0.113.4/30"]})", {"203.0.113.5-203.0.113.6"}},
      {"Network31IsUsableWhole", R"({"addresses":["203.0.113.4/31"]})", {"203.0.113.4/31"}},
      {"Network32", R"({"addresses":["203.0.113.7/32"]})", {"203.0.113.7/32"}},
      {"Network16", R"({"addresses":["10.1.0.0/16"]})", {"10.1.0.1-10.1.255.254"}},
      {"Network8", R"({"addresses":["10.0.0.0/8"]})", {"10.0.0.1-10.255.255.254"}},
      {"FirstLast", R"({"addresses":["192.0.2.10-192.0.2.40"]})", {"192.0.2.10-192.0.2.40"}},
      {"FirstLastWithBlanks", R"({"addresses":[" 192.0.2.10 - 192.0.2.40 "]})", {"192.0.2.10-192.0.2.40"}},
      {"FirstLastOfOne", R"({"addresses":["192.0.2.10-192.0.2.10"]})", {"192.0.2.10/32"}},
      {"FirstLastThatIsANetworkKeepsItsEnds", R"({"addresses":["192.0.2.0-192.0.2.255"]})", {"192.0.2.0/24"}},
      {"BareAddress", R"({"addresses":["192.0.2.10"]})", {"192.0.2.10/32"}},
      {"BareAddressDotZero", R"({"addresses":["192.0.2.0"]})", {"192.0.2.0/32"}},
      {"BareAddressDot255", R"({"addresses":["192.0.2.255"]})", {"192.0.2.255/32"}},
      {"V6Network126", R"({"addresses":["2001:db8::/126"]})", {"2001:db8::/126"}},
      {"V6Network127", R"({"addresses":["2001:db8::/127"]})", {"2001:db8::/127"}},
      {"V6Network128", R"({"addresses":["2001:db8::/128"]})", {"2001:db8::/128"}},
      {"V6Network64", R"({"addresses":["2001:db8::/64"]})", {"2001:db8::/64"}},
      {"V6Network8", R"({"addresses":["2a00::/8"]})", {"2a00::/8"}},
      {"V6FirstLast", R"({"addresses":["2001:db8::a-2001:db8::14"]})", {"2001:db8::a-2001:db8::14"}},
      {"V6BareAddress", R"({"addresses":["2001:db8::7"]})", {"2001:db8::7/128"}},
      {"V6Uppercase", R"({"addresses":["2001:DB8::A"]})", {"2001:db8::a/128"}},
      {"V6LongForm", R"({"addresses":["2001:0db8:0:0:0:0:0:7"]})", {"2001:db8::7/128"}},
      {"UniqueLocal", R"({"addresses":["fd00:1::/120"]})", {"fd00:1::/120"}},
      {"LinkLocalV4", R"({"addresses":["169.254.10.0/24"]})", {"169.254.10.1-169.254.10.254"}},
      {"LinkLocalV6", R"({"addresses":["fe80::10-fe80::1f"]})", {"fe80::10/124"}},
      {"ReservedForFutureUse", R"({"addresses":["240.0.0.0/24"]})", {"240.0.0.1-240.0.0.254"}},
      {"HighestNetworkWithoutBroadcast", R"({"addresses":["255.255.255.0/24"]})", {"255.255.255.1-255.255.255.254"}},

      // Several entries: both families, in the order they are written, for MetalLB hands out the first free one.
      {"TwoFamilies",
       R"({"addresses":["203.0.113.0/29","2001:db8::/126"]})",
       {"203.0.113.1-203.0.113.6", "2001:db8::/126"}},
      {"OrderIsKept",
       R"({"addresses":["10.0.9.0/31","10.0.1.0/31","10.0.5.5"]})",
       {"10.0.9.0/31", "10.0.1.0/31", "10.0.5.5/32"}},
      {"AdjacentEntriesStayApart", R"({"addresses":["10.0.0.2/31","10.0.0.0/31"]})", {"10.0.0.2/31", "10.0.0.0/31"}},
      {"DesignExample",
       R"({"addresses":["203.0.113.0/24","2001:db8:1::/120","192.0.2.10-192.0.2.40"],
           "exclude":["203.0.113.1","203.0.113.0/30"]})",
       {"203.0.113.4-203.0.113.254", "2001:db8:1::/120", "192.0.2.10-192.0.2.40"}},

      // Network and broadcast address.
      {"IncludeNetworkAddresses",
       R"({"addresses":["203.0.113.0/24"],"includeNetworkAddresses":true})",
       {"203.0.113.0/24"}},
      {"IncludeNetworkAddressesFalse",
       R"({"addresses":["203.0.113.0/29"],"includeNetworkAddresses":false})",
       {"203.0.113.1-203.0.113.6"}},
      {"V6HasNoNetworkAddress",
       R"({"addresses":["2001:db8::/120"],"includeNetworkAddresses":false})",
       {"2001:db8::/120"}},

      // Host bits are masked as MetalLB would, and said.
      {"HostBits",
       R"({"addresses":["203.0.113.9/29"]})",
       {"203.0.113.9-203.0.113.14"},
       {"addresses[0] \"203.0.113.9/29\": has host bits set and is read as the network 203.0.113.8/29"}},
      {"HostBitsV6",
       R"({"addresses":["2001:db8::5/126"]})",
       {"2001:db8::4/126"},
       {"addresses[0] \"2001:db8::5/126\": has host bits set and is read as the network 2001:db8::4/126"}},
      {"HostBitsInExclude",
       R"({"addresses":["203.0.113.0/29"],"exclude":["203.0.113.5/30"]})",
       {"203.0.113.1-203.0.113.3"},
       {"exclude[0] \"203.0.113.5/30\": has host bits set and is read as the network 203.0.113.4/30"}},

      // Excludes.
      {"ExcludeOneInTheMiddle",
       R"({"addresses":["10.0.0.0/29"],"exclude":["10.0.0.3"]})",
       {"10.0.0.1-10.0.0.2", "10.0.0.4-10.0.0.6"}},
      {"ExcludeFirst", R"({"addresses":["10.0.0.0/29"],"exclude":["10.0.0.1"]})", {"10.0.0.2-10.0.0.6"}},
      {"ExcludeLast", R"({"addresses":["10.0.0.0/29"],"exclude":["10.0.0.6"]})", {"10.0.0.1-10.0.0.5"}},
      {"ExcludeNetwork", R"({"addresses":["10.0.0.0/24"],"exclude":["10.0.0.0/25"]})", {"10.0.0.128-10.0.0.254"}},
      {"ExcludeRange",
       R"({"addresses":["10.0.0.0/24"],"exclude":["10.0.0.10-10.0.0.19"]})",
       {"10.0.0.1-10.0.0.9", "10.0.0.20-10.0.0.254"}},
      {"ExcludeOverTwoEntries",
       R"({"addresses":["10.0.0.0-10.0.0.9","10.0.0.10-10.0.0.19"],"exclude":["10.0.0.8-10.0.0.11"]})",
       {"10.0.0.0/29", "10.0.0.12-10.0.0.19"}},
      {"ExcludesMayOverlap",
       R"({"addresses":["10.0.0.0-10.0.0.9"],"exclude":["10.0.0.2-10.0.0.4","10.0.0.3","10.0.0.3"]})",
       {"10.0.0.0/31", "10.0.0.5-10.0.0.9"}},
      {"ExcludeNetworkAddressToo",
       R"({"addresses":["10.0.0.0/29"],"exclude":["10.0.0.0","10.0.0.7"]})",
       {"10.0.0.1-10.0.0.6"}},
      {"ExcludeV6", R"({"addresses":["2001:db8::/126"],"exclude":["2001:db8::"]})", {"2001:db8::1-2001:db8::3"}},
      {"ExcludeV6FromALargeNetwork",
       R"({"addresses":["2001:db8::/64"],"exclude":["2001:db8::1"]})",
       {"2001:db8::/128", "2001:db8::2-2001:db8::ffff:ffff:ffff:ffff"}},
      {"ExcludeLastOfAllV6",
       R"({"addresses":["fd00::/8"],"exclude":["fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]})",
       {"fd00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"}},
      {"ExcludeEmptyList", R"({"addresses":["10.0.0.0/31"],"exclude":[]})", {"10.0.0.0/31"}},
      {"ExcludeOutside",
       R"({"addresses":["10.0.0.0/31"],"exclude":["10.9.9.9"]})",
       {"10.0.0.0/31"},
       {"exclude[0] \"10.9.9.9\": excludes nothing, since no entry of addresses contains it"}},
      {"ExcludeOfTheOtherFamily",
       R"({"addresses":["10.0.0.0/31"],"exclude":["2001:db8::1"]})",
       {"10.0.0.0/31"},
       {"exclude[0] \"2001:db8::1\": excludes nothing, since no entry of addresses contains it"}},
      {"OneEntryExcludedAsAWhole",
       R"({"addresses":["10.0.0.0/31","10.0.1.0/31"],"exclude":["10.0.0.0/31"]})",
       {"10.0.1.0/31"},
       {"addresses[0] \"10.0.0.0/31\": is excluded as a whole"}},
      {"ReservedAddressesMayBeExcluded", R"({"addresses":["::/126"],"exclude":["::","::1"]})", {"::2/127"}},

      // Flags and advertisements.
      {"Inventory", R"({"addresses":["10.0.0.0/31"],"inventory":"DryRun"})", {"10.0.0.0/31"}},
      {"AllowSharing", R"({"addresses":["10.0.0.0/31"],"allowSharing":true})", {"10.0.0.0/31"}},
      {"AdvertiseL2", R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{}}})", {"10.0.0.0/31"}},
      {"AdvertiseBgp", R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{}}})", {"10.0.0.0/31"}},
      {"AdvertiseBoth", R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{},"bgp":{}}})", {"10.0.0.0/31"}},
      {"AdvertiseNeither",
       R"({"addresses":["10.0.0.0/31"],"advertise":{}})",
       {"10.0.0.0/31"},
       {"advertise: names neither l2 nor bgp: addresses are reserved and not announced"}},
      {"AggregationOfAWholeNetwork",
       R"({"addresses":["10.0.0.0/24"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":24}}})",
       {"10.0.0.0/24"}},
      {"AggregationInsideTheWidestBlock",
       R"({"addresses":["10.0.0.0/24"],"advertise":{"bgp":{"aggregationLength":26}}})",
       {"10.0.0.1-10.0.0.254"}},
      {"AggregationV6",
       R"({"addresses":["2001:db8::/64"],"advertise":{"bgp":{"aggregationLengthV6":64}}})",
       {"2001:db8::/64"}},
      {"AggregationOfTheAbsentFamily",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLengthV6":64}}})",
       {"10.0.0.0/31"}},
      {"LocalPrefZero", R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"localPref":0}}})", {"10.0.0.0/31"}},
      {"LocalPrefGreatest",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"localPref":4294967295}}})",
       {"10.0.0.0/31"}},
      {"CommunityForms",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"communities":["65000:100","large:4200000000:1:2","no-export"]}}})",
       {"10.0.0.0/31"}},
  };
}

std::vector<Refused> refused_rows() {
  return {
      // Nothing to read.
      {"Nil", "", {{"parameters", "has no addresses", "203.0.113.0/24"}}},
      {"Null", "null", {{"parameters", "has no addresses"}}},
      {"EmptyObject", "{}", {{"parameters", "has no addresses"}}},
      {"InventoryOfAnUnknownKind",
       R"({"addresses":["10.0.0.0/31"],"inventory":"adopt"})",
       {{"inventory", "\"adopt\" is no such mode", "use Off, DryRun, Adopt or Revert"}}},
      {"InventoryIsNoText",
       R"({"addresses":["10.0.0.0/31"],"inventory":true})",
       {{"inventory", "use Off, DryRun, Adopt or Revert"}}},
      {"NoAddresses", R"({"allowSharing":true})", {{"parameters", "has no addresses"}}},
      {"EmptyList", R"({"addresses":[]})", {{"addresses", "is empty"}}},
      {"ParametersAreAList", R"(["10.0.0.0/24"])", {{"parameters", "is a list", "an object"}}},
      {"ParametersAreText", R"("10.0.0.0/24")", {{"parameters", "is text", "an object"}}},
      {"NoJson", R"({"addresses")", {{"parameters", "is not JSON"}}},

      // Wrong types.
      {"AddressesAreText",
       R"({"addresses":"10.0.0.0/24"})",
       {{"addresses", "is text", "a list", "[\"203.0.113.0/24\"]"}}},
      {"AddressesAreNull", R"({"addresses":null})", {{"addresses", "has no value", "a list"}}},
      {"AddressesAreAnObject", R"({"addresses":{"a":1}})", {{"addresses", "is an object", "a list"}}},
      {"AddressesAreANumber", R"({"addresses":10})", {{"addresses", "is a number", "a list"}}},
      {"EntryIsANumber", R"({"addresses":[10]})", {{"addresses[0]", "is a number", "in quotes"}}},
      {"EntryIsNull", R"({"addresses":["10.0.0.0/31",null]})", {{"addresses[1]", "is nothing"}}},
      {"EntryIsAList", R"({"addresses":[["10.0.0.0/31"]]})", {{"addresses[0]", "is a list"}}},
      {"EntryIsAnObject", R"({"addresses":[{"cidr":"10.0.0.0/31"}]})", {{"addresses[0]", "is an object"}}},
      {"ExcludeIsText", R"({"addresses":["10.0.0.0/31"],"exclude":"10.0.0.1"})", {{"exclude", "is text", "a list"}}},
      {"ExcludeIsNull",
       R"({"addresses":["10.0.0.0/31"],"exclude":null})",
       {{"exclude", "has no value", "leave the key out"}}},
      {"AllowSharingIsText",
       R"({"addresses":["10.0.0.0/31"],"allowSharing":"true"})",
       {{"allowSharing", "is text", "without quotes"}}},
      {"AllowSharingIsANumber", R"({"addresses":["10.0.0.0/31"],"allowSharing":1})", {{"allowSharing", "is a number"}}},
      {"IncludeNetworkAddressesIsNull",
       R"({"addresses":["10.0.0.0/31"],"includeNetworkAddresses":null})",
       {{"includeNetworkAddresses", "has no value"}}},

      // Unknown keys, at every level.
      {"UnknownKey",
       R"({"addresses":["10.0.0.0/31"],"adresses":[]})",
       {{"parameters", "unknown key \"adresses\"", "addresses, exclude"}}},
      {"KeyInWrongCase", R"({"addresses":["10.0.0.0/31"],"allowsharing":true})", {{"unknown key \"allowsharing\""}}},
      {"UnknownKeyInAdvertise",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{},"L2":{}}})",
       {{"advertise", "unknown key \"L2\"", "l2, bgp"}}},
      {"UnknownKeyInL2",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"interface":["eth0"]}}})",
       {{"advertise.l2", "unknown key \"interface\"", "interfaces"}}},
      {"UnknownKeyInBgp",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"interfaces":["eth0"]}}})",
       {{"advertise.bgp", "unknown key \"interfaces\"", "localPref"}}},
      {"UnknownKeyInSelector",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"labels":{"a":"b"}}]}}})",
       {{"advertise.l2.nodeSelectors[0]", "unknown key \"labels\"", "matchLabels"}}},
      {"UnknownKeyInRequirement",
       R"({"addresses":["10.0.0.0/31"],
           "advertise":{"l2":{"nodeSelectors":[{"matchExpressions":[{"key":"a","operator":"Exists","value":"b"}]}]}}})",
       {{"nodeSelectors[0].matchExpressions[0]", "unknown key \"value\"", "values"}}},

      // Text that is no address.
      {"NoAddress", R"({"addresses":["banana"]})", {{"addresses[0] \"banana\"", "is not an IP address"}}},
      {"EmptyText", R"({"addresses":[""]})", {{"addresses[0] \"\"", "is empty"}}},
      {"Blank", R"({"addresses":["  "]})", {{"addresses[0]", "is empty"}}},
      {"HostName", R"({"addresses":["router.example"]})", {{"addresses[0]", "is not an IP address"}}},
      {"LeadingZeros", R"({"addresses":["010.0.0.1"]})", {{"addresses[0] \"010.0.0.1\"", "is not an IP address"}}},
      {"LeadingZerosInNetwork", R"({"addresses":["10.0.00.0/24"]})", {{"addresses[0]", "is not an IP address"}}},
      {"OctetTooLarge", R"({"addresses":["10.0.0.256"]})", {{"addresses[0]", "is not an IP address"}}},
      {"ThreeOctets", R"({"addresses":["10.0.0/24"]})", {{"addresses[0]", "is not an IP address"}}},
      {"DotForDash", R"({"addresses":["10.0.0.1.10.0.0.9"]})", {{"addresses[0]", "203.0.113.10-203.0.113.40"}}},
      {"SeveralInOneText", R"({"addresses":["10.0.0.0/24,10.0.1.0/24"]})", {{"addresses[0]"}}},
      {"MappedAddress", R"({"addresses":["::ffff:192.0.2.1"]})", {{"addresses[0]", "IPv6 form", "write 192.0.2.1"}}},
      {"MappedInHex", R"({"addresses":["::ffff:c000:201"]})", {{"addresses[0]", "write 192.0.2.1"}}},
      {"MappedNetwork", R"({"addresses":["::ffff:0:0/96"]})", {{"addresses[0]", "IPv6 form"}}},
      {"MappedRange", R"({"addresses":["::ffff:192.0.2.1-::ffff:192.0.2.9"]})", {{"addresses[0]", "IPv6 form"}}},
      {"Zone", R"({"addresses":["fe80::1%eth0"]})", {{"addresses[0]", "zone"}}},
      {"ZoneInNetwork", R"({"addresses":["fe80::%eth0/64"]})", {{"addresses[0]", "zone"}}},
      {"BracketedV6", R"({"addresses":["[2001:db8::1]"]})", {{"addresses[0]", "is not an IP address"}}},

      // Networks.
      {"PrefixTooLong", R"({"addresses":["10.0.0.0/33"]})", {{"addresses[0]", "\"33\"", "0 to 32"}}},
      {"PrefixTooLongV6", R"({"addresses":["2001:db8::/129"]})", {{"addresses[0]", "0 to 128"}}},
      {"PrefixNegative", R"({"addresses":["10.0.0.0/-1"]})", {{"addresses[0]", "mixes a network with a range"}}},
      {"PrefixEmpty", R"({"addresses":["10.0.0.0/"]})", {{"addresses[0]", "\"\""}}},
      {"PrefixLeadingZero", R"({"addresses":["10.0.0.0/024"]})", {{"addresses[0]", "\"024\""}}},
      {"PrefixText", R"({"addresses":["10.0.0.0/x"]})", {{"addresses[0]", "\"x\""}}},
      {"TwoSlashes", R"({"addresses":["10.0.0.0/24/25"]})", {{"addresses[0]", "\"24/25\""}}},
      {"NetworkMask", R"({"addresses":["10.0.0.0/255.255.255.0"]})", {{"addresses[0]", "network mask", "/24"}}},

      // Ranges.
      {"Reversed", R"({"addresses":["10.0.0.9-10.0.0.1"]})", {{"addresses[0]", "is reversed", "10.0.0.1-10.0.0.9"}}},
      {"ReversedAndShort",
       R"({"addresses":["10.0.0.9-1"]})",
       {{"addresses[0]", "ends in 1, which is not an address: write 10.0.0.1-10.0.0.9"}}},
      {"ShortAndNoAddress", R"({"addresses":["10.0.0.9-300"]})", {{"addresses[0]", "ends in 300", "write a network"}}},
      {"ReversedV6", R"({"addresses":["2001:db8::9-2001:db8::1"]})", {{"addresses[0]", "2001:db8::1-2001:db8::9"}}},
      {"MixedFamilies", R"({"addresses":["10.0.0.1-2001:db8::1"]})", {{"addresses[0]", "mixes IPv4 and IPv6"}}},
      {"MixedFamiliesTurned", R"({"addresses":["2001:db8::1-10.0.0.1"]})", {{"addresses[0]", "mixes IPv4 and IPv6"}}},
      {"RangeOfNetworks",
       R"({"addresses":["10.0.0.0/24-10.0.1.0/24"]})",
       {{"addresses[0]", "mixes a network with a range"}}},
      {"ShortLast", R"({"addresses":["10.0.0.1-20"]})", {{"addresses[0]", "write 10.0.0.1-10.0.0.20"}}},
      {"NoFirst", R"({"addresses":["-10.0.0.1"]})", {{"addresses[0]", "\"\" is not an IP address"}}},
      {"NoLast", R"({"addresses":["10.0.0.1-"]})", {{"addresses[0]", "\"\" is not an IP address"}}},
      {"TwoDashes", R"({"addresses":["10.0.0.1-10.0.0.2-10.0.0.3"]})", {{"addresses[0]", "is not an IP address"}}},

      // Addresses that nobody can claim.
      {"Unspecified", R"({"addresses":["0.0.0.0"]})", {{"addresses[0]", "unspecified"}}},
      {"Loopback", R"({"addresses":["127.0.0.1"]})", {{"addresses[0]", "loopback"}}},
      {"LoopbackNetwork", R"({"addresses":["127.1.0.0/16"]})", {{"addresses[0]", "loopback"}}},
      {"RangeOverLoopback", R"({"addresses":["126.255.255.0-128.0.0.5"]})", {{"addresses[0]", "loopback"}}},
      {"Multicast", R"({"addresses":["224.0.0.5"]})", {{"addresses[0]", "multicast"}}},
      {"LimitedBroadcast", R"({"addresses":["255.255.255.255"]})", {{"addresses[0]", "broadcast"}}},
      {"LimitedBroadcastByFlag",
       R"({"addresses":["255.255.255.0/24"],"includeNetworkAddresses":true})",
       {{"addresses[0]", "broadcast"}}},
      {"AllOfV4", R"({"addresses":["0.0.0.0/0"]})", {{"loopback"}, {"multicast"}}},
      {"UnspecifiedV6", R"({"addresses":["::"]})", {{"addresses[0]", "unspecified"}}},
      {"LoopbackV6", R"({"addresses":["::1"]})", {{"addresses[0]", "loopback"}}},
      {"MulticastV6", R"({"addresses":["ff02::/64"]})", {{"addresses[0]", "multicast"}}},
      {"AllOfV6", R"({"addresses":["::/0"]})", {{"unspecified"}, {"loopback"}, {"multicast"}, {"IPv4-mapped"}}},
      {"NetworkOverMapped", R"({"addresses":["::/64"],"exclude":["::/127"]})", {{"addresses[0]", "IPv4-mapped"}}},

      // Entries that overlap make MetalLB refuse its whole configuration.
      {"Duplicate",
       R"({"addresses":["10.0.0.0/24","10.0.0.0/24"]})",
       {{"addresses[1]", "is the same as addresses[0] \"10.0.0.0/24\""}}},
      {"DuplicateInOtherWords",
       R"({"addresses":["10.0.0.0/24","10.0.0.0-10.0.0.255"]})",
       {{"addresses[1]", "is the same as"}}},
      {"DuplicateByHostBits", R"({"addresses":["10.0.0.0/24","10.0.0.7/24"]})", {{"addresses[1]", "is the same as"}}},
      {"Inside",
       R"({"addresses":["10.0.0.0/24","10.0.0.7"]})",
       {{"addresses[1] \"10.0.0.7\"", "overlaps with addresses[0]"}}},
      {"Around",
       R"({"addresses":["10.0.0.7","10.0.1.0/24","10.0.0.0/24"]})",
       {{"addresses[2]", "overlaps with addresses[0]"}}},
      {"Partly", R"({"addresses":["10.0.0.1-10.0.0.9","10.0.0.9-10.0.0.20"]})", {{"addresses[1]", "overlaps with"}}},
      {"OverlapV6", R"({"addresses":["2001:db8::/64","2001:db8::5"]})", {{"addresses[1]", "overlaps with"}}},

      // Excludes.
      {"EverythingExcluded",
       R"({"addresses":["10.0.0.0/24"],"exclude":["10.0.0.0/24"]})",
       {{"exclude", "leaves nothing"}}},
      {"EverythingButTheNetworkAddresses",
       R"({"addresses":["10.0.0.0/30"],"exclude":["10.0.0.1-10.0.0.2"]})",
       {{"exclude", "leaves nothing"}}},
      {"ExcludeIsNoAddress",
       R"({"addresses":["10.0.0.0/24"],"exclude":["gateway"]})",
       {{"exclude[0] \"gateway\"", "is not an IP address"}}},
      {"ExcludeIsReversed",
       R"({"addresses":["10.0.0.0/24"],"exclude":["10.0.0.9-10.0.0.1"]})",
       {{"exclude[0]", "is reversed"}}},
      {"ExcludeEntryIsANumber", R"({"addresses":["10.0.0.0/24"],"exclude":[1]})", {{"exclude[0]", "is a number"}}},

      // Advertisements.
      {"AdvertiseIsText", R"({"addresses":["10.0.0.0/31"],"advertise":"l2"})", {{"advertise", "is text", "an object"}}},
      {"AdvertiseIsNull", R"({"addresses":["10.0.0.0/31"],"advertise":null})", {{"advertise", "has no value"}}},
      {"AdvertiseIsAList", R"({"addresses":["10.0.0.0/31"],"advertise":["l2"]})", {{"advertise", "is a list"}}},
      {"L2IsNull", R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":null}})", {{"advertise.l2", "has no value"}}},
      {"L2IsTrue", R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":true}})", {{"advertise.l2", "is true or false"}}},
      {"InterfacesAreText",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"interfaces":"eth0"}}})",
       {{"advertise.l2.interfaces", "is text", "[\"eth0\"]"}}},
      {"InterfaceIsANumber",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"interfaces":[0]}}})",
       {{"advertise.l2.interfaces[0]", "is a number"}}},
      {"InterfaceIsEmpty",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"interfaces":[""]}}})",
       {{"advertise.l2.interfaces[0]", "is empty"}}},
      {"InterfaceTwice",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"interfaces":["eth0","eth0"]}}})",
       {{"advertise.l2.interfaces[1] \"eth0\"", "twice"}}},
      {"SelectorsAreAnObject",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":{"matchLabels":{}}}}})",
       {{"advertise.l2.nodeSelectors", "is an object", "a list"}}},
      {"SelectorIsText",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"serviceSelectors":["a=b"]}}})",
       {{"advertise.l2.serviceSelectors[0]", "is text"}}},
      {"SelectorTwice",
       R"({"addresses":["10.0.0.0/31"],
           "advertise":{"l2":{"nodeSelectors":[{"matchLabels":{"a":"b","c":"d"}},{"matchLabels":{"c":"d","a":"b"}}]}}})",
       {{"advertise.l2.nodeSelectors[1]", "twice"}}},
      {"LabelIsANumber",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"matchLabels":{"rack":1}}]}}})",
       {{"nodeSelectors[0].matchLabels", "is a number", "in quotes"}}},
      {"LabelKeyIllegal",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"matchLabels":{"a b":"c"}}]}}})",
       {{"\"a b\" is not a label key"}}},
      {"LabelPrefixIllegal",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"matchLabels":{"Example.com/a":"c"}}]}}})",
       {{"is not a label key"}}},
      {"LabelValueIllegal",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"matchLabels":{"a":"b c"}}]}}})",
       {{"\"b c\" is not a label value"}}},
      {"OperatorUnknown",
       R"({"addresses":["10.0.0.0/31"],
           "advertise":{"bgp":{"nodeSelectors":[{"matchExpressions":[{"key":"a","operator":"in","values":["b"]}]}]}}})",
       {{"advertise.bgp.nodeSelectors[0].matchExpressions[0]", "unknown operator \"in\"", "In, NotIn"}}},
      {"OperatorMissing",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"l2":{"nodeSelectors":[{"matchExpressions":[{"key":"a"}]}]}}})",
       {{"needs the key operator"}}},
      {"InWithoutValues",
       R"({"addresses":["10.0.0.0/31"],
           "advertise":{"l2":{"nodeSelectors":[{"matchExpressions":[{"key":"a","operator":"In"}]}]}}})",
       {{"has no values", "In"}}},
      {"ExistsWithValues",
       R"({"addresses":["10.0.0.0/31"],
           "advertise":{"l2":{"nodeSelectors":[{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}]}}})",
       {{"has values", "Exists"}}},
      {"BgpIsNull", R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":null}})", {{"advertise.bgp", "has no value"}}},
      {"AggregationZero",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLength":0}}})",
       {{"advertise.bgp.aggregationLength", "1 to 32"}}},
      {"AggregationTooLong",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLength":33}}})",
       {{"advertise.bgp.aggregationLength", "1 to 32"}}},
      {"AggregationText",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLength":"24"}}})",
       {{"advertise.bgp.aggregationLength", "is text", "without quotes"}}},
      {"AggregationFraction",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLength":24.5}}})",
       {{"advertise.bgp.aggregationLength", "whole number"}}},
      {"AggregationV6TooLong",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"aggregationLengthV6":129}}})",
       {{"advertise.bgp.aggregationLengthV6", "1 to 128"}}},
      {"AggregationWiderThanTheNetwork",
       R"({"addresses":["10.0.0.0/24"],"includeNetworkAddresses":true,"advertise":{"bgp":{"aggregationLength":23}}})",
       {{"advertise.bgp.aggregationLength", "/23 is wider than 10.0.0.0/24", "24 or more"}}},
      {"AggregationWiderThanWithoutNetworkAddress",
       R"({"addresses":["10.0.0.0/24"],"advertise":{"bgp":{"aggregationLength":24}}})",
       {{"advertise.bgp.aggregationLength", "10.0.0.1-10.0.0.254", "26 or more"}}},
      {"AggregationWiderThanTheSmallestEntry",
       R"({"addresses":["10.0.0.0-10.0.0.255","10.0.1.1"],"advertise":{"bgp":{"aggregationLength":24}}})",
       {{"10.0.1.1/32", "32 or more"}}},
      {"LocalPrefNegative",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"localPref":-1}}})",
       {{"advertise.bgp.localPref", "0 to 4294967295"}}},
      {"LocalPrefTooLarge",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"localPref":4294967296}}})",
       {{"advertise.bgp.localPref", "0 to 4294967295"}}},
      {"CommunityTooLarge",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"communities":["65536:1"]}}})",
       {{"communities \"65536:1\"", "is no community"}}},
      {"CommunityOfThree",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"communities":["1:2:3"]}}})",
       {{"communities \"1:2:3\"", "large:65000:1:2"}}},
      {"CommunityLargeOfTwo",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"communities":["large:1:2"]}}})",
       {{"communities \"large:1:2\""}}},
      {"CommunityTwice", R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"communities":["a","a"]}}})", {{"twice"}}},
      {"PeerTwice",
       R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{"peers":["a","a"]}}})",
       {{"advertise.bgp.peers[1]", "twice"}}},

      // All problems at once, not the first alone.
      {"Several",
       R"({"addresses":["banana","10.0.0.9-10.0.0.1"],"exclude":["x"],"advertise":{"l2":{"y":1}},"z":1})",
       {{"unknown key \"z\""},
        {"addresses[0]"},
        {"addresses[1]"},
        {"exclude[0]"},
        {"advertise.l2", "unknown key \"y\""}}},
  };
}

class AcceptedParameters : public testing::TestWithParam<Accepted> {};
class RefusedParameters : public testing::TestWithParam<Refused> {};

TEST_P(AcceptedParameters, ComeToTheseEntries) {
  const auto parsed = parse_parameters(GetParam().json);
  ASSERT_TRUE(parsed) << fmt::format("{}", fmt::join(parsed.error(), "\n"));
  EXPECT_EQ(render_addresses(parsed->pieces, {}), GetParam().entries);
  EXPECT_EQ(parsed->notes, GetParam().notes);
  base::IpRangeSet together;
  for (const auto& piece : parsed->pieces) together.add(piece);
  EXPECT_EQ(parsed->ranges, together);
}

TEST_P(RefusedParameters, SayWhatIsWrongAndWhatWouldBeRight) {
  const auto parsed = parse_parameters(GetParam().json);
  ASSERT_FALSE(parsed);
  ASSERT_EQ(parsed.error().size(), GetParam().problems.size()) << fmt::format("{}", fmt::join(parsed.error(), "\n"));
  for (std::size_t i = 0; i < parsed.error().size(); ++i) {
    for (const std::string& piece : GetParam().problems[i]) EXPECT_THAT(parsed.error()[i], HasSubstr(piece));
  }
}

const auto name_of = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Rows, AcceptedParameters, testing::ValuesIn(accepted_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Rows, RefusedParameters, testing::ValuesIn(refused_rows()), name_of);

TEST(ParametersTest, WithoutAdvertiseLayer2IsUsed) {
  const auto parsed = parse_parameters(R"({"addresses":["10.0.0.0/31"]})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->l2, L2Options{});
  EXPECT_FALSE(parsed->bgp);
  EXPECT_FALSE(parsed->allow_sharing);
  EXPECT_FALSE(parsed->include_network_addresses);
}

TEST(ParametersTest, ExplicitAdvertiseIsAllThereIs) {
  const auto bgp = parse_parameters(R"({"addresses":["10.0.0.0/31"],"advertise":{"bgp":{}}})");
  ASSERT_TRUE(bgp);
  EXPECT_FALSE(bgp->l2);
  EXPECT_EQ(bgp->bgp, BgpOptions{});
  const auto neither = parse_parameters(R"({"addresses":["10.0.0.0/31"],"advertise":{}})");
  ASSERT_TRUE(neither);
  EXPECT_FALSE(neither->l2 || neither->bgp);
}

TEST(ParametersTest, ReadsEveryOption) {
  const auto parsed = parse_parameters(R"({"addresses":["10.0.0.0-10.0.0.255","2001:db8::/64"],"allowSharing":true,
      "includeNetworkAddresses":true,"advertise":{
      "l2":{"interfaces":["eth0","eth1"],"nodeSelectors":[{"matchLabels":{"b":"2","a":"1"}}],
            "serviceSelectors":[{"matchExpressions":[{"key":"x/y","operator":"NotIn","values":["p","q"]}]}]},
      "bgp":{"aggregationLength":28,"aggregationLengthV6":80,"localPref":200,"communities":["65000:1"],"peers":["r1"],
             "nodeSelectors":[{"matchExpressions":[{"key":"k","operator":"Exists"}]}]}}})");
  ASSERT_TRUE(parsed) << parsed.error().front();
  EXPECT_TRUE(parsed->allow_sharing);
  EXPECT_TRUE(parsed->include_network_addresses);
  ASSERT_TRUE(parsed->l2);
  EXPECT_THAT(parsed->l2->interfaces, ElementsAre("eth0", "eth1"));
  EXPECT_THAT(parsed->l2->node_selectors, ElementsAre(LabelSelector{{{"a", "1"}, {"b", "2"}}, {}}));
  EXPECT_THAT(parsed->l2->service_selectors, ElementsAre(LabelSelector{{}, {{"x/y", "NotIn", {"p", "q"}}}}));
  ASSERT_TRUE(parsed->bgp);
  EXPECT_EQ(parsed->bgp->aggregation_length, 28);
  EXPECT_EQ(parsed->bgp->aggregation_length_v6, 80);
  EXPECT_EQ(parsed->bgp->local_pref, 200U);
  EXPECT_THAT(parsed->bgp->communities, ElementsAre("65000:1"));
  EXPECT_THAT(parsed->bgp->peers, ElementsAre("r1"));
  EXPECT_THAT(parsed->bgp->node_selectors, ElementsAre(LabelSelector{{}, {{"k", "Exists", {}}}}));
}

TEST(ParametersTest, KnowsItsFamilies) {
  const auto v4 = parse_parameters(R"({"addresses":["10.0.0.0/31"]})");
  ASSERT_TRUE(v4);
  EXPECT_TRUE(v4->serves(base::Family::v4));
  EXPECT_FALSE(v4->serves(base::Family::v6));
  const auto v6 = parse_parameters(R"({"addresses":["2001:db8::/126"]})");
  ASSERT_TRUE(v6);
  EXPECT_FALSE(v6->serves(base::Family::v4));
  EXPECT_TRUE(v6->serves(base::Family::v6));
}

TEST(ParametersTest, CountsHugeNetworksWithoutOverflow) {
  const auto parsed = parse_parameters(R"({"addresses":["2a00::/8","10.0.0.0/8"]})");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->ranges.count(base::Family::v6).saturated);
  EXPECT_EQ(parsed->ranges.count(base::Family::v4).value, (1 << 24) - 2);
}

TEST(ParametersTest, TooManyEntriesOrNetworksAreRefused) {
  std::string entries;
  for (int i = 0; i < 4097; ++i) entries += fmt::format("{}\"10.{}.{}.1\"", i == 0 ? "" : ",", i / 256, i % 256);
  const auto many = parse_parameters("{\"addresses\":[" + entries + "]}");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error(), ElementsAre(HasSubstr("4097 entries")));

  std::string holes;
  for (int i = 0; i < 128; ++i) holes += fmt::format("{}\"2001:db8::{:x}:0:0:1\"", i == 0 ? "" : ",", i + 1);
  const auto shattered = parse_parameters("{\"addresses\":[\"2001:db8::/64\"],\"exclude\":[" + holes + "]}");
  ASSERT_FALSE(shattered);
  EXPECT_THAT(shattered.error(), ElementsAre(HasSubstr("separate networks")));
}

TEST(ParametersTest, LongTextIsQuotedInPart) {
  const auto parsed =
      parse_parameters("{\"addresses\":[\"" + std::string(63, 'x') + "\xc3\xa4" + std::string(5000, 'y') + "\"]}");
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().front().size(), 400U);
  EXPECT_THAT(parsed.error().front(), HasSubstr(std::string(63, 'x') + "…"));
}

TEST(SentencesTest, AreJoinedUpToWhatAConditionTakes) {
  EXPECT_EQ(join_sentences({}), "");
  EXPECT_EQ(join_sentences({"a", "b"}), "a; b");
  const std::string joined = join_sentences(std::vector<std::string>(1000, std::string(100, 'x')));
  EXPECT_LT(joined.size(), 9000U);
  EXPECT_THAT(joined, testing::EndsWith(" more"));
}

TEST(ParameterCacheTest, RemembersTextsAndForgetsTheOldest) {
  ParameterCache cache;
  const std::string text = R"({"addresses":["10.0.0.0/31"]})";
  const auto first = cache.get(text);
  EXPECT_EQ(cache.get(text), first);
  for (int i = 0; i < 2000; ++i) cache.get(fmt::format("{{\"addresses\":[\"10.0.{}.{}\"]}}", i / 256, i % 256));
  const auto again = cache.get(text);
  EXPECT_NE(again, first);
  ASSERT_TRUE(*again);
  EXPECT_EQ((*again)->pieces, (*first)->pieces);
}

}  // namespace
}  // namespace metallb
