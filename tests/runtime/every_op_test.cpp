// Every op of the list on its samples, against the double reference: all targets, several batch sizes, 1 to 4 threads. A new op is covered as soon as
// it joins ir/ops.h.
#include "frontend/compile/bounds.h"
#include "runtime/eval/eval.h"
#include "tests/runtime/helpers.h"

namespace sinter::runtime::every_op_test {
namespace {

/// Fails if an element of what the interpreter made is further from the double reference than verify() allows.
void expect_bounded(const ir::Op& op, const Type& type, const std::vector<ir::Array>& in, const Tensor& got) {
  std::vector<Bounded> operands;
  std::vector<const Bounded*> pointers;
  for (const ir::Array& a : in) operands.push_back({a, std::vector<double>(a.data.size())});
  for (const Bounded& x : operands) pointers.push_back(&x);
  const Bounded wanted = evaluate_bounded(op, type, pointers, 1);
  ir::Array values(type.dtype, wanted.value.extents);
  values.data = got.values();
  double worst = 0;
  const std::int64_t at = first_difference(values, wanted, worst);
  if (at < 0) return;
  const auto i = static_cast<std::size_t>(at);
  FAIL() << "element " << i << ": " << values.data[i] << ", expected " << wanted.value.data[i] << " within " << wanted.error[i];
}

template <class O>
void test_op() {
  std::mt19937 random(7);
  for (const ir::Sample<O>& sample : O::samples())
    for (const std::int64_t n : {1, 5, 64, 131}) {
      const ir::Op op = ir::at_sizes(sample.op, n);
      std::vector<ir::Array> in;
      for (const ir::SampleInput& input : sample.inputs)
        in.push_back(random_array({input.type.dtype, input.type.shape.at(n)}, input.low, input.high, random));
      const Type type = result_type(op, in);
      std::string text = str("N = ", n, ":");
      for (const ir::Array& a : in) text += str(" ", Type{a.dtype, Shape::fixed(a.extents)});
      SCOPED_TRACE(text + str(" -> ", type));
      for_each_target([&] {
        std::string bytes;
        for (int threads = 1; threads <= 4; ++threads) {
          const ForcedThreads forced(threads);
          const Tensor out = run(op, in);
          ASSERT_TRUE(out.pads_are_zero());
          if (threads == 1) {
            bytes = out.bytes();
            ASSERT_NO_FATAL_FAILURE(expect_bounded(op, type, in, out));
          }
          ASSERT_EQ(bytes, out.bytes()) << threads << " threads";
        }
      });
    }
}

TEST(EveryOp, AgreesWithTheDoubleReference) {
  ir::for_each_op([]<class O>(O) {
    SCOPED_TRACE(std::string(O::name));
    if constexpr (!ir::IsLeaf<O>) test_op<O>();
  });
}

/// Data at rest has no padding (rests_unpadded): every kernel takes each operand with and without, and gives the result with and without.
template <class O>
void test_padding() {
  std::mt19937 random(13);
  for (const ir::Sample<O>& sample : O::samples())
    for (const std::int64_t n : {1, 5, 64}) {
      const ir::Op op = ir::at_sizes(sample.op, n);
      std::vector<ir::Array> in;
      for (const ir::SampleInput& input : sample.inputs)
        in.push_back(random_array({input.type.dtype, input.type.shape.at(n)}, input.low, input.high, random));
      const Type type = result_type(op, in);
      for (unsigned unpadded = 1; unpadded < 2u << in.size(); ++unpadded) {
        std::string text;
        std::vector<Tensor> tensors;
        for (std::size_t k = 0; k < in.size(); ++k) tensors.emplace_back(in[k], unpadded >> (k + 1) & 1);
        std::vector<View> views;
        for (const Tensor& tensor : tensors) {
          views.push_back(tensor.view());
          text += str(" ", tensor.type, tensor.unpadded ? " unpadded" : "");
        }
        const Tensor out(type, unpadded & 1);
        SCOPED_TRACE(text + str(" -> ", type, out.unpadded ? " unpadded" : ""));
        evaluate(op, views, out.view());
        ASSERT_TRUE(out.pads_are_zero());
        ASSERT_TRUE(out.ends_where_it_ends());
        ASSERT_NO_FATAL_FAILURE(expect_bounded(op, type, in, out));
      }
    }
}

TEST(EveryOp, TakesOperandsWithAndWithoutPadding) {
  ir::for_each_op([]<class O>(O) {
    SCOPED_TRACE(std::string(O::name));
    if constexpr (!ir::IsLeaf<O>) for_each_target([] { test_padding<O>(); });
  });
}

/// What moves elements needs no kernel: by its walk it is the same as by the kernel that it has.
template <class O>
void test_walk() {
  std::mt19937 random(11);
  for (const ir::Sample<O>& sample : O::samples())
    for (const std::int64_t n : {1, 5, 64}) {
      const ir::Op op = ir::at_sizes(sample.op, n);
      std::vector<ir::Array> in;
      for (const ir::SampleInput& input : sample.inputs)
        in.push_back(random_array({input.type.dtype, input.type.shape.at(n)}, input.low, input.high, random));
      const std::vector<Tensor> tensors(in.begin(), in.end());
      std::vector<View> views;
      std::vector<Type> types;
      for (const Tensor& tensor : tensors) views.push_back(tensor.view()), types.push_back(tensor.type);
      const Tensor out(result_type(op, in));
      double fill = 0;
      if constexpr (ir::IsWindow<O>) fill = std::get<O>(op).window(types).fill;
      eval::move_elements(ir::access(op, types, out.type.shape), views, fill, out.view());
      EXPECT_EQ(out.bytes(), run(op, in).bytes()) << out.type << " at N = " << n;
    }
}

TEST(EveryOp, MovesElementsByItsWalk) {
  ir::for_each_op([]<class O>(O) {
    SCOPED_TRACE(std::string(O::name));
    if constexpr (ir::IsMovement<O> && !std::is_same_v<O, ir::GatherRows> && !std::is_same_v<O, ir::TakeAlong>) test_walk<O>();
  });
  const Tensor table(array(DType::f32, {2}, {1, 2})), index(array(DType::i32, {1}, {0})), out(Type{DType::f32, {1}});
  const std::vector<View> views{table.view(), index.view()};
  EXPECT_THROW(eval::move_elements(ir::GatherRows{}.access(std::vector<Type>{table.type, index.type}, {1}), views, 0, out.view()), InternalError);
}

TEST(EveryOp, RefusesLeaves) {
  const Tensor out(Type{DType::f32, {}});
  try {
    evaluate(ir::Input{}, {}, out.view());
    FAIL() << "a leaf was evaluated";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("input is a leaf"), std::string::npos) << error.what();
  }
}

/// Shapes that are cut into several chunks.
TEST(LargeShapes, AreTheSameBytesForAnyNumberOfThreads) {
  std::mt19937 random(3);
  const auto floats = [&](std::vector<std::int64_t> extents) { return random_array({DType::f32, Shape::fixed(extents)}, -1, 1, random); };
  struct Case {
    ir::Op op;
    std::vector<ir::Array> in;
  };
  ir::Matmul dw;
  dw.transpose_a = true;
  ir::Matmul dx;
  dx.transpose_b = true;
  ir::Sum rows, columns, all;
  rows.first = 1, rows.last = 2;
  columns.first = 0, columns.last = 1;
  all.first = 0, all.last = 2;
  ir::Max greatest;
  greatest.first = 0, greatest.last = 1;
  ir::ScatterAddRows scatter;
  scatter.rows = 9;
  const ir::Array index = random_array({DType::i32, Shape::fixed(std::vector<std::int64_t>{2000})}, 0, 9, random);
  const std::vector<Case> cases{{ir::Add{}, {floats({700, 70}), floats({700, 70})}},
                                {ir::Add{}, {floats({700, 70}), floats({70})}},
                                {ir::Sub{}, {floats({700, 70}), floats({700, 1})}},
                                {ir::Exp{}, {floats({70001})}},
                                {ir::Sigmoid{}, {floats({40000, 1})}},
                                {ir::Mul{}, {floats({50, 9, 70}), floats({50, 1, 70})}},
                                {ir::Matmul{}, {floats({300, 200}), floats({200, 100})}},
                                {ir::Matmul{}, {floats({3, 300}), floats({300, 3000})}},
                                {dw, {floats({900, 100}), floats({900, 70})}},
                                {dx, {floats({300, 200}), floats({300, 200})}},
                                {ir::Dense{}, {floats({2000, 100}), floats({100, 30}), floats({30})}},
                                {rows, {floats({3000, 70})}},
                                {rows, {floats({3, 70000})}},
                                {columns, {floats({5000, 70})}},
                                {columns, {floats({40000, 1})}},
                                {columns, {floats({3, 60000})}},
                                {all, {floats({900, 70})}},
                                {greatest, {floats({5000, 19})}},
                                {ir::Softmax{}, {floats({3000, 30})}},
                                {ir::LogSoftmax{}, {floats({3, 30000})}},
                                {ir::Argmax{}, {floats({3000, 30})}},
                                {ir::Transpose{}, {floats({700, 90})}},
                                {ir::Transpose{}, {floats({5, 70, 90})}},
                                {ir::Prod{1, 2}, {floats({3000, 7})}},
                                {ir::Cumsum{1, false}, {floats({3000, 70})}},
                                {ir::Cumsum{0, true}, {floats({900, 70})}},
                                {ir::TopK{3}, {floats({3000, 30})}},
                                {ir::BatchMatmul{false, true}, {floats({400, 30, 50}), floats({400, 40, 50})}},
                                {ir::Slice{1, 10, 300}, {floats({700, 400})}},
                                {ir::Pad{0, 3, 500, 1}, {floats({700, 33})}},
                                {ir::Concat{1}, {floats({2000, 20}), floats({2000, 3})}},
                                {ir::Reshape{Shape{700, 210}}, {floats({700, 10, 21})}},
                                {ir::GatherRows{}, {floats({9, 70}), index}},
                                {scatter, {index, floats({2000, 300})}}};
  for (const Case& c : cases) {
    const Type type = result_type(c.op, c.in);
    SCOPED_TRACE(str(ir::name(c.op), " -> ", type));
    for_each_target([&] {
      std::string bytes;
      for (int threads = 1; threads <= 4; ++threads) {
        const ForcedThreads forced(threads);
        const Tensor out = run(c.op, c.in);
        ASSERT_TRUE(out.pads_are_zero());
        if (threads == 1) {
          bytes = out.bytes();
          ASSERT_NO_FATAL_FAILURE(expect_bounded(c.op, type, c.in, out));
        }
        ASSERT_EQ(bytes, out.bytes()) << threads << " threads";
      }
    });
  }
}

/// With fused multiply-add, products don't depend on the width of the vectors either.
TEST(Products, AreTheSameBytesOnTargetsWithFma) {
  if (isa::target_count() < 3) GTEST_SKIP() << "this CPU has one such target";
  std::mt19937 random(5);
  for (const std::int64_t f : {10, 70, 72, 100}) {
    const ir::Array a = random_array({DType::f32, {130, 300}}, -1, 1, random), b = random_array({DType::f32, {300, f}}, -1, 1, random);
    isa::use_target(1);
    const Tensor v3 = run(ir::Matmul{}, {a, b});
    isa::use_target(2);
    const Tensor v4 = run(ir::Matmul{}, {a, b});
    EXPECT_EQ(v3.bytes(), v4.bytes()) << f << " columns";
  }
}

/// The single-threaded product that compiled steps call, over the borders of its tiles.
TEST(Gemm, AgreesWithTheReferenceAndLeavesThePadsAlone) {
  std::mt19937 random(11);
  for_each_target([&] {
    for (const std::int64_t m : {1, 2, 5, 7, 8, 9, 17, 70})
      for (const std::int64_t k : {0, 1, 3, 65, 200, 600})
        for (const std::int64_t f : {1, 4, 8, 15, 16, 17, 30, 70, 81, 131})
          for (int transposed = 0; transposed < 4; ++transposed) {
            const bool ta = transposed & 1, tb = transposed & 2;
            const ir::Array a = random_array({DType::f32, {ta ? k : m, ta ? m : k}}, -1, 1, random);
            const ir::Array b = random_array({DType::f32, {tb ? f : k, tb ? k : f}}, -1, 1, random);
            const Tensor x(a), w(b);
            Tensor y(Type{DType::f32, {m, f}});
            const Tensor before = y;
            ir::Matmul op;
            op.transpose_a = ta;
            op.transpose_b = tb;
            const std::string untouched(y.bytes());
            const isa::GemmCall call{x.view().as<float>(),     w.view().as<float>(),     y.view().as<float>(),     m,  k, f,
                                     x.view().layout().stride, w.view().layout().stride, y.view().layout().stride, ta, tb};
            isa::kernels().gemm(&call);
            ASSERT_NO_FATAL_FAILURE(expect_bounded(op, y.type, {a, b}, y)) << m << " " << k << " " << f << " transposed " << transposed;
            const Layout layout = y.view().layout();
            for (std::int64_t i = 0; i < m; ++i) {
              const auto pad = static_cast<std::size_t>(i * layout.stride + f) * sizeof(float),
                         end = static_cast<std::size_t>((i + 1) * layout.stride) * sizeof(float);
              ASSERT_EQ(y.bytes().substr(pad, end - pad), untouched.substr(pad, end - pad));
            }
          }
  });
}

}  // namespace
}  // namespace sinter::runtime::every_op_test
