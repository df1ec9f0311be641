// The inputs that fuzzing begins with are what they should be: a fuzzer that begins with refused files gets nowhere.
#include <gtest/gtest.h>

#include "fuzz/target.h"
#include "ir/error.h"

namespace sinter::fuzz::seeds_test {
namespace {

TEST(Seeds, OfModelsWeightsEncodersAndStreamsAreAccepted) {
  for (const Target& target : targets()) {
    if (target.name != "command_line" && target.name != "keras" && target.name != "encoder" && target.name != "stream") continue;
    for (const auto& [name, bytes] : target.seeds()) {
      const Bytes seed(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      EXPECT_LE(seed.size(), target.most_bytes) << target.name << " " << name;
      if (name == "deep") EXPECT_THROW(target.run(seed), UserError);
      else EXPECT_NO_THROW(target.run(seed)) << target.name << " " << name;
    }
  }
}

}  // namespace
}  // namespace sinter::fuzz::seeds_test
