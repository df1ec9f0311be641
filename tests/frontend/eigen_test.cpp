// sinter/eigen.h: what lies where, what is shared, and what is refused.
#include <sinter/eigen.h>

#include <Eigen/Core>

#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::test::eigen_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
T* address(const Tensor& t) {
  return reinterpret_cast<T*>(t.buffer().data());
}

// ---- tensors as maps ----

TEST(EigenMap, OfEachRankIsRowsOfColumnsInTheTensorsOwnMemory) {
  const Tensor scalar(7.0f), row({1, 2, 3}, {3}), column({1, 2, 3}, {3, 1}), table({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor cube({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3}), wide = random({3, 24}, 1), odd = random({3, 19}, 2);
  const auto expect = [](const Tensor& t, Eigen::Index rows, Eigen::Index cols, Eigen::Index stride) {
    const eigen::ConstMatrixMap<> map = eigen::matrix(t);
    EXPECT_EQ(map.rows(), rows) << t;
    EXPECT_EQ(map.cols(), cols) << t;
    EXPECT_EQ(map.outerStride(), stride) << t;
    EXPECT_EQ(map.data(), address<float>(t)) << t;
    const std::vector<float> dense = t.to_vector<float>();
    for (Eigen::Index r = 0; r < rows; ++r)
      for (Eigen::Index c = 0; c < cols; ++c) EXPECT_EQ(map(r, c), dense[static_cast<std::size_t>(r * cols + c)]) << t;
  };
  expect(scalar, 1, 1, 1);
  expect(row, 1, 3, 8);
  expect(column, 3, 1, 1);
  expect(table, 2, 3, 3);
  expect(cube, 4, 3, 3);
  expect(wide, 3, 24, 24);
  expect(odd, 3, 19, 19);
  expect(table.padded(), 2, 3, 8);
  expect(Tensor::zeros({DType::f32, {0, 3}}), 0, 3, 3);
}

TEST(EigenMap, OfEachElementType) {
  const std::vector<std::int32_t> numbers{-1, 2, 3, 4};
  const std::vector<std::uint8_t> bytes{0, 1, 255, 3};
  const Tensor i32(numbers, {2, 2}), u8(bytes, {2, 2}), u32 = cast(i32, DType::u32), truth = i32 > 2;
  EXPECT_EQ(eigen::matrix<std::int32_t>(i32)(0, 0), -1);
  EXPECT_EQ(eigen::matrix<std::uint8_t>(u8)(1, 0), 255);
  EXPECT_EQ(eigen::matrix<std::uint32_t>(u32)(0, 0), 0xffffffffu);
  EXPECT_EQ(eigen::matrix<bool>(truth)(0, 1), false);
  EXPECT_EQ(eigen::matrix<bool>(truth)(1, 0), true);
  EXPECT_EQ(eigen::matrix<bool>(truth).count(), 2);
}

TEST(EigenMap, AVectorIsOneRowOrOneColumn) {
  const Tensor row({1, 2, 3}, {3}), column({1, 2, 3}, {3, 1}), scalar(7.0f);
  for (const Tensor& t : {row, column}) {
    const eigen::ConstVectorMap<> map = eigen::vector(t);
    EXPECT_EQ(map.data(), address<float>(t));
    EXPECT_EQ(map, Eigen::Vector3f(1, 2, 3));
  }
  EXPECT_EQ(eigen::vector(scalar).size(), 1);
  const Tensor table({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(error_of([&] { (void)eigen::vector(table); }), HasSubstr("a vector has one row or one column, got f32[2,2]; use matrix"));
}

TEST(EigenMap, OfATemporaryDoesNotCompile) {
  const auto maps = [](auto&& tensor) {
    return requires { eigen::matrix(std::forward<decltype(tensor)>(tensor)); } || requires { eigen::vector(std::forward<decltype(tensor)>(tensor)); };
  };
  Tensor named({1, 2}, {2});
  EXPECT_TRUE(maps(named));
  EXPECT_FALSE(maps(std::move(named)));
  EXPECT_FALSE(maps(Parameter("w", named)));
}

TEST(EigenMap, SaysWhatItCannotMap) {
  const Tensor i32(std::vector<std::int32_t>{1, 2}, {2}), none;
  EXPECT_THAT(
      error_of([&] { (void)eigen::matrix(i32); }),
      testing::AllOf(HasSubstr("[eigen_test.cpp:"), HasSubstr("matrix of f32 was asked of a tensor of i32; name its element type, as in eigen")));
  EXPECT_THAT(error_of([&] { (void)eigen::vector(i32); }), HasSubstr("vector of f32 was asked of a tensor of i32"));
  EXPECT_THAT(error_of([&] { (void)eigen::matrix(none); }), HasSubstr("matrix of a tensor that was never set"));
  EXPECT_THAT(error_of([&] { (void)eigen::Writable<>::of(i32); }), HasSubstr("Writable of f32 was asked of a tensor of i32"));
  if (codegen::is_built()) {
    auto step = compile([](const Tensor& x) { return x + eigen::matrix(x)(0, 0); });
    EXPECT_THAT(error_of([&] { step(Tensor({1, 2}, {2, 1})); }),
                HasSubstr("f32[N,1] has none while it is traced; return it and map what the step returns"));
  }
}

// ---- tensors from Eigen ----

TEST(EigenTensor, KeepsRowsAndColumnsOfEitherStorageOrder) {
  const Eigen::MatrixXf column_major{{1, 2, 3}, {4, 5, 6}};
  const eigen::Matrix<> row_major = column_major;
  for (const Tensor& t : {eigen::tensor(column_major), eigen::tensor(row_major), eigen::tensor(column_major.array()),
                          eigen::tensor(Eigen::Ref<const Eigen::MatrixXf>(column_major)), eigen::tensor(Eigen::Matrix<float, 2, 3>(column_major))}) {
    EXPECT_EQ(t.shape(), Shape({2, 3}));
    EXPECT_THAT(t.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  const Tensor turned = eigen::tensor(column_major.transpose());
  EXPECT_EQ(turned.shape(), Shape({3, 2}));
  EXPECT_THAT(turned.to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(EigenTensor, OfBlocksExpressionsAndMaps) {
  const Eigen::MatrixXf m{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  EXPECT_THAT(eigen::tensor(m.block(1, 0, 2, 2)).to_vector<float>(), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(eigen::tensor(m * m).to_vector<float>(), ElementsAre(30, 36, 42, 66, 81, 96, 102, 126, 150));
  EXPECT_THAT(eigen::tensor(2 * m.topRows(1) + m.bottomRows(1)).to_vector<float>(), ElementsAre(9, 12, 15));
  const Tensor x({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(eigen::tensor(eigen::matrix(x)).to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(eigen::tensor(Eigen::MatrixXf(0, 3)).shape(), Shape({0, 3}));
}

TEST(EigenTensor, WhatIsARowOrAColumnByItsTypeHasRankOne) {
  const Eigen::MatrixXf m{{1, 2, 3}, {4, 5, 6}};
  const auto expect = [](const Tensor& t, const std::vector<float>& elements) {
    EXPECT_EQ(t.shape(), Shape({static_cast<std::int64_t>(elements.size())}));
    EXPECT_EQ(t.to_vector<float>(), elements);
  };
  expect(eigen::tensor(Eigen::VectorXf(m.col(1))), {2, 5});
  expect(eigen::tensor(Eigen::RowVectorXf(m.row(1))), {4, 5, 6});
  expect(eigen::tensor(m.row(1)), {4, 5, 6});
  expect(eigen::tensor(m.col(2)), {3, 6});
  expect(eigen::tensor(m.rowwise().sum()), {6, 15});
  expect(eigen::tensor(m.row(0).array().square()), {1, 4, 9});
  EXPECT_EQ(eigen::tensor(m.leftCols(1)).shape(), Shape({2, 1}));  // a matrix that happens to have one column
}

TEST(EigenTensor, TakesTheElementTypeOfTheExpression) {
  const Eigen::MatrixXd doubles{{0.1, 2}, {3, -4}};
  EXPECT_EQ(eigen::tensor(doubles.cast<float>()).type(), (Type{DType::f32, {2, 2}}));
  EXPECT_EQ(eigen::tensor(doubles.cast<float>()).to_vector<float>()[0], 0.1f);
  EXPECT_THAT(eigen::tensor(doubles.cast<int>()).to_vector<std::int32_t>(), ElementsAre(0, 2, 3, -4));
  EXPECT_EQ(eigen::tensor(doubles.cwiseAbs().cast<std::uint32_t>()).dtype(), DType::u32);
  EXPECT_EQ(eigen::tensor(doubles.cwiseAbs().cast<std::uint8_t>()).dtype(), DType::u8);
  const Tensor positive = eigen::tensor(doubles.array() > 1);
  EXPECT_EQ(positive.dtype(), DType::boolean);
  EXPECT_THAT(positive.to_vector<std::uint8_t>(), ElementsAre(0, 1, 1, 0));
}

// Compiled steps read whole vectors: what lies between the columns and the stride must be 0, or sums along rows are wrong.
TEST(EigenTensor, HasZeroPads) {
  const Tensor t = eigen::tensor(Eigen::MatrixXf::Constant(3, 5, 7));
  const Layout at = t.view().layout();
  for (std::int64_t r = 0; r < at.rows; ++r)
    for (std::int64_t c = at.cols; c < at.stride; ++c) EXPECT_EQ(address<float>(t)[r * at.stride + c], 0);
}

// ---- memory that Eigen writes ----

TEST(EigenWritable, WritesInPlaceAndHandsItsMemoryOn) {
  eigen::Writable<> x({2, 3});
  EXPECT_EQ(x.shape(), Shape({2, 3}));
  const float* memory = x.matrix().data();
  x.matrix() = Eigen::MatrixXf{{1, 2, 3}, {4, 5, 6}};
  const Tensor t = x.tensor();
  EXPECT_EQ(address<float>(t), memory);
  EXPECT_THAT(t.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  eigen::Writable<std::int32_t> labels({3});
  labels.vector() << 2, 0, 1;
  EXPECT_THAT(labels.tensor().to_vector<std::int32_t>(), ElementsAre(2, 0, 1));
  EXPECT_THAT(error_of([&] { x.vector(); }), HasSubstr("a vector has one row or one column, got f32[2,3]"));
}

TEST(EigenWritable, NeverChangesATensorThatWasHandedOn) {
  eigen::Writable<> x({2, 2});
  x.matrix().setConstant(1);
  {
    const Tensor before = x.tensor();
    x.matrix()(0, 0) = 5;
    EXPECT_THAT(before.to_vector<float>(), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(x.tensor().to_vector<float>(), ElementsAre(5, 1, 1, 1));
  }
  const float* memory = x.matrix().data();
  {
    const Tensor gone = x.tensor();
  }
  EXPECT_EQ(x.matrix().data(), memory);
  const eigen::Writable<> copy = x;
  x.matrix()(0, 0) = 6;
  EXPECT_THAT(copy.tensor().to_vector<float>(), ElementsAre(5, 1, 1, 1));
}

TEST(EigenWritable, TakesOverTheMemoryOfATensorThatNobodyElseHolds) {
  Tensor own({1, 2, 3, 4}, {2, 2});
  const float* memory = address<float>(own);
  auto taken = eigen::Writable<>::of(std::move(own));
  EXPECT_EQ(taken.matrix().data(), memory);
  EXPECT_EQ(taken.matrix()(1, 0), 3);
  const Tensor shared({1, 2, 3, 4}, {2, 2});
  auto copied = eigen::Writable<>::of(shared);
  copied.matrix().setZero();
  EXPECT_THAT(shared.to_vector<float>(), ElementsAre(1, 2, 3, 4));
  const Parameter w("w", shared);
  eigen::Writable<>::of(w).matrix().setZero();
  EXPECT_THAT(w.read().to_vector<float>(), ElementsAre(1, 2, 3, 4));
}

// ---- steps and predict_one ----

// With rows that are padded and rows that are not, the loop of a program that has its samples in Eigen's matrices: nothing is allocated, and the step
// reads where Eigen wrote.
TEST(EigenStep, RoundTripsAllocateNothingPaddedOrNot) {
  NEEDS_CODEGEN();
  if (!allocations_are_counted || settings().checked) GTEST_SKIP() << "allocations are counted in ordinary builds";
  for (const std::int64_t columns : {1, 5, 16, 20, 24}) {
    auto twice = compile([](const Tensor& x) { return x * 2; });
    const Eigen::MatrixXf samples = Eigen::MatrixXf::Random(64, columns);
    Eigen::MatrixXf results = Eigen::MatrixXf::Zero(64, columns);
    eigen::Writable<> x({8, columns});
    const auto round_trip = [&] {
      for (Eigen::Index i = 0; i < 64; i += 8) {
        x.matrix() = samples.middleRows(i, 8);
        const Tensor y = twice(x.tensor());
        results.middleRows(i, 8) = eigen::matrix(y);
        const Tensor again = eigen::tensor(eigen::matrix(y).array() / 2);
        results.middleRows(i, 8) += eigen::matrix(again);
      }
    };
    round_trip(), round_trip();
    const float* memory = address<float>(x.tensor());
    const std::int64_t before = allocations();
    for (int i = 0; i < 10; ++i) round_trip();
    EXPECT_EQ(allocations() - before, 0) << columns << " columns";
    EXPECT_EQ(address<float>(x.tensor()), memory);
    EXPECT_EQ(results, 3 * samples);
  }
}

TEST(EigenStep, PredictOneIsThatOfSpansAndAllocatesNothing) {
  NEEDS_CODEGEN();
  nn::Sequential model{nn::Dense(20, 7, Activation::sigmoid)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD());
  auto step = compile([&](const Tensor& x) { return model(x); });
  step(random({4, 20}, 1));
  const Tensor sample = random({20}, 3);
  const Eigen::VectorXf in = eigen::vector(sample);
  std::vector<float> wanted(7);
  step.predict_one(sample.to_vector<float>(), wanted);
  Eigen::VectorXf out(7), out_of_trainer(7);
  Eigen::MatrixXf table = Eigen::MatrixXf::Zero(7, 3);
  (void)trainer.predict(random({4, 20}, 1));
  const auto call = [&] {
    eigen::predict_one(step, in, out);
    eigen::predict_one(trainer, eigen::vector(sample), out_of_trainer);
    eigen::predict_one(step, in, table.col(1));
  };
  for (int i = 0; i < 3; ++i) call();
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) call();
  const std::int64_t count = allocations() - before;
  EXPECT_EQ(allocations_are_counted && !settings().checked ? count : 0, 0);
  const Eigen::Map<const Eigen::VectorXf> expected(wanted.data(), 7);
  EXPECT_EQ(out, expected);
  EXPECT_EQ(out_of_trainer, expected);
  EXPECT_EQ(table.col(1), expected);
  EXPECT_TRUE(table.col(0).isZero() && table.col(2).isZero());
  EXPECT_THAT(error_of([&] { eigen::predict_one(step, in.head(3), out); }), HasSubstr("a sample has 20 numbers, got 3"));
}

}  // namespace
}  // namespace sinter::test::eigen_test
