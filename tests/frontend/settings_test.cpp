// What the environment asks for, and named values of checkpoints.
#include "frontend/compile/settings.h"

#include "frontend/checkpoint/saved_state.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::settings_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Settings, AreReadFromTheEnvironment) {
  const Settings usual = settings();
  const Environment dump("SINTER_DUMP", "stages"), stop("SINTER_STOP_AFTER", "group"), without("SINTER_WITHOUT", "fold_bias,group"),
      fault("SINTER_FAULT", "%1"), profile("SINTER_PROFILE", "trace.json"), perf("SINTER_PERF_MAP", "1");
  const Settings found = settings();
  EXPECT_EQ(found.dump_folder, "stages");
  EXPECT_EQ(found.stop_after, "group");
  EXPECT_THAT(found.without, ElementsAre("fold_bias", "group"));
  EXPECT_EQ(found.fault, "%1");
  EXPECT_EQ(found.profile, "trace.json");
  EXPECT_TRUE(found.perf_map);
  EXPECT_EQ(found.cache.folder, usual.cache.folder);
}

TEST(Settings, TheModeOfTheEnvironmentWins) {
  for (const Mode asked : {Mode::eager, Mode::graph}) {
    const Environment none("SINTER_MODE", "");
    EXPECT_EQ(effective_mode(asked), asked);
    const Environment eager("SINTER_MODE", "eager");
    EXPECT_EQ(effective_mode(asked), Mode::eager);
    const Environment graph("SINTER_MODE", "graph");
    EXPECT_EQ(effective_mode(asked), Mode::graph);
  }
  const Environment fast("SINTER_MODE", "fast");
  EXPECT_EQ(error_of([] { effective_mode(Mode::graph); }),
            "[SINTER_MODE] must be 'eager' or 'graph', got 'fast'; unset it to use what the program says");
}

TEST(SavedState, ListsWhatItHas) {
  SavedState state;
  state.set("epoch", 3);
  state.set("sums", std::vector<double>{0.5, 2});
  state.set("best", Tensor({1, 2}, {2}));
  EXPECT_TRUE(state.has("epoch") && state.has("best"));
  EXPECT_FALSE(state.has("worst"));
  EXPECT_THAT(state.all_numbers(), ElementsAre(Pair("epoch", ElementsAre(3)), Pair("sums", ElementsAre(0.5, 2))));
  ASSERT_EQ(state.all_tensors().size(), 1u);
  EXPECT_THAT(state.all_tensors().at("best").to_vector<float>(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace sinter::test::settings_test
