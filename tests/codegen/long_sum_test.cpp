// Sums of many terms: their error does not grow with the number of terms, and they have the same bytes on any number of threads.
#include "tests/codegen/raw_step.h"

namespace sinter::test::long_sum_test {
namespace {

Tensor filled(const Shape& shape, double value) { return Tensor::filled({DType::f32, shape}, value); }

/// The greatest relative error of the elements of a tensor that are all to be `exact`.
double worst_error(const Tensor& got, double exact) {
  double worst = 0;
  for (const float x : got.to_vector<float>()) worst = std::max(worst, std::abs(x - exact) / std::abs(exact));
  return worst;
}

void append(std::vector<float>& values, const Tensor& more) {
  for (const float x : more.to_vector<float>()) values.push_back(x);
}

/// Runs f compiled on 1 and 3 threads, which must give the same bytes, and eagerly; each element of each result is to be off by at most `allowed`.
template <class F>
void expect_accurate(const F& f, const Tensor& x, double exact, double allowed) {
  auto one = compile([&](const Tensor& in) { return f(in); }, StepOptions{.threads = 1, .force = true});
  auto three = compile([&](const Tensor& in) { return f(in); }, StepOptions{.threads = 3, .force = true});
  const Tensor compiled = one(x), eager = f(x);
  const Tensor again = three(x);
  EXPECT_EQ(compiled.to_vector<float>(), again.to_vector<float>());
  EXPECT_LE(worst_error(compiled, exact), allowed) << "compiled";
  EXPECT_LE(worst_error(eager, exact), allowed) << "eager";
}

constexpr float term = 0.6931f;  // each addition to a long chain rounds in the same direction
constexpr std::int64_t many = 1'000'000;

TEST(LongSum, Columns) {
  for (const std::int64_t columns : {2, 30}) expect_accurate([](const Tensor& x) { return mean(x, {0}); }, filled({many, columns}, term), term, 1e-5);
}

/// Rows of more than eight columns are added in all columns together where these are more than a vector's, and vector by vector where they are not:
/// in the same order.
TEST(LongSum, OfManyColumnsHasTheBytesOfFew) {
  for (const auto& reduce : std::initializer_list<std::function<Tensor(const Tensor&)>>{[](const Tensor& x) { return sum(x * 0.7f, {1}); },
                                                                                        [](const Tensor& x) { return max(x, {1}); }})
    for (const std::int64_t rows : {17, 512, 513, 1999})
      for (const std::int64_t columns : {25, 42, 108}) {
        SCOPED_TRACE(str(rows, " rows of ", columns));
        const Tensor x = random({3, rows, columns}, 1);
        const Tensor whole = compile(reduce)(x);
        for (std::int64_t first = 0; first < columns; first += 16) {
          const std::int64_t last = std::min(first + 16, columns);
          EXPECT_EQ(slice(whole, 1, first, last).to_vector<float>(), compile(reduce)(slice(x, 2, first, last)).to_vector<float>()) << first;
        }
      }
}

/// Rows of one to eight columns fill vectors together: those of inputs, which follow each other, and of values with padding between rows.
TEST(LongSum, ShortRows) {
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 6, 7, 8, 9})
    for (const std::int64_t rows : {1, 15, 64, 77, 4099, 9001}) {
      SCOPED_TRACE(str(rows, " rows of ", columns));
      const auto all = [](const Tensor& x) {
        const Tensor padded = matmul(x, filled({x.shape().back(), x.shape().back()}, 0.5));
        return std::tuple(sum(x, {1}), max(x, {1}), prod(x * 0.001f + 1, {1}), mean(x, {1}, true), sum(padded, {1}), max(padded, {1}),
                          sum(reshape(x, {-1, x.shape()[2], x.shape()[1]}), {1}));
      };
      const Tensor x = random({3, rows, columns}, static_cast<std::uint64_t>(rows));
      auto one = compile(all, StepOptions{.threads = 1, .force = true});
      const auto report = one.verify(x);
      EXPECT_TRUE(report.ok()) << report;
      const auto bytes = [&](int threads) {
        std::vector<float> values;
        const auto results = compile(all, StepOptions{.threads = threads, .force = true})(x);
        std::apply([&](const auto&... t) { (append(values, t), ...); }, results);
        return values;
      };
      EXPECT_EQ(bytes(3), bytes(1));
    }
}

/// A number that is none is found wherever it is, and rows of zeros behind the last one change nothing.
TEST(LongSum, ShortRowsWithZerosBehindThem) {
  auto greatest = compile([](const Tensor& x) { return max(x, {1}); });
  auto total = compile([](const Tensor& x) { return sum(x, {1}); });
  for (const std::int64_t columns : {1, 2, 3, 5, 8})
    for (const std::int64_t rows : {5, 37, 100}) {
      SCOPED_TRACE(str(rows, " rows of ", columns));
      const Tensor x = random({1, rows, columns}, 7);
      EXPECT_EQ(total(concat(std::vector{x, filled({1, 61, columns}, 0)}, 1)).to_vector<float>(), total(x).to_vector<float>());
      for (const std::int64_t at : {std::int64_t{0}, rows / 2, rows - 1}) {
        std::vector<float> values = x.to_vector<float>();
        values[static_cast<std::size_t>((at + 1) * columns - 1)] = NAN;
        const std::vector<float> found = greatest(Tensor(values, Shape{1, rows, columns})).to_vector<float>();
        for (std::size_t c = 0; c < found.size(); ++c) EXPECT_EQ(std::isnan(found[c]), c + 1 == found.size()) << at << ", column " << c;
      }
    }
}

TEST(LongSum, Rows) {
  expect_accurate([](const Tensor& x) { return mean(x); }, filled({many, 2}, term), term, 1e-5);
  expect_accurate([](const Tensor& x) { return mean(x); }, filled({3 * many}, term), term, 1e-5);
  expect_accurate([](const Tensor& x) { return mean(x, {1}); }, filled({3, many}, term), term, 1e-5);
  expect_accurate([](const Tensor& x) { return mean(x, {1, 2}); }, filled({3, 40'000, 7}, term), term, 1e-5);
  expect_accurate([](const Tensor& x) { return mean(x, {1}); }, filled({2, 300'000, 3}, term), term, 1e-5);
}

TEST(LongSum, OfThousandsOfColumns) {
  expect_accurate([](const Tensor& x) { return softmax(x) * static_cast<float>(many); }, filled({2, many}, term), 1, 1e-5);
}

TEST(LongSum, ProductsOverTheBatch) {
  const double exact = double{term} * term * many;
  expect_accurate([](const Tensor& x) { return matmul(transpose(x), x); }, filled({many, 3}, term), exact, 1e-4);
  expect_accurate([](const Tensor& x) { return matmul(transpose(x), sum(x, {1}, true)); }, filled({many, 3}, term), 3 * exact, 1e-4);
  expect_accurate([](const Tensor& x) { return matmul(transpose(x), x); }, filled({many / 10, 70}, term), exact / 10, 1e-4);
}

TEST(LongSum, ProductsOfOnesAreExact) {
  const Tensor x = filled({20'000'000, 1}, 1.0f);
  expect_accurate([](const Tensor& x) { return matmul(transpose(x), x); }, x, 2e7, 0);
}

TEST(LongSum, ProductsOfLongRows) {
  const std::int64_t k = 100'000;
  const double exact = double{term} * term * static_cast<double>(k);
  const Tensor w = filled({k, 5}, term);
  expect_accurate([&](const Tensor& x) { return matmul(x, w); }, filled({3, k}, term), exact, 1e-4);
  expect_accurate([&](const Tensor& x) { return matmul(x, transpose(w)); }, filled({2, 5}, term), double{term} * term * 5, 1e-6);
  const Tensor v = filled({5, k}, term);
  expect_accurate([&](const Tensor& x) { return matmul(x, transpose(v)); }, filled({3, k}, term), exact, 1e-4);
  expect_accurate([&](const Tensor& x) { return matmul(x, transpose(x)); }, filled({2, 3, k}, term), exact, 1e-4);
  expect_accurate([&](const Tensor& x) { return matmul(transpose(x), x); }, filled({2, k, 3}, term), exact, 1e-4);
}

TEST(LongSum, GradientOfAMean) {
  Parameter w("w", filled({2, 1}, 0.5f));
  const auto gradient = [&](const Tensor& x) { return grad(mean(matmul(x, w)), {w})[0]; };
  expect_accurate(gradient, filled({many, 2}, term), term, 1e-5);
}

TEST(LongSum, WeightsOfConvolutions) {
  // 400 images of 16 × 16 pixels: 102,400 terms for the weight in the middle; 1 × 1 kernels, so that every weight has all terms.
  for (const std::int64_t channels : {1, 8}) {
    Parameter w("w", filled({1, 1, channels, 8}, 0.5f));
    const auto gradient = [&](const Tensor& x) { return grad(sum(conv2d(x, w)), {w})[0]; };
    expect_accurate(gradient, filled({400, 16, 16, channels}, term), double{term} * 400 * 256, 1e-4);
  }
  Parameter w("w", filled({1, 1, 1, 8}, 0.5f));  // depthwise
  const auto gradient = [&](const Tensor& x) { return grad(sum(conv2d(x, w, {.groups = 8})), {w})[0]; };
  expect_accurate(gradient, filled({400, 16, 16, 8}, term), double{term} * 400 * 256, 1e-4);
}

TEST(LongSum, WeightsOfWinogradConvolutions) {
  Parameter w("w", filled({3, 3, 8, 8}, 0.5f));
  const auto gradient = [&](const Tensor& x) { return slice(slice(grad(sum(conv2d(x, w)), {w})[0], 0, 1, 2), 1, 1, 2); };
  expect_accurate(gradient, filled({400, 18, 18, 8}, term), double{term} * 400 * 256, 1e-4);
}

TEST(LongSum, RowsOfAnEmbedding) {
  for (const std::int64_t columns : {1, 5}) {
    Parameter table("table", filled({3, columns}, 0.5f));
    const auto gradient = [&](const Tensor& x) {
      const Tensor index = cast(x * 0.0f, DType::i32);
      return slice(grad(mean(gather_rows(table, index)), {table})[0] * static_cast<float>(columns), 0, 0, 1);
    };
    expect_accurate(gradient, filled({many}, term), 1, 1e-4);
  }
}

TEST(LongSum, OfInfinities) {
  auto step = compile([](const Tensor& x) { return std::tuple(sum(x, {0}), matmul(transpose(x), x)); });
  std::vector<float> values(200'000, 1.0f);
  values[77'777] = std::numeric_limits<float>::infinity();
  const Tensor x(values, {100'000, 2});
  const auto [sums, products] = step(x);
  for (const Tensor& got : {sums, products, sum(x, {0}), matmul(transpose(x), x)}) {
    const auto v = got.to_vector<float>();
    EXPECT_TRUE(std::isinf(v.back())) << got;
    EXPECT_EQ(v.front(), 100'000) << got;
  }
}

TEST(LongSum, IsVerifiedByABoundThatDoesNotGrow) {
  auto step = compile([](const Tensor& x) { return std::tuple(sum(x, {0}), matmul(transpose(x), x)); });
  const VerifyReport report = step.verify(random({100'000, 3}, 1) + 1.0f);
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
}  // namespace sinter::test::long_sum_test
