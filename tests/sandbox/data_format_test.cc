#include "sandbox/data/format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::data {
namespace {

const KindName k_claims{"local.sdn.cozystack.io", "v1alpha1", "ipaddressclaims"};
const KindName k_services{"", "v1", "services"};

struct File {
  std::string bytes{magic};
  std::size_t snapshot = 0;
  std::vector<std::size_t> ends;  // of the records after the snapshot
};

// Two objects in the snapshot, then a new one, a change, a removal.
File example() {
  File file;
  Encoder encoder;
  file.bytes += encoder.begin(10, 2);
  file.bytes += encoder.object(3, k_claims, "a/x", R"({"x":1})");
  file.bytes += encoder.object(10, k_services, "a/y", R"({"y":1})");
  file.bytes += encoder.end(2);
  file.snapshot = file.bytes.size();
  for (const std::string& record :
       {encoder.put(11, k_claims, "b/z", R"({"z":1})"), encoder.put(12, k_claims, "a/x", R"({"x":2})"),
        encoder.remove(13, k_services, "a/y")}) {
    file.bytes += record;
    file.ends.push_back(file.bytes.size());
  }
  return file;
}

TEST(DataFormat, GivesBackWhatWasWritten) {
  const File file = example();
  const auto contents = decode(file.bytes);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(contents->revision, 13U);
  EXPECT_EQ(contents->valid_bytes, file.bytes.size());
  EXPECT_EQ(contents->snapshot_bytes, file.snapshot);
  EXPECT_EQ(contents->records, 7U);
  ASSERT_EQ(contents->objects.size(), 2U);
  EXPECT_EQ(contents->objects.at({k_claims, "a/x"}).document, R"({"x":2})");
  EXPECT_EQ(contents->objects.at({k_claims, "a/x"}).revision, 12U);
  EXPECT_EQ(contents->objects.at({k_claims, "b/z"}).document, R"({"z":1})");
}

TEST(DataFormat, AFileCutAnywhereInItsLogIsItsBeginningAndNeverMore) {
  const File file = example();
  for (std::size_t size = file.snapshot; size <= file.bytes.size(); ++size) {
    const auto contents = decode(std::string_view(file.bytes).substr(0, size));
    ASSERT_TRUE(contents) << size << ": " << contents.error().message;
    std::size_t whole = 0;
    std::size_t valid = file.snapshot;
    for (const std::size_t end : file.ends) {
      if (end > size) break;
      ++whole;
      valid = end;
    }
    EXPECT_EQ(contents->revision, 10 + whole) << size;
    EXPECT_EQ(contents->valid_bytes, valid) << size;
  }
}

TEST(DataFormat, AFileCutInItsSnapshotIsRefused) {
  const File file = example();
  for (std::size_t size = 0; size < file.snapshot; ++size) {
    EXPECT_FALSE(decode(std::string_view(file.bytes).substr(0, size))) << size;
  }
}

TEST(DataFormat, EveryFlippedBitIsRefused) {
  const File file = example();
  for (std::size_t byte = 0; byte < file.bytes.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = file.bytes;
      damaged[byte] = static_cast<char>(static_cast<unsigned char>(damaged[byte]) ^ (1U << bit));
      EXPECT_FALSE(decode(damaged)) << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(DataFormat, RecordsMissingDoubledOrSwappedAreRefused) {
  const File file = example();
  const std::string head = file.bytes.substr(0, file.snapshot);
  const std::string first = file.bytes.substr(file.snapshot, file.ends[0] - file.snapshot);
  const std::string second = file.bytes.substr(file.ends[0], file.ends[1] - file.ends[0]);
  const std::string third = file.bytes.substr(file.ends[1]);
  ASSERT_TRUE(decode(head + first + second + third));
  for (const std::string& wrong :
       {head + second, head + first + third, head + second + first + third, head + first + first,
        head + first + second + third + third, head + head, head + "x" + std::string(20, 'y')}) {
    EXPECT_FALSE(decode(wrong));
  }
}

TEST(DataFormat, ZerosAtTheEndWereNeverWritten) {
  const File file = example();
  for (const std::size_t zeros : {1U, 12U, 4096U}) {
    const auto contents = decode(file.bytes + std::string(zeros, '\0'));
    ASSERT_TRUE(contents) << contents.error().message;
    EXPECT_EQ(contents->valid_bytes, file.bytes.size());
  }
}

TEST(DataFormat, SaysWhatIsWrongAndWhere) {
  File file = example();
  file.bytes[file.ends[0] + 20] ^= 1;
  EXPECT_EQ(decode(file.bytes).error().message, fmt::format("a checksum is wrong at byte {}", file.ends[0]));
  EXPECT_EQ(decode("apiVersion: v1\n").error().message, "it is not a data file of address-sandbox");
}

}  // namespace
}  // namespace sandbox::data
