// The mutations of .sinter files: taken apart and put together, they get past checksums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/container/mutate.h"
#include "fuzz/container/sections.h"
#include "fuzz/container/wire.h"
#include "fuzz/resume.h"
#include "fuzz/targets.h"
#include "ir/error.h"
#include "runtime/file/container.h"

namespace sinter::fuzz::container_test {
namespace {

std::string some_file() { return model_seeds().front().second; }

TEST(Sections, AreTakenApartAndPutTogetherAgain) {
  for (const auto& [name, file] : model_seeds()) {
    const auto sections = split_file(file);
    ASSERT_TRUE(sections) << name;
    EXPECT_EQ(join_file(*sections), file) << name;
  }
  EXPECT_FALSE(split_file(""));
  EXPECT_FALSE(split_file("SINTER\r\n"));
  EXPECT_FALSE(split_file(some_file().substr(0, 200)));
}

TEST(Sections, RepairMendsChecksums) {
  std::string file = some_file();
  file.back() = static_cast<char>(file.back() ^ 1);
  const auto load = [](const std::string& bytes) {
    try {
      (void)runtime::from_bytes(bytes, "file");
      return std::string();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(load(file), ::testing::HasSubstr("the checksum of section"));
  repair_file(file);
  EXPECT_THAT(load(file), ::testing::Not(::testing::HasSubstr("checksum")));
}

TEST(Wire, MessagesAreReadAndWrittenAgain) {
  for (const auto& [name, file] : model_seeds()) {
    const auto sections = split_file(file);
    ASSERT_TRUE(sections) << name;
    for (const Section& section : *sections) {
      if (section.kind == 3) continue;
      const auto message = parse_wire(section.bytes);
      ASSERT_TRUE(message) << name;
      EXPECT_EQ(wire_bytes(*message), section.bytes) << name;
    }
  }
  EXPECT_FALSE(
      parse_wire("\x0a\x05"
                 "abc"));
}

/// Stands for libFuzzer's: changes a byte.
std::size_t change_a_byte(std::uint8_t* data, std::size_t size, std::size_t) {
  if (size) data[size / 2] = static_cast<std::uint8_t>(data[size / 2] + 1);
  return size;
}

TEST(Mutations, MostlyGetPastChecksumsAndFitTheBuffer) {
  const std::string file = some_file();
  int accepted = 0, checksum = 0, changed = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::vector<std::uint8_t> data(file.begin(), file.end());
    data.resize(file.size() + 100);
    const std::size_t size = mutate_container(data.data(), file.size(), data.size(), seed, change_a_byte);
    ASSERT_LE(size, data.size());
    const std::string mutated(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    changed += mutated != file;
    try {
      (void)runtime::from_bytes(mutated, "file");
      ++accepted;
    } catch (const UserError& error) {
      checksum += std::string_view(error.what()).find("checksum") != std::string_view::npos;
    }
  }
  EXPECT_GT(changed, 950);
  EXPECT_LT(checksum, 250);
  EXPECT_GT(accepted, 100) << "some are valid files of another content";
}

TEST(Targets, ARunGoesOnFromTheSeedsThatAreCheckpoints) {
  int checkpoints = 0;
  for (const auto& [name, bytes] : checkpoint_seeds()) {
    if (name != "within-an-epoch" && name != "ended") continue;
    ++checkpoints;
    EXPECT_NO_THROW(resume_from({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})) << name;
  }
  EXPECT_EQ(checkpoints, 2);
}

TEST(Targets, HaveSeedsAndAnswerThem) {
  for (const Target& target : targets())
    for (const auto& [name, bytes] : target.seeds()) {
      EXPECT_LE(bytes.size(), target.most_bytes) << target.name << " " << name;
      EXPECT_NO_THROW(run(target, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()})) << target.name << " " << name;
    }
  try {
    find_target("nothing");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("[fuzz] there is no target 'nothing'; there are sinter_file, checkpoint, programs"));
  }
}

}  // namespace
}  // namespace sinter::fuzz::container_test
