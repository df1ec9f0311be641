// The rule for subnormal numbers, those below 2^-126: they count as 0 in every op, eager and compiled. A result may be one where it may be 0.
#include <cmath>
#include <random>

#include "frontend/compile/step_impl.h"
#include "frontend/core/interpret.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::subnormal_test {
namespace {

constexpr float least = 0x1p-126f;  // that is normal

/// The elements, with 0 for what may count as 0.
std::vector<float> numbers(const Tensor& x) {
  std::vector<float> result = cast(x, DType::f32).to_vector<float>();
  for (float& number : result)
    if (std::abs(number) < least) number = 0;
  return result;
}

bool are_same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// Zeros, small and ordinary numbers, and subnormal ones, or zeros in their place.
Tensor floats(const Shape& shape, bool subnormal, std::mt19937& random) {
  const float list[] = {0, 1e-39f, -1e-39f, 1e-45f, -0x1.8p-127f, least, -least, 1, -2, 0.5f};
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) {
    x = list[random() % std::size(list)];
    if (!subnormal && std::abs(x) < least) x = std::copysign(0.0f, x);
  }
  return {std::move(data), shape};
}

template <class O>
void test_op(Mode mode) {
  for (const ir::Sample<O>& sample : O::samples()) {
    constexpr std::int64_t n = 5;
    std::vector<std::vector<float>> results;
    for (const bool subnormal : {true, false}) {
      std::mt19937 random(3);
      Traced traced{ir::Graph("op"), {}, {}};
      ir::Values operands;
      std::vector<Tensor> tensors;
      StepOptions options{.name = "op"};
      for (const ir::SampleInput& input : sample.inputs) {
        const Shape shape = input.type.shape.at(n);
        const bool batch = input.type.shape.rank() && input.type.shape[0] == Dim::batch();
        if (!batch && !input.type.shape.is_fixed()) return;  // such an operand is no input
        operands.push_back(traced.graph.add_input({str("x", operands.size()), input.type, batch ? InputKind::batch : InputKind::fixed}));
        options.kinds.push_back(batch ? InputKind::batch : InputKind::fixed);
        if (is_float(input.type.dtype)) tensors.push_back(floats(shape, subnormal, random));
        else tensors.push_back(cast(floor(sinter::test::random(shape, 4, input.low, input.high)), input.type.dtype));
      }
      std::vector<ir::NodeId> ids;
      for (const ir::Value v : operands) ids.push_back(v.id);
      const ir::Value result = traced.graph.add(sample.op, ids, {});
      traced.graph.add_output(result);
      if (mode == Mode::eager) {
        std::vector<Tensor> values(traced.graph.size());
        for (std::size_t i = 0; i < tensors.size(); ++i) values[operands[i].id] = tensors[i];
        interpret(traced.graph, values, {.sizes = n, .keep_all = true});
        results.push_back(numbers(values[result.id]));
      } else {
        StepCore step(std::move(traced), options);
        std::vector<const Tensor*> in;
        for (const Tensor& tensor : tensors) in.push_back(&tensor);
        results.push_back(numbers(step.call(in)[0]));
      }
    }
    EXPECT_TRUE(are_same(results[0], results[1])) << sample.inputs[0].type;
  }
}

TEST(Subnormal, CountsAsZeroInEveryOp) {
  for (const Mode mode : modes())
    ir::for_each_op([&]<class O>(O) {
      SCOPED_TRACE(str(O::name, mode == Mode::eager ? " eager" : " compiled"));
      if constexpr (!ir::IsLeaf<O>) test_op<O>(mode);
    });
}

/// Of constants too: what is folded is what an eager run computes.
TEST(Subnormal, CountsAsZeroInConstants) {
  const auto f = [](const Tensor& x) {
    const Tensor tiny = Tensor(1e-39f) * 1e10f, product = Tensor(1e-30f) * 1e-10f * 1e10f, sum = (Tensor(1e8f) + 1.0f) - 1e8f;
    return std::tuple(x * 0 + tiny, x * 0 + product, x * 0 + sum, x * 0 + exp(Tensor(1.5f)));
  };
  const Tensor x = random({2, 3}, 1);
  const auto [a, b, c, d] = f(x);
  for (const Tensor* zero : {&a, &b, &c}) EXPECT_EQ(zero->to_vector<float>(), std::vector<float>(6));
  for (const Mode mode : modes()) {
    auto step = compile(f, {.mode = mode});
    const auto [p, q, r, s] = step(x);
    EXPECT_EQ(p.to_vector<float>(), a.to_vector<float>());
    EXPECT_EQ(q.to_vector<float>(), b.to_vector<float>());
    EXPECT_EQ(r.to_vector<float>(), c.to_vector<float>());
    EXPECT_EQ(s.to_vector<float>(), d.to_vector<float>());
  }
}

}  // namespace
}  // namespace sinter::test::subnormal_test
