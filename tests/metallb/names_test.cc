// Driver design §1: names of placeholders and label values. Scenarios 47 and 50.
#include "metallb/names.h"

#include <gtest/gtest.h>

namespace metallb {
namespace {

using base::Family;

TEST(Names, AllocationNamesOfTheFamiliesDiffer) {
  EXPECT_EQ(allocation_name("6f1c", Family::v4), "iad-6f1c-v4");
  EXPECT_EQ(allocation_name("6f1c", Family::v6), "iad-6f1c-v6");
  EXPECT_EQ(allocation_name("6f1c", Family::v6, 2), "iad-6f1c-v6-2");
}

TEST(Names, AnAllocationNameTellsClaimAndFamily) {
  const auto parsed = parse_allocation_name("iad-6f1c-a-v6");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->claim_uid, "6f1c-a");
  EXPECT_EQ(parsed->family, Family::v6);
  const auto later = parse_allocation_name("iad-6f1c-a-v4-12");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->claim_uid, "6f1c-a");
  EXPECT_EQ(later->family, Family::v4);
  EXPECT_FALSE(parse_allocation_name("iad-ip-203-0-113-7"));
  EXPECT_FALSE(parse_allocation_name("iad-v4-2"));
  EXPECT_FALSE(parse_allocation_name("iad--v4-2"));
  EXPECT_FALSE(parse_allocation_name("other-6f1c-v4"));
  EXPECT_FALSE(parse_allocation_name("iad--v4"));
  EXPECT_FALSE(parse_allocation_name("iad-v4"));
}

TEST(Names, AHoldIsNamedAfterItsAddressObject) {
  EXPECT_EQ(hold_name("ip-203-0-113-7"), "iad-ip-203-0-113-7");
  EXPECT_EQ(hold_name("ip-2001-db8--0"), "iad-ip-2001-db8--0");
}

bool is_dns_label(const std::string& name) {
  return !name.empty() && name.size() <= 63 && name.front() >= 'a' && name.front() <= 'z' && name.back() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

TEST(Names, AHoldOfALongOrDottedNameGetsALegalNameOfItsOwn) {
  const std::string longest(253, 'a');
  for (const std::string& name :
       {longest, std::string(59, 'b') + "c", std::string("gateway.example.org"), std::string("a-")}) {
    EXPECT_TRUE(is_dns_label(hold_name(name))) << hold_name(name);
    EXPECT_EQ(hold_name(name), hold_name(name));
  }
  EXPECT_EQ(hold_name(std::string(59, 'b')), "iad-" + std::string(59, 'b'));
  EXPECT_NE(hold_name("a.b"), hold_name("a-b"));
  EXPECT_NE(hold_name("a.b"), hold_name("a.c"));
  EXPECT_NE(hold_name(longest), hold_name(std::string(252, 'a') + "b"));
}

TEST(Names, TheSpareNameIsAnotherLegalOne) {
  EXPECT_TRUE(is_dns_label(spare_hold_name("ip-203-0-113-7")));
  EXPECT_NE(spare_hold_name("ip-203-0-113-7"), hold_name("ip-203-0-113-7"));
  EXPECT_TRUE(spare_hold_name("ip-203-0-113-7").starts_with("iad-ip-203-0-113-7-"));
}

TEST(Names, ALabelHoldsTheWholeNameWhereItFits) {
  EXPECT_EQ(address_label("ip-203-0-113-7"), "ip-203-0-113-7");
  EXPECT_EQ(address_label("gateway.example.org"), "gateway.example.org");
  EXPECT_EQ(address_label(std::string(63, 'a')), std::string(63, 'a'));
  EXPECT_EQ(address_label(std::string(64, 'a')).size(), 63u);
  EXPECT_NE(address_label(std::string(64, 'a')), address_label(std::string(65, 'a')));
}

TEST(Names, APoolKeyTellsClassAndFamily) {
  const kube::Key key = pool_key("public.eu", Family::v6);
  const auto pool = parse_pool_key_name(key.name);
  ASSERT_TRUE(pool);
  EXPECT_EQ(pool->class_name, "public.eu");
  EXPECT_EQ(pool->family, Family::v6);
  EXPECT_FALSE(parse_pool_key_name("public"));
  EXPECT_FALSE(parse_pool_key_name("public/IPv5"));
}

TEST(Names, AgeOrderSortsTheOldestFirst) {
  kube::Meta old;
  old.created = 99;
  old.uid = "b";
  kube::Meta young;
  young.created = 100;
  young.uid = "a";
  EXPECT_LT(age_order(old), age_order(young));
  young.created = 99;
  EXPECT_LT(age_order(young), age_order(old));
}

}  // namespace
}  // namespace metallb
