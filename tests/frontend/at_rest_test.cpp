// Data at rest: tensors that no kernel works on have (almost) no padding, and steps read them as they are.
#include <map>

#include "runtime/buffer.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::at_rest_test {
namespace {

constexpr double most = 1.15;  // bytes of memory per byte of payload

double payload(const Type& type) { return static_cast<double>(type.shape.elements().factor()) * static_cast<double>(size_of(type.dtype)); }

/// Bytes in live buffers that `make` adds, per byte of its result's elements.
template <class F>
double memory_of(F&& make) {
  const std::size_t before = runtime::memory_use().live;
  const Tensor tensor = make();
  return static_cast<double>(runtime::memory_use().live - before) / payload(tensor.type());
}

std::vector<Type> data_sets() {
  std::vector<Type> types;
  for (const DType dtype : {DType::f32, DType::u8, DType::i32})
    for (const Shape& shape : {Shape{500, 32, 32, 3}, Shape{200000, 2}, Shape{50000, 30}, Shape{30000, 3, 3}, Shape{70000, 18}, Shape{20000, 33}})
      types.push_back({dtype, shape});
  return types;
}

TEST(AtRest, DataHasAlmostNoPadding) {
  for (const Type& type : data_sets()) {
    SCOPED_TRACE(str(type));
    const std::vector<std::byte> bytes(static_cast<std::size_t>(payload(type)));
    EXPECT_LE(memory_of([&] { return Tensor::from_bytes(type, bytes.data()); }), most);
    EXPECT_LE(memory_of([&] { return Tensor::zeros(type); }), most);
    EXPECT_LE(memory_of([&] { return Tensor::filled(type, 3); }), most);
  }
}

TEST(AtRest, SoDoLargeResultsOfOps) {
  for (const Type& type : data_sets()) {
    SCOPED_TRACE(str(type));
    const Tensor x = Tensor::filled(type, 3);
    EXPECT_LE(memory_of([&] { return cast(x, DType::f32) * (1.0f / 255); }), most);
    EXPECT_LE(memory_of([&] { return slice(x, 0, 10, type.shape[0].factor() - 10); }), most);
    EXPECT_LE(memory_of([&] { return concat({x, x}, 0); }), most);
    EXPECT_LE(memory_of([&] { return gather_rows(x, Tensor::zeros({DType::i32, {type.shape[0]}})); }), most);
  }
}

/// What is small is padded, as kernels are fastest with.
TEST(AtRest, SmallResultsArePadded) {
  for (const std::int64_t rows : {2, 1000, 8191, 8192, 100000}) {
    const Type type{DType::f32, {rows, 5}};
    EXPECT_EQ(Tensor::result_is_unpadded(type), rows >= 8192);
    EXPECT_EQ((Tensor::zeros(type) + 1.0f).is_unpadded(), rows >= 8192);
    EXPECT_TRUE(Tensor::at_rest(type).is_unpadded());
  }
}

TEST(AtRest, TheValueIsTheSame) {
  const Tensor x = random({3, 4, 5, 3}, 1), y = x.padded();
  EXPECT_TRUE(x.is_unpadded());
  EXPECT_FALSE(y.is_unpadded());
  EXPECT_EQ(x.to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(str(x), str(y));
  EXPECT_EQ((x + y).to_vector<float>(), (y + y).to_vector<float>());
  EXPECT_EQ(x[1].to_vector<float>(), y[1].to_vector<float>());
}

/// Rows that would grow by more than 15 %, whatever their number; a vector and rows as long as N have no padding that matters.
TEST(AtRest, DependsOnTheLengthOfRowsAlone) {
  for (const std::int64_t columns : {2, 3, 13, 17, 20, 25, 27, 33, 34}) EXPECT_TRUE(rests_unpadded({Dim::batch(), columns})) << columns;
  for (const std::int64_t columns : {0, 1, 14, 16, 21, 28, 30, 35, 70, 1000}) EXPECT_FALSE(rests_unpadded({Dim::batch(), columns})) << columns;
  EXPECT_TRUE(rests_unpadded({1, 3}));
  EXPECT_FALSE(rests_unpadded({3}));
  EXPECT_FALSE(rests_unpadded({3, Dim::batch()}));
}

// ---- steps ----

TEST(AtRest, SoDoResultsOfSteps) {
  NEEDS_CODEGEN();
  auto step = compile([](const Tensor& x) { return std::vector{x * 2.0f, sum(x, {1}, true)}; });
  for (const std::int64_t rows : {1, 2, 20000}) {
    const Tensor x = random({rows, 5}, 1);
    EXPECT_TRUE(step(x)[0].is_unpadded());
    EXPECT_EQ(step(x)[0].to_vector<float>(), (x * 2.0f).to_vector<float>());
  }
  const Tensor x = random({20000, 5}, 1);
  auto one = compile([](const Tensor& x) { return x * 2.0f; });
  (void)one(x);
  EXPECT_LE(memory_of([&] { return one(x); }), most);
}

/// The results of a function of [N, 4, 6, columns] on one to three threads, whose bytes are the same: verified, and compared with those of the step
/// that returns them side by side.
template <class F>
void expect_written(const F& function, std::int64_t columns, const char* what) {
  for (const std::int64_t n : {1, 2, 7, 70}) {
    SCOPED_TRACE(str(what, ", ", n, " samples of ", columns, " columns"));
    const Tensor x = random({n, 4, 6, columns}, 3);
    std::vector<std::vector<float>> first;
    for (const int threads : {1, 2, 3}) {
      auto step = compile(function, {.threads = threads, .force = true});
      std::vector<std::vector<float>> values;
      for (const Tensor& result : step(x)) {
        EXPECT_EQ(result.is_unpadded(), rests_unpadded(result.shape()));
        values.push_back(cast(result, DType::f32).template to_vector<float>());
      }
      if (first.empty()) {
        const VerifyReport report = step.verify(x);
        EXPECT_TRUE(report.ok()) << report;
        first = values;
      }
      EXPECT_EQ(values, first) << threads << " threads";
    }
  }
}

/// Vectors across rows, beside numbers and rows that all rows share.
TEST(AtRest, ElementwiseStepsCrossRows) {
  NEEDS_CODEGEN();
  for (const std::int64_t columns : {2, 3, 4, 5, 13, 17, 33}) {
    const Parameter row("row", random({columns}, 1)), page("page", random({1, 1, 1, columns}, 2)), number("number", Tensor(0.7f));
    const Parameter least("least", random({columns}, 4));
    expect_written(
        [&](const Tensor& x) {
          const Tensor y = tanh(x * row + page) * number;
          return std::vector{y, where(x > least, y, x - 3.0f), x > 0.1f, cast(x * 100.0f, DType::i32)};
        },
        columns, "elementwise");
  }
}

/// What other kernels write, beside readers of the same results; an input itself; and what a loop over time stacks.
TEST(AtRest, KernelsWriteResultsWithoutPadding) {
  NEEDS_CODEGEN();
  for (const std::int64_t columns : {3, 20}) {
    nn::Conv2D convolution(columns, columns, {3, 3}, Activation::relu, {.padding = Padding::same()});
    nn::Dense dense(columns, 5);
    nn::GRU recurrent(columns, 6, {.return_sequences = true});
    expect_written(
        [&](const Tensor& x) {
          const Tensor h = convolution(x), pooled = max_pool2d(h, {2, 2}), classes = softmax(dense(x));
          return std::vector{h, pooled, mean(h, {1, 2}), classes, log(classes), max(x, {1}), x, reshape(h, {-1, 24, columns}), sum(h * x, {0, 1})};
        },
        columns, "kernels");
    expect_written([&](const Tensor& x) { return std::vector{recurrent(reshape(x, {-1, 24, columns}))}; }, columns, "loop over time");
    expect_written(
        [&](const Tensor& x) {
          const Tensor h = recurrent(reshape(x, {-1, 24, columns}));
          return std::vector{h, sum(h, {1})};
        },
        columns, "loop over time that is read");
  }
}

/// A step returns the same for data with padding and without, of any batch, and keeps no copy of what it reads in place.
TEST(AtRest, StepsReadItInPlace) {
  NEEDS_CODEGEN();
  const Tensor images = cast(random({1000, 8, 8, 3}, 1, 0, 255), DType::u8), table = random({1000, 5}, 2), labels = random_labels(1000, 4, 3);
  ASSERT_TRUE(images.is_unpadded());
  ASSERT_TRUE(table.is_unpadded());
  nn::Conv2D convolution(3, 4, {3, 3}, Activation::relu, {});
  nn::Dense dense(5, 4);
  auto step = compile([&](const Tensor& x, const Tensor& t, const Tensor& y) {
    const Tensor h = mean(convolution(cast(x, DType::f32) * (1.0f / 255)), {1, 2});
    return std::vector{h + dense(t), loss::sparse_categorical_crossentropy_from_logits(h + dense(t), y)};
  });
  const auto batch = [&](const Tensor& x, std::int64_t n) { return slice(x, 0, 0, n); };
  (void)step(images, table, labels);
  const std::size_t before = runtime::memory_use().live;
  std::vector<Tensor> whole = step(images, table, labels);
  whole.clear();
  EXPECT_LE(runtime::memory_use().live, before) << "a copy of the images has " << payload(images.type()) << " bytes";
  for (const std::int64_t n : {1, 7, 64, 999}) {
    const std::vector<Tensor> a = step(batch(images, n), batch(table, n), batch(labels, n)),
                              b = step(batch(images, n).padded(), batch(table, n).padded(), batch(labels, n));
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>()) << n;
  }
}

/// Convolutions of one group, of several, and of one a channel; gradients of their kernels; pools.
TEST(AtRest, ConvolutionsAndPoolsReadImagesInPlace) {
  NEEDS_CODEGEN();
  constexpr std::int64_t channels = 6;
  std::map<std::int64_t, Parameter> kernels;  // by the number of groups
  for (const std::int64_t groups : {1, 2, 6}) kernels.try_emplace(groups, str("kernel", groups), random({3, 2, channels / groups, 12}, 5));
  const auto read_in_all_ways = [&](const Tensor& x) {
    std::vector<Tensor> results{max_pool2d(x, {2, 3}), average_pool2d(x, {3, 2})};
    for (const auto& [groups, kernel] : kernels) {
      const Tensor y = conv2d(x, kernel, {.strides = {2}, .padding = Padding::around({1, 0}), .groups = groups});
      results.insert(results.end(), {y, grad(sum(square(y)), {kernel})[0]});
    }
    return results;
  };
  auto step = compile(read_in_all_ways, {.threads = 2, .force = true});
  for (const std::int64_t n : {1, 5, 40}) {
    const Tensor x = random({n, 9, 8, channels}, 4);
    ASSERT_TRUE(rests_unpadded(x.shape()));
    const VerifyReport report = step.verify(x);
    EXPECT_TRUE(report.ok()) << n << ": " << report;
  }
  EXPECT_THAT(step.explain(), testing::Not(testing::HasSubstr("copied to padded rows")));
}

}  // namespace
}  // namespace sinter::test::at_rest_test
