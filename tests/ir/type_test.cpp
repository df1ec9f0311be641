// Dimensions, shapes and broadcasting, and what they say when they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/layout.h"
#include "ir/polynomial.h"
#include "tests/ir/expect_error.h"

namespace sinter::type_test {
namespace {

const Dim n = Dim::batch(), t = Dim::length();

TEST(Dim, PrintsAndParses) {
  for (const Dim d : {Dim(7), n, Dim::batch(3), Dim::rows(), t, Dim::length(3), n * t, n * Dim::length(4)}) EXPECT_EQ(parse_dim(to_string(d)), d);
  EXPECT_EQ(to_string(Dim::batch(3)), "3N");
  EXPECT_EQ(to_string(Dim::length(2) * n), "2NT");
  EXPECT_EQ(Dim::batch(3).extent(5), 15);
  EXPECT_EQ((Dim::batch(3) * t).extent({5, 7}), 105);
  for (const char* text : {"", "x", "-1", "3M", "NN", "TT", "TN", "NR", "99999999999999999999"})
    EXPECT_USER_ERROR(parse_dim(text), "[shape] a dimension is k, N, T or R, or kN, kT or kNT, got '");
}

TEST(Dim, Multiplies) {
  EXPECT_EQ(Dim(3) * Dim::batch(2), Dim::batch(6));
  EXPECT_EQ(quotient(Dim::batch(6) * t, Dim::batch(2)), Dim::length(3));
  EXPECT_EQ(quotient(Dim(6), n), std::nullopt);
  EXPECT_EQ(quotient(n, Dim(2)), std::nullopt);
  EXPECT_EQ(product(n * t, t), std::nullopt);
  EXPECT_EQ((Dim::batch(6) * t).per_sample(), Dim::length(6));
  EXPECT_USER_ERROR(n * n,
                    "[shape] at most one batch dimension per shape, got N times N; sum over N first, as x^T y does, or give the batch a size, with "
                    "which [N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed");
  EXPECT_USER_ERROR(t * (n * t), "[shape] at most one length per shape, got T times NT; sum over T first, or declare a fixed length");
  EXPECT_USER_ERROR(Dim::length(std::int64_t{1} << 40).extent({1, 1 << 30}),
                    "[shape] too many elements: 1099511627776T with N = 1 and T = 1073741824");
  EXPECT_USER_ERROR(Dim::rows() * Dim(2), "[shape] a table's row count cannot be multiplied; only gather_rows reads a table");
  EXPECT_USER_ERROR(Dim(std::int64_t{1} << 40) * Dim(std::int64_t{1} << 40), "[shape] too many elements: ");
  EXPECT_THROW(Dim::rows().extent(1), InternalError);
}

TEST(Shape, PrintsAndParses) {
  for (const Shape& s : {Shape{}, Shape{n, 70}, Shape{3, Dim::batch(2), 5}, Shape{n, t, 64}, Shape{n * t, 2}})
    EXPECT_EQ(parse_shape(to_string(s)), s);
  EXPECT_EQ(to_string(Type{DType::i32, {n, 70}}), "i32[N,70]");
  EXPECT_USER_ERROR(parse_shape("N,70"), "[shape] a shape is written [N,70], got 'N,70'");
  EXPECT_USER_ERROR(parse_dtype("f64"), "[dtype] an element type is f32, i32, u32, u8 or bool, got 'f64'");
}

TEST(Shape, Refuses) {
  EXPECT_USER_ERROR((Shape{n, n}),
                    "[shape] at most one batch dimension per shape, got [N,N]; sum over N first, as x^T y does, or give the batch a size, with which "
                    "[N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed");
  EXPECT_USER_ERROR((Shape{n, t, t}), "[shape] at most one length per shape, got [N,T,T]; sum over T first, or declare a fixed length");
  EXPECT_USER_ERROR((Shape{1, 1, 1, 1, 1, 1, 1}), "[shape] at most 6 dimensions, got 7");
  EXPECT_USER_ERROR((Shape{2, -1}), "[shape] a dimension cannot be negative, got -1");
}

TEST(Shape, Edits) {
  const Shape s{n, 3, 5};
  EXPECT_EQ(s.with(1, 4), (Shape{n, 4, 5}));
  EXPECT_EQ(s.insert(0, 1), (Shape{1, n, 3, 5}));
  EXPECT_EQ(s.erase(0, 2), (Shape{5}));
  EXPECT_EQ(s.at(4), (Shape{4, 3, 5}));
  EXPECT_EQ(s.elements(), Dim::batch(15));
}

TEST(Broadcast, FollowsNumPyAndKeepsN) {
  EXPECT_EQ(broadcast(Shape{n, 70}, Shape{70}), (Shape{n, 70}));
  EXPECT_EQ(broadcast(Shape{5, 1, 9}, Shape{4, 9}), (Shape{5, 4, 9}));
  EXPECT_EQ(broadcast(Shape{n, 1}, Shape{1, 3}), (Shape{n, 3}));
  EXPECT_EQ(broadcast(Shape{}, Shape{n}), (Shape{n}));
  EXPECT_USER_ERROR(broadcast(Shape{n, 7}, Shape{n, 6}), "shapes [N,7] and [N,6] do not broadcast: 7 against 6; equal dimensions or 1 are needed");
  EXPECT_USER_ERROR(broadcast(Shape{n, 7}, Shape{5, 7}), "shapes [N,7] and [5,7] do not broadcast: N against 5; equal dimensions or 1 are needed");
  EXPECT_USER_ERROR(broadcast(Shape{n, 1}, Shape{n}),
                    "[shape] at most one batch dimension per shape, got [N,N]; sum over N first, as x^T y does, or give the batch a size, with which "
                    "[N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed");
}

TEST(Layout, PadsColumns) {
  EXPECT_EQ(layout({n, 70}, 5), (Layout{5, 70, 72}));
  EXPECT_EQ(layout({n, 10}, 5), (Layout{5, 10, 16}));
  EXPECT_EQ(layout({n, 1}, 5), (Layout{5, 1, 1}));
  EXPECT_EQ(layout({n}, 5), (Layout{5, 1, 1}));
  EXPECT_EQ(layout({70}, 5), (Layout{1, 70, 72}));
  EXPECT_EQ(layout({7, n}, 5), (Layout{7, 5, 5}));
  EXPECT_EQ(layout({Dim::batch(3), 2, 17}, 5), (Layout{30, 17, 24}));
  EXPECT_EQ(layout({n, t, 17}, {5, 2}), (Layout{10, 17, 24}));
  EXPECT_EQ(layout({n, t}, {5, 20}), (Layout{5, 20, 20})) << "whoever reads a row does not know how long it is";
  EXPECT_EQ(layout({n * t}, {5, 20}), (Layout{100, 1, 1}));
  EXPECT_EQ(layout({}, 5), (Layout{1, 1, 1}));
}

TEST(Polynomial, OfSizes) {
  using Count = Polynomial<std::int64_t>;
  Count sum = Count::of(Dim::batch(3)), other = 5;
  sum += Count::of(n * Dim::length(2));
  EXPECT_EQ(sum.at({5, 7}), 15 + 70);
  EXPECT_EQ(sum[n * t], 2);
  EXPECT_FALSE(sum.is_fixed());
  EXPECT_TRUE(other.is_fixed());
  EXPECT_TRUE(Count(4).always_less(sum)) << "of N = T = 1, which has 5";
  EXPECT_FALSE(other.always_less(sum));
  EXPECT_FALSE(sum.always_less(Count::of(Dim::batch(100)))) << "not of a long T";
}

TEST(Dim, TellsItsSymbols) {
  EXPECT_TRUE((n * t).is_batch() && (n * t).is_length() && t.is_length());
  EXPECT_FALSE(n.is_length() || Dim(3).is_length() || Dim::rows().is_length());
  EXPECT_EQ((Dim::batch(3) * t).with_factor(1), n * t);
  EXPECT_EQ(Dim(7).with_factor(2), Dim(2));
}

TEST(Shape, TellsWhatItHas) {
  EXPECT_TRUE(Shape{}.is_scalar());
  EXPECT_FALSE(Shape{1}.is_scalar());
  EXPECT_TRUE((Shape{n, t, 3}.has_length()));
  EXPECT_FALSE((Shape{n, 3}.has_length()));
  EXPECT_EQ(Shape(std::vector<Dim>(Shape::max_rank, 2)).rank(), Shape::max_rank);
  EXPECT_USER_ERROR(Shape(std::vector<Dim>(Shape::max_rank + 1, 2)), "");
}

TEST(DType, OfAnIndex) {
  EXPECT_TRUE(is_index(DType::i32) && is_index(DType::u32) && is_index(DType::u8));
  EXPECT_FALSE(is_index(DType::f32) || is_index(DType::boolean));
}

}  // namespace
}  // namespace sinter::type_test
