// Reshapes of values with data: in the same memory where the elements lie there alike.
#include <numeric>

#include "tests/frontend/helpers.h"

namespace sinter::test::reshaped_test {

namespace {

Tensor counted_up(const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(shape.elements().factor()));
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  return Tensor(numbers, shape);
}

struct Reshaping {
  Shape from, to;
  bool shares;
};

TEST(Reshaped, SharesMemoryWhereElementsLieAlike) {
  for (const auto& [from, to, shares] : std::vector<Reshaping>{{{4, 6, 16}, {4, 1, 6, 16}, true},
                                                               {{4, 6, 16}, {24, 16}, true},
                                                               {{24, 16}, {2, 12, 16}, true},
                                                               {{6, 5}, {2, 3, 5}, true},  // padded to 8 columns, both
                                                               {{2, 8}, {16}, true},       // no padding, nor in one row of 16
                                                               {{6, 16}, {12, 8}, true},   // no padding in either
                                                               {{6, 5}, {30}, false},      // pad lanes lie between
                                                               {{10}, {1, 10}, true},      // a row, and its pad lanes
                                                               {{10}, {10, 1}, false},     // ten rows of one number
                                                               {{10, 1}, {1, 10}, false},  // has no pad lanes, which must be 0
                                                               {{6, 5}, {5, 6}, false}}) {
    const Tensor x = counted_up(from).padded(), y = reshape(x, {to.begin(), to.end()});
    EXPECT_EQ(y.shape(), to);
    EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>()) << from << " as " << to;
    EXPECT_EQ(y.buffer() == x.buffer(), shares) << from << " as " << to;
    EXPECT_EQ(sum(y).item(), sum(x).item()) << "pad lanes are 0: " << from << " as " << to;
  }
}

TEST(Reshaped, KeepsItsValueWhenTheParameterIsAssigned) {
  NEEDS_CODEGEN();
  Parameter p("p", counted_up({2, 8}));
  const Tensor before = reshape(p, {16});
  auto step = compile([&] { p.assign(p.read() * 2); });
  step();
  EXPECT_EQ(before.to_vector<float>()[15], 16);
  EXPECT_EQ(p.read().to_vector<float>()[15], 32);
}

TEST(Reshaped, PassesGradientsOn) {
  Parameter p("p", counted_up({2, 8}));
  const Tensor x = reshape(p, {16}), loss = sum(x * x);
  EXPECT_EQ(grad(loss, {p})[0].to_vector<float>(), (p.read() * 2).to_vector<float>());
}

/// A traced function that reads a captured tensor under two shapes, which are one piece of memory.
TEST(Reshaped, IsCapturedUnderBothShapes) {
  NEEDS_CODEGEN();
  const Tensor x = counted_up({2, 8}), y = reshape(x, {16});
  ASSERT_EQ(x.buffer(), y.buffer());
  auto step = compile([&] { return std::pair(sum(x, {0}), y * 2); });
  const auto [columns, twice] = step();
  EXPECT_EQ(columns.to_vector<float>(), sum(x, {0}).to_vector<float>());
  EXPECT_EQ(twice.to_vector<float>(), (y * 2).to_vector<float>());
}

}  // namespace

}  // namespace sinter::test::reshaped_test
