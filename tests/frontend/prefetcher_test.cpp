#include "frontend/train/prefetcher.h"

#include "tests/frontend/helpers.h"

namespace sinter::test::prefetcher_test {
namespace {

using testing::HasSubstr;

TEST(Prefetcher, GivesWhatIsMadeInOrderWhateverIsMadeAhead) {
  for (const std::size_t ahead : {0u, 1u, 3u}) {
    int made = 0;
    Prefetcher<int> queue([&]() -> std::optional<int> { return made < 5 ? std::optional(made++) : std::nullopt; }, ahead);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.next(), i);
    EXPECT_EQ(queue.next(), std::nullopt);
  }
  Prefetcher<int> failing([]() -> std::optional<int> { throw UserError("maker", "no more"); }, 2);
  EXPECT_THAT(error_of([&] { failing.next(); }), HasSubstr("[maker] no more"));
}

}  // namespace
}  // namespace sinter::test::prefetcher_test
