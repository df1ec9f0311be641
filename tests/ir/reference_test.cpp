// The double reference where its meaning is a decision: NaN, ties, integers, indices.
#include "ir/reference.h"

#include <cmath>
#include <limits>

#include "ir/attributes.h"
#include "tests/ir/expect_error.h"

namespace sinter::ir::reference_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Array row(DType dtype, std::vector<double> data) {
  Array a(dtype, {static_cast<std::int64_t>(data.size())});
  a.data = std::move(data);
  return a;
}

std::vector<double> apply(const Op& op, const std::vector<Array>& in) {
  std::vector<Type> types;
  std::vector<const Array*> pointers;
  for (const Array& a : in) {
    types.push_back({a.dtype, Shape::fixed(a.extents)});
    pointers.push_back(&a);
  }
  return evaluate(op, infer(op, types), pointers, 1).data;
}

TEST(Reference, NaNPasses) {
  const Array x = row(DType::f32, {nan, -1, 2});
  EXPECT_TRUE(std::isnan(apply(Relu{}, {x})[0]));
  EXPECT_TRUE(std::isnan(apply(Clip{{}, 0, 1}, {x})[0]));
  EXPECT_TRUE(std::isnan(apply(Max{0, 1}, {x})[0]));
  EXPECT_TRUE(std::isnan(apply(Max{0, 1}, {row(DType::f32, {1, 2, nan})})[0]));
  EXPECT_TRUE(std::isnan(apply(Softmax{}, {x})[1]));
  EXPECT_EQ(apply(Argmax{}, {row(DType::f32, {3, nan, 7, nan})}), (std::vector<double>{1}));
  EXPECT_EQ(apply(Less{}, {x, row(DType::f32, {0, 0, 0})}), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(apply(NotEqual{}, {x, x}), (std::vector<double>{1, 0, 0}));
}

TEST(Reference, FirstMaximumWins) { EXPECT_EQ(apply(Argmax{}, {row(DType::f32, {1, 5, 5})}), (std::vector<double>{1})); }

TEST(Reference, SoftmaxOfGreatNumbers) {
  EXPECT_EQ(apply(Softmax{}, {row(DType::f32, {1e30, 0})}), (std::vector<double>{1, 0}));
  EXPECT_EQ(apply(LogSoftmax{}, {row(DType::f32, {1e30, 0})}), (std::vector<double>{0, -1e30}));
}

TEST(Reference, IntegersWrapAndCastsTruncate) {
  EXPECT_EQ(apply(Add{}, {row(DType::i32, {2147483647}), row(DType::i32, {1})}), (std::vector<double>{-2147483648.0}));
  EXPECT_EQ(apply(Neg{}, {row(DType::u32, {1})}), (std::vector<double>{4294967295.0}));
  // Products of more digits than a double has.
  EXPECT_EQ(apply(Mul{}, {row(DType::u32, {4294967295, 4294967291}), row(DType::u32, {4294967295, 3})}), (std::vector<double>{1, 4294967281}));
  EXPECT_EQ(apply(Mul{}, {row(DType::i32, {2147483647, -2147483647}), row(DType::i32, {2147483647, 2147483646})}),
            (std::vector<double>{1, 2147483646}));
  EXPECT_EQ(apply(Abs{}, {row(DType::i32, {-2147483648.0, -3})}), (std::vector<double>{-2147483648.0, 3}));
  EXPECT_EQ(apply(Minimum{}, {row(DType::i32, {-1, 5}), row(DType::i32, {1, 4})}), (std::vector<double>{-1, 4}));
  EXPECT_EQ(apply(Maximum{}, {row(DType::u32, {4294967295, 0}), row(DType::u32, {1, 4})}), (std::vector<double>{4294967295, 4}));
  Cast cast;
  cast.dtype = DType::i32;
  EXPECT_EQ(apply(cast, {row(DType::f32, {-1.9, 1.9, nan, inf, -inf})}), (std::vector<double>{-1, 1, 0, 2147483647, -2147483648.0}));
  cast.dtype = DType::u8;
  EXPECT_EQ(apply(cast, {row(DType::f32, {-3, 300})}), (std::vector<double>{0, 255}));
  EXPECT_EQ(apply(cast, {row(DType::i32, {-1, 257})}), (std::vector<double>{255, 1}));
  cast.dtype = DType::boolean;
  EXPECT_EQ(apply(cast, {row(DType::f32, {0, 0.5, nan})}), (std::vector<double>{0, 1, 1}));
}

TEST(Reference, IndicesAreChecked) {
  Array table(DType::f32, {2, 1});
  EXPECT_USER_ERROR(apply(GatherRows{}, {table, row(DType::i32, {2})}), "index 2 is outside [0, 2)");
  EXPECT_USER_ERROR(apply(OneHot{3}, {row(DType::i32, {-1})}), "index -1 is outside [0, 3)");
  Graph graph;
  graph.set_current_origin({"embedding", "m.cpp", 4});
  const Value index = graph.add_input({"index", {DType::i32, {Dim::batch()}}});
  graph.add_output(graph.add(OneHot{3}, {index}));
  const Array bad = row(DType::i32, {0, 3});
  EXPECT_USER_ERROR(evaluate(graph, {&bad, 1}, {}, 2), "[embedding, m.cpp:4] one_hot: index 3 is outside [0, 3)");
}

TEST(Attributes, NumbersPrintShortAndExact) {
  EXPECT_EQ(number_text(static_cast<double>(0.1f)), "0.1");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(std::stod(number_text(1.0 / 3)), 1.0 / 3);
}

}  // namespace
}  // namespace sinter::ir::reference_test
