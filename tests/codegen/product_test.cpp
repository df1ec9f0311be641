// Generated products: every combination of odd sizes in every position against the double reference, the same bytes for each vector target and
// whatever rows surround them; rows picked by an index; sizes beyond all caches.
#include <cmath>
#include <limits>

#include "codegen/kernels/product_plan.h"
#include "codegen/schedule.h"
#include "ir/kernel.h"
#include "tests/codegen/targets.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::product_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::int64_t> sizes{1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 70, 127};

struct Form {
  const char* name;
  bool transpose_a, transpose_b;
};
const Form forward{"x·w", false, false}, input_gradient{"dz·wT", false, true}, weight_gradient{"xT·dz", true, false}, both{"xT·wT", true, true};

/// A matrix of the front end, dense on the host.
struct Matrix {
  Tensor tensor;
  std::vector<float> data;
  std::int64_t columns;
  Matrix(std::int64_t rows, std::int64_t cols, std::uint64_t stream)
      : tensor(random({rows, cols}, stream)), data(tensor.to_vector<float>()), columns(cols) {}
  double at(std::int64_t row, std::int64_t column) const { return data[static_cast<std::size_t>(row * columns + column)]; }
};

/// Fails if element i, j of op(a)·op(b) is further from the exact sum of its k terms than verify() allows a sum of so many.
void expect_element(const Form& form, const Matrix& a, const Matrix& b, std::int64_t k, std::int64_t i, std::int64_t j, float got) {
  double sum = 0, magnitude = 0;
  for (std::int64_t x = 0; x < k; ++x) {
    const double term = (form.transpose_a ? a.at(x, i) : a.at(i, x)) * (form.transpose_b ? b.at(j, x) : b.at(x, j));
    sum += term;
    magnitude += std::abs(term);
  }
  ASSERT_NEAR(got, sum, 2.0 * static_cast<double>(k) * std::ldexp(magnitude, -24)) << form.name << " k=" << k << " at " << i << "," << j;
}

void expect_product(const Form& form, const Matrix& a, const Matrix& b, std::int64_t m, std::int64_t k, std::int64_t f, const std::vector<float>& c) {
  ASSERT_EQ(c.size(), static_cast<std::size_t>(m * f));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < f; ++j) ASSERT_NO_FATAL_FAILURE(expect_element(form, a, b, k, i, j, c[static_cast<std::size_t>(i * f + j)]));
}

/// a is [n, rows], leading with the batch; all b of `wide` columns in one step.
std::vector<std::vector<float>> run(const std::string& target, StepCore& step, const std::vector<const Tensor*>& in) {
  const Environment environment("SINTER_TARGET", target.c_str());
  std::vector<std::vector<float>> results;
  for (const Tensor& out : step.call(in)) results.push_back(out.to_vector<float>());
  return results;
}

/// Sizes [N,k]·[k,f] with N of the batch: k and f are compiled in.
void sweep_rows(const Form& form, const std::vector<std::int64_t>& ks, const std::vector<std::int64_t>& fs) {
  const auto available = runnable_targets();
  for (const std::int64_t k : ks) {
    std::vector<Matrix> b;
    for (const std::int64_t f : fs) b.emplace_back(form.transpose_b ? f : k, form.transpose_b ? k : f, static_cast<std::uint64_t>(1000 + f));
    const auto products = [&](std::span<const Tensor> in) {
      std::vector<Tensor> out;
      for (const Matrix& w : b) out.push_back(matmul(in[0], w.tensor, false, form.transpose_b));
      return out;
    };
    const Matrix a(sizes.back(), k, 7);
    std::vector<std::vector<float>> whole;
    for (const std::string& target : available) {
      StepCore step(products, {}, std::source_location::current());
      const auto all = run(target, step, {&a.tensor});
      for (std::size_t i = 0; whole.empty() && i < b.size(); ++i) expect_product(form, a, b[i], sizes.back(), k, fs[i], all[i]);
      if (whole.empty()) whole = all;
      EXPECT_EQ(all, whole) << target;
      for (const std::int64_t n : sizes) {  // a row does not know how many there are
        const Tensor part(std::vector<float>(a.data.begin(), a.data.begin() + n * k), {n, k});
        const auto some = run(target, step, {&part});
        for (std::size_t i = 0; i < b.size(); ++i)
          ASSERT_TRUE(std::equal(some[i].begin(), some[i].end(), whole[i].begin())) << target << " n=" << n << " k=" << k << " f=" << fs[i];
      }
      EXPECT_EQ(step.compile_count(), 1u);
    }
  }
}

/// Sizes [m,N]·[N,f] with N of the batch: m and f are compiled in.
void sweep_contraction(const Form& form, const std::vector<std::int64_t>& ms, const std::vector<std::int64_t>& fs) {
  const auto available = runnable_targets();
  for (const std::int64_t m : ms) {
    const auto products = [&](std::span<const Tensor> in) {
      std::vector<Tensor> out;
      for (const Tensor& z : in.subspan(1)) out.push_back(matmul(in[0], z, true, false));
      return out;
    };
    std::vector<std::unique_ptr<StepCore>> steps;
    for (std::size_t t = 0; t < available.size(); ++t)
      steps.push_back(std::make_unique<StepCore>(products, StepOptions{}, std::source_location::current()));
    for (const std::int64_t n : sizes) {
      const Matrix a(n, m, 8);
      std::vector<Matrix> b;
      for (const std::int64_t f : fs) b.emplace_back(n, f, static_cast<std::uint64_t>(2000 + f));
      std::vector<const Tensor*> in{&a.tensor};
      for (const Matrix& z : b) in.push_back(&z.tensor);
      std::vector<std::vector<float>> first;
      for (std::size_t t = 0; t < available.size(); ++t) {
        const auto got = run(available[t], *steps[t], in);
        for (std::size_t i = 0; t == 0 && i < b.size(); ++i) expect_product(form, a, b[i], m, n, fs[i], got[i]);
        if (t == 0) first = got;
        EXPECT_EQ(got, first) << available[t] << " m=" << m << " n=" << n;
        EXPECT_EQ(steps[t]->compile_count(), 1u);
      }
    }
  }
}

TEST(Product, OddSizesForward) { sweep_rows(forward, sizes, sizes); }
TEST(Product, OddSizesInputGradient) { sweep_rows(input_gradient, sizes, sizes); }
TEST(Product, OddSizesWeightGradient) { sweep_contraction(weight_gradient, sizes, sizes); }

/// Right operands that the step packs: wide ones where there are rows enough, large ones that are transposed, and those of N rows.
TEST(Product, OddSizesPacked) {
  sweep_rows(forward, {1, 9, 257, 300}, {512, 513, 530});
  sweep_rows(input_gradient, {129, 300}, {131, 520});
  sweep_contraction(weight_gradient, {15, 16, 70}, {513, 600});
}

/// Right operands so large that chunks are cut into pieces of columns, the last of which is narrower.
TEST(Product, OddSizesInPiecesOfColumns) {
  sweep_rows(forward, {520}, {512, 530, 650});
  sweep_rows(input_gradient, {513}, {520, 777});
}

TEST(Product, BeyondTheCaches) {
  for (const Form& form : {forward, input_gradient, weight_gradient, both}) {
    const std::int64_t m = 333, k = 1100, f = 1201;
    const Matrix a(form.transpose_a ? k : m, form.transpose_a ? m : k, 1), b(form.transpose_b ? f : k, form.transpose_b ? k : f, 2);
    auto step = compile([&](const Tensor& x, const Tensor& y) { return matmul(x, y, form.transpose_a, form.transpose_b); },
                        StepOptions{.kinds = {InputKind::fixed, InputKind::fixed}});
    const std::vector<float> c = step(a.tensor, b.tensor).to_vector<float>();
    for (std::int64_t i = 0; i < m; i += 37)
      for (std::int64_t j = 0; j < f; j += 29) {
        expect_element(form, a, b, k, i, j, c[static_cast<std::size_t>(i * f + j)]);
      }
  }
}

/// Few rows are divided into even tiles, shorter than those of many: the same bytes, and no row is left out.
TEST(Product, OfAnyNumberOfRows) {
  const Tensor numbers = random({70, 300}, 1), bytes = cast(random({70, 300}, 2, 0, 255), DType::u8);
  for (const std::int64_t columns : {10, 30, 64, 70, 256}) {
    const Tensor w = random({300, columns}, 3), v = random({90, columns}, 4);
    auto step = compile([&](const Tensor& x, const Tensor& u) {
      return std::vector{relu(matmul(x, w) + 0.5f), matmul(slice(x, 1, 0, 90), v), matmul(cast(u, DType::f32) * (1.0f / 255), w)};
    });
    const std::vector<Tensor> all = step(numbers, bytes);
    for (std::int64_t n = 1; n < 70; n += n < 50 ? 1 : 7) {
      const std::vector<Tensor> some = step(slice(numbers, 0, 0, n), slice(bytes, 0, 0, n));
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(some[i].to_vector<float>(), slice(all[i], 0, 0, n).to_vector<float>())
            << columns << " columns, result " << i << " of " << n << " rows";
    }
    const VerifyReport report = step.verify(slice(numbers, 0, 0, 8), slice(bytes, 0, 0, 8));
    EXPECT_TRUE(report.ok()) << report;
  }
}

TEST(Product, OfFourThousandCubed) {
  const std::int64_t n = 4096;
  const Matrix a(n, n, 1), b(n, n, 2);
  auto step = compile([](const Tensor& x, const Tensor& y) { return matmul(x, y); }, StepOptions{.kinds = {InputKind::batch, InputKind::fixed}});
  const std::vector<float> c = step(a.tensor, b.tensor).to_vector<float>();
  for (std::int64_t i = 5; i < n; i += 701)
    for (std::int64_t j = 3; j < n; j += 577) expect_element(forward, a, b, n, i, j, c[static_cast<std::size_t>(i * n + j)]);
}

/// Forward and backward of a layer that reads a data set's rows in place.
std::vector<std::vector<float>> picked(const Tensor& table, const Tensor& index, const Tensor& w, bool in_place, std::string* graph = nullptr) {
  auto step = compile(
      [&](const Tensor& rows, const Tensor& which) {
        const Tensor x = in_place ? gather_rows(rows, which) : gather_rows(rows, which) + 0.0f;
        const Tensor y = matmul(x, w);
        return std::pair(y, matmul(x, y, true, false));
      },
      StepOptions{.kinds = {InputKind::table, InputKind::batch}});
  const auto [y, dw] = step(table, index);
  if (graph) *graph = step.explain();
  return {y.to_vector<float>(), dw.to_vector<float>()};
}

TEST(Product, ReadsPickedRowsInPlace) {
  const Tensor table = random({50, 33}, 1), w = random({33, 20}, 2);
  for (const std::int64_t n : {1, 7, 64, 500}) {
    std::vector<std::int32_t> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(static_cast<std::int32_t>((i * 17 + 3) % 50));
    std::string text;
    const auto in_place = picked(table, {rows, {n}}, w, true, &text);
    EXPECT_THAT(text, ::testing::Not(HasSubstr("kernel 0: gather_rows")));
    EXPECT_EQ(in_place, picked(table, {rows, {n}}, w, false)) << n;
  }
}

TEST(Product, ConvertsPickedRowsOnTheWay) {
  for (const std::int64_t width : {7, 20, 33, 100}) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(50 * width));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 251);
    const Tensor table(bytes, {50, width}), w = random({width, 20}, 2), v = random({width, 90}, 3);
    const auto run = [&](bool stored, const Tensor& index, std::string* graph) {
      auto step = compile(
          [&](const Tensor& rows, const Tensor& which) {
            Tensor x = (cast(gather_rows(rows, which), DType::f32) - 12.5f) * (1.0f / 255);
            if (stored) x = relu(x + 1) + tanh(x);  // too much to do twice, and read by itself
            const Tensor y = matmul(x, w), z = matmul(x, v);
            std::vector<Tensor> out{y, z, matmul(x, y, true, false)};
            if (stored) out.push_back(x);
            return out;
          },
          StepOptions{.kinds = {InputKind::table, InputKind::batch}});
      const auto out = step(table, index);
      if (graph) *graph = step.explain();
      const VerifyReport report = step.verify(table, index);
      EXPECT_TRUE(report.ok()) << report;
      return out;
    };
    for (const std::int64_t n : {1, 7, 64, 500}) {
      std::vector<std::int32_t> rows;
      for (std::int64_t i = 0; i < n; ++i) rows.push_back(static_cast<std::int32_t>((i * 17 + 3) % 50));
      std::string text;
      const auto out = run(false, {rows, {n}}, &text);
      EXPECT_THAT(text, ::testing::Not(HasSubstr("gather_rows ->")));
      // The same from rows that are converted beforehand.
      std::vector<float> floats;
      for (const std::int32_t row : rows)
        for (std::int64_t j = 0; j < width; ++j)
          floats.push_back((static_cast<float>(bytes[static_cast<std::size_t>(row * width + j)]) - 12.5f) * (1.0f / 255));
      auto plain = compile([&](const Tensor& x) {
        const Tensor y = matmul(x, w), z = matmul(x, v);
        return std::vector<Tensor>{y, z, matmul(x, y, true, false)};
      });
      const auto wanted = plain(Tensor(floats, {n, width}));
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(out[i].to_vector<float>(), wanted[i].to_vector<float>()) << "width " << width << " n " << n << " output " << i;
      run(true, {rows, {n}}, nullptr);
    }
  }
}

TEST(Product, ARowThatDoesNotExistIsAnError) {
  const Tensor table = random({50, 33}, 1), w = random({33, 20}, 2);
  EXPECT_THAT(error_of([&] { picked(table, Tensor(std::vector<std::int32_t>{3, 50, 1}, {3}), w, true); }),
              HasSubstr("gather_rows: index 50 is outside [0, 50), at [1] of the indices"));
  EXPECT_THAT(error_of([&] { picked(table, Tensor(std::vector<std::int32_t>{3, -1, 1}, {3}), w, true); }),
              HasSubstr("gather_rows: index -1 is outside [0, 50)"));
}

TEST(ProductPlan, HasShorterTilesForTheLastOfFewRows) {
  const auto takes = [](Dim m, std::int64_t rows) {
    codegen::Product product;
    product.sizes.m = m;
    return codegen::takes_shorter_tiles(product, rows);
  };
  EXPECT_TRUE(takes(Dim::batch(), 5));
  EXPECT_TRUE(takes(Dim::batch() * 16, 5)) << "pixels of small images";
  EXPECT_FALSE(takes(Dim::batch() * 10, 5)) << "whole tiles";
  EXPECT_FALSE(takes(Dim::batch() * 64, 5)) << "one row of 65 is computed in vain";
  EXPECT_FALSE(takes(Dim::batch(), 2));
}

/// A call in a loop over time has about 8 rows: no tile computes rows that are not there, and all of b is read in one pass.
TEST(ProductPlan, HasTilesOfTheRowsOfAStep) {
  const auto plan = [](codegen::VectorUnit unit) {
    codegen::Product product;
    product.sizes = {Dim::batch(), Dim(300), Dim(304)};
    product.result_layout = {Dim::batch(), 304, 304};
    return codegen::plan_product(product, {.packs = true, .of_step = true}, unit);
  };
  for (const codegen::VectorUnit& unit : {codegen::VectorUnit{16, 32}, codegen::VectorUnit{8, 16}, codegen::VectorUnit{4, 32}}) {
    const codegen::ProductPlan p = plan(unit);
    EXPECT_EQ(p.k_block, 0);
    for (const codegen::Panels& panels : p.panels) {
      EXPECT_EQ(codegen::step_rows % panels.rows, 0) << panels.rows;
      EXPECT_LE(panels.rows * panels.widths.size() + panels.widths.size() + 1, unit.registers);
    }
  }
  EXPECT_EQ(plan({16, 32}).panels[0].rows, 8u);
  EXPECT_EQ(plan({16, 32}).panels[0].columns, 48);
}

/// Pieces of rows, for many threads, read the same part of the right operand: only one that is small is read several times.
TEST(ProductPlan, RowsOfAWeightGradientAreDividedIfTheOtherOperandIsSmall) {
  const auto parts = [](std::int64_t rows, std::int64_t columns) {
    ir::Graph graph("g");
    const ir::Value a = graph.add_input({"a", {DType::f32, {Dim::batch(), rows}}}), b = graph.add_input({"b", {DType::f32, {Dim::batch(), columns}}});
    return codegen::parts_of(graph, matmul(a, b, true, false).id);
  };
  EXPECT_EQ(parts(784, 70).pieces, 8);
  EXPECT_EQ(parts(784, 70).slots, 8);
  EXPECT_EQ(parts(125, 400).pieces, 1);
  EXPECT_EQ(parts(125, 400).slots, 16);
}

TEST(ProductPlan, FillsTheRegisters) {
  const auto plan = [](std::int64_t k, std::int64_t stride, codegen::VectorUnit unit, bool divided = false) {
    codegen::Product product;
    product.sizes = {Dim::batch(), Dim(k), Dim(stride)};
    product.result_layout = {Dim::batch(), stride, stride};
    return codegen::plan_product(product, {.packs = divided, .divided = divided}, unit);
  };
  const codegen::VectorUnit avx512{16, 32}, avx2{8, 16}, neon{4, 32};
  const codegen::ProductPlan mlp = plan(784, 72, avx512);
  ASSERT_EQ(mlp.panels.size(), 1u);
  EXPECT_EQ(mlp.panels[0].widths, (std::vector<unsigned>{16, 16, 16, 16, 8}));
  EXPECT_EQ(mlp.panels[0].rows, 5u);
  EXPECT_TRUE(mlp.one_pass());
  for (const codegen::VectorUnit& unit : {avx512, avx2, neon})
    for (std::int64_t stride : {16, 24, 32, 72, 104, 200, 1000, 1024, 4096}) {
      const bool divided = stride > 500;
      const codegen::ProductPlan p = plan(784, stride, unit, divided);
      if (divided) {
        EXPECT_EQ(codegen::piece_columns % p.panels.front().columns, 0);
      }
      std::int64_t covered = 0;
      for (const codegen::Panels& panels : p.panels) {
        EXPECT_EQ(panels.column, covered);
        covered += panels.columns * panels.count;
        EXPECT_LE(panels.rows * panels.widths.size() + panels.widths.size() + 1, unit.registers);
        EXPECT_LE(panels.rows, static_cast<unsigned>(codegen::most_tile_rows));
      }
      EXPECT_EQ(covered, stride);
    }
}

}  // namespace
}  // namespace sinter::test::product_test
