// Sequences of different lengths, and columns of data sets, which are arrays or sequences.
#include "frontend/train/step_rows.h"

#include <gmock/gmock.h>

#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::sequences_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Numbers = std::vector<std::int32_t>;

/// 1 2 3, none, 4, 5 6.
Sequences four() { return Sequences({{1, 2, 3}, {}, {4}, {5, 6}}); }

Numbers numbers_of(const Tensor& tensor) { return tensor.to_vector<std::int32_t>(); }

TEST(Sequences, HaveLengthsAndNoPadding) {
  const Sequences all = four();
  EXPECT_EQ(all.size(), 4);
  EXPECT_EQ(all.steps(), 6);
  EXPECT_EQ(all.longest(), 3);
  EXPECT_EQ(all.length(1), 0);
  EXPECT_EQ(all.length(3), 2);
  EXPECT_THAT(numbers_of(all.values()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(str(all.type()), "i32[4,T]");
  EXPECT_EQ(str(Sequences(random({5, 2}, 1), {0, 5}).type()), "f32[1,T,2]");
  EXPECT_EQ(Sequences().size(), 0);
}

TEST(Sequences, ArePaddedBehindOrBefore) {
  EXPECT_THAT(numbers_of(four().padded()), ElementsAre(1, 2, 3, 0, 0, 0, 4, 0, 0, 5, 6, 0));
  EXPECT_THAT(numbers_of(four().padded(PaddingSide::before, 4)), ElementsAre(0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 5, 6));
  const Sequences pairs(Tensor({1, 2, 3, 4}, {2, 2}), {0, 0, 2});
  const Tensor padded = pairs.padded();
  EXPECT_EQ(padded.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(padded.to_vector<float>(), ElementsAre(0, 0, 0, 0, 1, 2, 3, 4));
  EXPECT_EQ(Sequences(std::vector<Numbers>(2)).padded().shape(), (Shape{2, 1})) << "of no steps at all";
}

TEST(Sequences, ComeBackFromPadding) {
  const std::vector<std::int64_t> lengths{3, 0, 1, 2};
  for (const PaddingSide side : {PaddingSide::behind, PaddingSide::before}) {
    const Sequences back = Sequences::from_padded(four().padded(side, 5), lengths, side);
    EXPECT_THAT(numbers_of(back.values()), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(back.offsets(), ElementsAre(0, 3, 3, 4, 6));
  }
  EXPECT_THAT(Sequences::from_padded(Tensor::zeros({DType::f32, {2, 3, 4}})).offsets(), ElementsAre(0, 3, 6)) << "without lengths, of one length";
}

TEST(Sequences, AreTruncatedToTheirFirstOrLastSteps) {
  EXPECT_THAT(numbers_of(four().truncated(2, Keep::first).values()), ElementsAre(1, 2, 4, 5, 6));
  EXPECT_THAT(numbers_of(four().truncated(2, Keep::last).values()), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(four().truncated(1, Keep::last).offsets(), ElementsAre(0, 1, 1, 2, 3));
}

TEST(Sequences, ArePicked) {
  EXPECT_THAT(numbers_of(four().slice(1, 3).values()), ElementsAre(4));
  EXPECT_THAT(four().slice(1, 3).offsets(), ElementsAre(0, 0, 1));
  EXPECT_EQ(four().slice(1, 2).steps(), 0);
  const Sequences picked = four().select(Numbers{3, 1, 0});
  EXPECT_THAT(numbers_of(picked.values()), ElementsAre(5, 6, 1, 2, 3));
  EXPECT_THAT(picked.offsets(), ElementsAre(0, 2, 2, 5));
}

TEST(Sequences, SayWhereTheStepsOfABatchLie) {
  const StepRows behind = step_rows(four(), Numbers{3, 0}, 4, PaddingSide::behind), before = step_rows(four(), Numbers{3, 0}, 4, PaddingSide::before);
  EXPECT_THAT(numbers_of(behind.row), ElementsAre(4, 5, 0, 0, 0, 1, 2, 0));
  EXPECT_THAT(behind.exists.to_vector<std::uint8_t>(), ElementsAre(1, 1, 0, 0, 1, 1, 1, 0));
  EXPECT_THAT(numbers_of(before.row), ElementsAre(0, 0, 4, 5, 0, 0, 1, 2));
  EXPECT_THAT(before.exists.to_vector<std::uint8_t>(), ElementsAre(0, 0, 1, 1, 0, 1, 1, 1));
}

TEST(Sequences, RefuseWhatDoesNotFit) {
  const Tensor six = random({6}, 1);
  EXPECT_USER_ERROR(Sequences(six, {}), "[Sequences] offsets must begin with 0 and end with the number of steps, 6, got none");
  EXPECT_USER_ERROR(Sequences(six, {0, 7}), "[Sequences] offsets must begin with 0 and end with the number of steps, 6, got 0 and 7");
  EXPECT_USER_ERROR(Sequences(six, {-1, 6}), "[Sequences] offsets must begin with 0 and end with the number of steps, 6, got -1 and 6");
  EXPECT_USER_ERROR(Sequences(six, {0, 4, 3, 6}), "[Sequences] offset 2 is 3, after 4; offsets never descend");
  EXPECT_USER_ERROR(Sequences(Tensor(1.0f), {0, 1}), "[Sequences] values must be [steps, features...] of all sequences, one behind the other");
  EXPECT_USER_ERROR(Sequences(std::vector<Numbers>{}), "[Sequences] needs at least one sequence, got none");
  EXPECT_USER_ERROR(Sequences().padded(), "[Sequences] there are no sequences");
  EXPECT_USER_ERROR(four().truncated(0, Keep::first), "[Sequences] at least one step must be kept, got 0");
  EXPECT_USER_ERROR(four().padded(PaddingSide::behind, 2), "[Sequences] sequence 0 has 3 steps, more than 2; truncate it");
  EXPECT_USER_ERROR(four().slice(2, 5), "[Sequences] sequences [2, 5) of 4 are empty or out of range");
  EXPECT_USER_ERROR(four().select(Numbers{}), "[Sequences] needs the number of at least one sequence");
  EXPECT_USER_ERROR(four().select(Numbers{0, 4}), "[Sequences] sequence 4 is outside of [0, 4)");
  EXPECT_USER_ERROR(four().select(Numbers{-1}), "[Sequences] sequence -1 is outside of [0, 4)");
  const Tensor padded = Tensor::zeros({DType::f32, {2, 3, 4}});
  EXPECT_USER_ERROR(Sequences::from_padded(padded, std::vector<std::int64_t>{3}), "[Sequences] needs a length for each of 2 sequences, got 1");
  EXPECT_USER_ERROR(Sequences::from_padded(padded, std::vector<std::int64_t>{3, 4}), "[Sequences] sequence 1 has the length 4, outside [0, 3]");
  EXPECT_USER_ERROR(Sequences::from_padded(padded, std::vector<std::int64_t>{-1, 3}), "[Sequences] sequence 0 has the length -1, outside [0, 3]");
  EXPECT_USER_ERROR(Sequences::from_padded(six), "[Sequences] padded sequences are [n, T, features...], got f32[6]");
}

TEST(Columns, AreArraysOrSequences) {
  const Column array = random({4, 2}, 1), sequences = four();
  EXPECT_FALSE(array.has_sequences());
  EXPECT_TRUE(sequences.has_sequences());
  EXPECT_EQ(array.size(), 4);
  EXPECT_EQ(sequences.size(), 4);
  EXPECT_EQ(array.to_vector<float>(), random({4, 2}, 1).to_vector<float>());
  EXPECT_EQ(sum(array + 1).item(), sum(random({4, 2}, 1) + 1).item()) << "an array is an operand";
  EXPECT_THAT(error_of([&] { (void)sequences.array(); }), HasSubstr("[Column] holds sequences, i32[4,T], and an array is needed"));
  EXPECT_EQ(Column().size(), 0);
  EXPECT_FALSE(Column().defined());

  const Columns two{random({4, 2}, 1), four()};
  EXPECT_EQ(two.size(), 2u);
  EXPECT_THAT(error_of([&] { (void)two.only(); }), HasSubstr("[Columns] exactly one array is needed, but there are 2"));
  EXPECT_THAT(error_of([&] { (void)two.arrays(); }), HasSubstr("[Column] holds sequences"));
  EXPECT_TRUE(Columns(Tensor()).empty());
  EXPECT_EQ((Columns{random({4, 2}, 1), random({4}, 2)}.arrays().size()), 2u);
}

TEST(Columns, OfDataSetsArePickedAlike) {
  const Dataset data{.x = {four(), random({4, 2}, 1)}, .y = Tensor({10, 11, 12, 13}, {4})};
  EXPECT_EQ(data.size(), 4);
  const Dataset slice = data.slice(2, 4);
  EXPECT_THAT(numbers_of(slice.x[0].sequences().values()), ElementsAre(4, 5, 6));
  EXPECT_EQ(slice.x[1].shape(), (Shape{2, 2}));
  const Dataset picked = data.select(std::vector<std::size_t>{3, 0});
  EXPECT_THAT(picked.x[0].sequences().offsets(), ElementsAre(0, 2, 5));
  EXPECT_THAT(picked.y[0].to_vector<float>(), ElementsAre(13, 10));
  const std::vector<Column> parts{four().slice(0, 1), four().slice(2, 4)};
  const Column all = joined(parts);
  EXPECT_THAT(numbers_of(all.sequences().values()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(all.sequences().offsets(), ElementsAre(0, 3, 4, 6));
}

}  // namespace
}  // namespace sinter::test::sequences_test
