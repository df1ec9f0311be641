// Loops over time in graphs: against the same steps one after the other, in values and gradients.
#include "ir/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ir/copy.h"
#include "ir/differentiate.h"
#include "ir/print.h"
#include "ir/reference.h"
#include "ir/verify.h"
#include "tests/ir/expect_error.h"
#include "tests/ir/random_arrays.h"

namespace sinter::ir::scan_test {
namespace {

const Dim n = Dim::batch(), T = Dim::length();

/// What a step makes of carries, elements and the rest.
struct Made {
  Values next, outputs;
};
using StepFunction = std::function<Made(Graph&, const Values& carries, const Values& elements, const Values& others)>;

struct Cell {
  std::string name;
  std::vector<Type> carries, elements, others;
  StepFunction step;
  double low = -1, high = 1;  ///< of its operands
  friend void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name; }
};

Value sigmoid(Value x) { return x.graph->add(Sigmoid{}, {x}); }
Value tanh_of(Value x) { return x.graph->add(Tanh{}, {x}); }
Value columns(Value x, std::int64_t first, std::int64_t count) { return x.graph->add(Slice{1, first, count}, {x}); }

Type f32(Shape shape) { return {DType::f32, shape}; }

Cell simple() {
  return {
      "simple", {f32({n, 3})}, {f32({n, 2})}, {f32({2, 3}), f32({3, 3}), f32({3})}, [](Graph&, const Values& c, const Values& x, const Values& w) {
        const Value h = tanh_of(matmul(x[0], w[0]) + matmul(c[0], w[1]) + w[2]);
        return Made{{h}, {h}};
      }};
}

Cell gru(bool reset_after) {
  return {reset_after ? "gru_reset_after" : "gru",
          {f32({n, 3})},
          {f32({n, 2})},
          {f32({2, 9}), f32({3, 9}), f32({9}), f32({9})},
          [=](Graph&, const Values& c, const Values& x, const Values& w) {
            const Value h = c[0], a = matmul(x[0], w[0]) + w[2], b = matmul(h, w[1]) + w[3];
            const Value z = sigmoid(columns(a, 0, 3) + columns(b, 0, 3)), r = sigmoid(columns(a, 3, 3) + columns(b, 3, 3));
            const Value inner = reset_after ? r * columns(b, 6, 3) : matmul(r * h, w[1].graph->add(Slice{1, 6, 3}, {w[1]}));
            const Value next = z * h + (1 - z) * tanh_of(columns(a, 6, 3) + inner);
            return Made{{next}, {next}};
          }};
}

Cell lstm() {
  return {"lstm",
          {f32({n, 3}), f32({n, 3})},
          {f32({n, 2})},
          {f32({2, 12}), f32({3, 12}), f32({12})},
          [](Graph&, const Values& c, const Values& x, const Values& w) {
            const Value gates = matmul(x[0], w[0]) + matmul(c[0], w[1]) + w[2];
            const Value i = sigmoid(columns(gates, 0, 3)), f = sigmoid(columns(gates, 3, 3)), g = tanh_of(columns(gates, 6, 3)),
                        o = sigmoid(columns(gates, 9, 3));
            const Value cell = f * c[1] + i * g, h = o * tanh_of(cell);
            return Made{{h, cell}, {h, sigmoid(gates)}};
          }};
}

/// A carry that counts, one that nothing reads at the end, an operand with N that is the same for all steps, a mask, a vector a sample.
Cell strange() {
  return {"strange",
          {f32({n}), f32({n, 2, 3}), f32({n})},
          {f32({n, 2, 3}), {DType::boolean, {n}}, f32({n})},
          {f32({n, 3}), f32({3})},
          [](Graph&, const Values& c, const Values& x, const Values& w) {
            const Value count = c[0] + 1, wide = exp(reshape(w[0], {n, 1, 3}) * 0.1) * x[0];
            const Value masked = select(reshape(x[1], {n, 1, 1}), c[1] * 0.5 + wide * reshape(x[2], {n, 1, 1}), c[1]);
            const Value rows = reshape(masked, {Dim::batch(2), 3}) * w[1];
            const Value summed = sum(rows, 1, 2);
            const Value last = c[2] * 0.9 + sum(reshape(summed, {n, 2}), 1, 2);
            return Made{{count, masked, last}, {last * count, reshape(rows, {n, 2, 3}), cast(count, DType::i32)}};
          }};
}

/// Nothing depends on a carry but the carry itself, which is the element before.
Cell delay() {
  return {"delay", {f32({n, 2})}, {f32({n, 2})}, {f32({2, 2})}, [](Graph&, const Values& c, const Values& x, const Values& w) {
            return Made{{x[0]}, {c[0] - x[0], matmul(x[0], w[0])}};
          }};
}

/// The gradient of what it captures passes through a power, a quotient, and an embedding that a carry chooses.
Cell captured() {
  return {"captured",
          {f32({n, 3})},
          {{DType::i32, {n}}, f32({n, 3})},
          {f32({4, 3}), f32({3, 3})},
          [](Graph& graph, const Values& c, const Values& x, const Values& w) {
            const Value rows = graph.add(GatherRows{}, {w[0], x[0]});
            const Value weight = exp(w[1]) / 3;
            const Value h = matmul(c[0], weight) * rows / (square(x[1]) + 1);
            return Made{{h}, {h + square(rows)}};
          },
          0.2,
          1.2};
}

struct Built {
  Graph graph{"g"};
  Values carries, sequences, others;  ///< leaves
  Values results;                     ///< last carries, then stacked outputs
  Values leaves() const {
    Values all(carries);
    all.insert(all.end(), sequences.begin(), sequences.end());
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
};

void add_leaves(Built& b, const Cell& cell, Dim length) {
  const auto add = [&](Values& to, const Type& type) {
    const bool is_batch = type.shape.rank() && type.shape[0].is_batch();
    to.push_back(b.graph.add_input({str("in", b.graph.inputs().size()), type, is_batch ? InputSpec::Kind::batch : InputSpec::Kind::fixed}));
  };
  for (const Type& type : cell.carries) add(b.carries, type);
  for (const Type& type : cell.elements) add(b.sequences, {type.dtype, type.shape.insert(1, length)});
  for (const Type& type : cell.others) add(b.others, type);
}

Graph step_graph(const Cell& cell, StepResults& results) {
  Graph step("step");
  Values carries, elements, others;
  const auto add = [&](Values& to, const Type& type) {
    to.push_back(step.add_input({str("s", step.inputs().size()), type, InputSpec::Kind::hidden}));
  };
  for (const Type& type : cell.carries) add(carries, type);
  for (const Type& type : cell.elements) add(elements, type);
  for (const Type& type : cell.others) add(others, type);
  const Made made = cell.step(step, carries, elements, others);
  for (const Value v : made.next) results.next.push_back(v.id);
  for (const Value v : made.outputs) results.stacked.push_back(v.id);
  return step;
}

Built scanned(const Cell& cell, Dim length, bool reverse) {
  Built b;
  add_leaves(b, cell, length);
  StepResults wanted;
  const Graph step = step_graph(cell, wanted);
  const ScanValues made = add_scan(b.graph, {step, b.carries, b.sequences, b.others, length, reverse}, wanted);
  b.results = made.last;
  b.results.insert(b.results.end(), made.stacked.begin(), made.stacked.end());
  return b;
}

Built unrolled(const Cell& cell, std::int64_t length, bool reverse) {
  Built b;
  add_leaves(b, cell, length);
  Values carries = b.carries;
  std::vector<Values> outputs(static_cast<std::size_t>(length));
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t t = reverse ? length - 1 - step : step;
    Values elements;
    for (const Value s : b.sequences) elements.push_back(reshape(b.graph.add(Slice{1, t, 1}, {s}), s.shape().erase(1, 2)));
    Made made = cell.step(b.graph, carries, elements, b.others);
    carries = made.next;
    outputs[static_cast<std::size_t>(t)] = made.outputs;
  }
  b.results = carries;
  for (std::size_t i = 0; i < outputs[0].size(); ++i) {
    std::vector<NodeId> all;
    for (const Values& of : outputs) all.push_back(reshape(of[i], of[i].shape().insert(1, 1)).id);
    b.results.push_back(b.graph.add(Concat{1}, all, {}));
  }
  return b;
}

/// The sum of all f32 results, each element times another number.
Value loss_of(Built& b) {
  Value loss;
  for (std::size_t i = 0; i < b.results.size(); ++i) {
    const Value result = b.results[i];
    if (!is_float(result.type().dtype)) continue;
    const Value index = cast(b.graph.add(Iota{result.shape()}, {}), DType::f32);
    const Value of = sum(result * b.graph.add(Sin{}, {index * 0.7 + static_cast<double>(i)}), 0, result.shape().rank());
    loss = loss ? loss + of : of;
  }
  return loss;
}

std::vector<Array> random_operands(const Built& b, const Cell& cell, Sizes sizes, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<Array> values;
  for (const InputSpec& input : b.graph.inputs()) {
    const bool is_index = input.type.dtype == DType::i32, is_mask = input.type.dtype == DType::boolean;
    values.push_back(test::random_array(random, input.type, sizes, is_index || is_mask ? 0 : cell.low, is_index ? 4 : is_mask ? 2 : cell.high));
  }
  return values;
}

void expect_near(const Array& a, const Array& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.extents, b.extents) << what;
  for (std::size_t i = 0; i < a.data.size(); ++i) ASSERT_NEAR(a.data[i], b.data[i], tolerance * (1 + std::abs(b.data[i]))) << what << " at " << i;
}

class EveryCell : public ::testing::TestWithParam<std::tuple<Cell, bool>> {
 protected:
  const Cell& cell() const { return std::get<0>(GetParam()); }
  bool reverse() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Scan, EveryCell,
                         ::testing::Combine(::testing::Values(simple(), gru(true), gru(false), lstm(), strange(), delay(), captured()),
                                            ::testing::Bool()),
                         [](const auto& info) { return std::get<0>(info.param).name + (std::get<1>(info.param) ? "_reversed" : ""); });

TEST_P(EveryCell, MakesWhatItsStepsMake) {
  for (const std::int64_t length : {1, 2, 5}) {
    const Built a = scanned(cell(), length, reverse()), b = unrolled(cell(), length, reverse());
    verify(a.graph);
    const Sizes sizes(3, 1);
    const auto operands = random_operands(a, cell(), sizes, 7);
    const auto x = evaluate(a.graph, operands, {}, sizes), y = evaluate(b.graph, operands, {}, sizes);
    for (std::size_t i = 0; i < a.results.size(); ++i)
      expect_near(x[a.results[i].id], y[b.results[i].id], 1e-14, str("result ", i, " of ", length, " steps\n", to_text(a.graph)));
  }
}

TEST_P(EveryCell, HasOneBodyForEveryLength) {
  const Built a = scanned(cell(), T, reverse()), b = scanned(cell(), 4, reverse());
  verify(a.graph);
  const Sizes sizes(2, 4);
  const auto operands = random_operands(b, cell(), sizes, 3);
  const auto x = evaluate(a.graph, operands, {}, sizes), y = evaluate(b.graph, operands, {}, sizes);
  for (std::size_t i = 0; i < a.results.size(); ++i) expect_near(x[a.results[i].id], y[b.results[i].id], 0, str("result ", i));
}

TEST_P(EveryCell, HasTheGradientsOfItsSteps) {
  for (const Dim length : {Dim(1), Dim(4)}) {
    Built a = scanned(cell(), length, reverse()), b = unrolled(cell(), length.factor(), reverse());
    const Values of_a = differentiate(loss_of(a), a.leaves()), of_b = differentiate(loss_of(b), b.leaves());
    verify(a.graph);
    const Sizes sizes(3, 1);
    const auto operands = random_operands(a, cell(), sizes, 11);
    const auto x = evaluate(a.graph, operands, {}, sizes), y = evaluate(b.graph, operands, {}, sizes);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      if (!of_b[i]) {
        EXPECT_FALSE(of_a[i]) << i;
        continue;
      }
      if (!of_a[i])  // none may stand for 0
        for (const double v : y[of_b[i].id].data) EXPECT_EQ(v, 0) << i;
      else expect_near(x[of_a[i].id], y[of_b[i].id], 1e-12, str("gradient ", i, "\n", to_text(a.graph)));
    }
  }
}

TEST_P(EveryCell, HasSecondDerivativesOfItsSteps) {
  const auto second = [&](Built& b) {
    const Values first = differentiate(loss_of(b), b.leaves());
    Value loss;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!first[i]) continue;
      const Value of = sum(first[i] * first[i], 0, first[i].shape().rank()) * (0.1 + static_cast<double>(i));
      loss = loss ? loss + of : of;
    }
    return differentiate(loss, b.leaves());
  };
  Built a = scanned(cell(), 3, reverse()), b = unrolled(cell(), 3, reverse());
  const Values of_a = second(a), of_b = second(b);
  verify(a.graph);
  const Sizes sizes(2, 1);
  const auto operands = random_operands(a, cell(), sizes, 5);
  const auto x = evaluate(a.graph, operands, {}, sizes), y = evaluate(b.graph, operands, {}, sizes);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (!of_b[i]) continue;
    if (!of_a[i])
      for (const double v : y[of_b[i].id].data) EXPECT_EQ(v, 0) << i;
    else expect_near(x[of_a[i].id], y[of_b[i].id], 1e-10, str("second derivative ", i));
  }
}

/// With a fixed number of samples in place of N.
TEST_P(EveryCell, TakesAFixedNumberOfSamples) {
  Cell fixed = cell();
  const auto with_two = [](std::vector<Type>& types) {
    for (Type& type : types)
      if (type.shape.rank() && type.shape[0].is_batch()) type.shape = type.shape.with(0, 2);
  };
  with_two(fixed.carries), with_two(fixed.elements), with_two(fixed.others);
  if (fixed.name == "strange") return;  // its shapes name N
  Built a = scanned(fixed, 3, reverse()), b = scanned(cell(), 3, reverse());
  const Values of_a = differentiate(loss_of(a), a.leaves()), of_b = differentiate(loss_of(b), b.leaves());
  verify(a.graph);
  const Sizes sizes(2, 1);
  const auto operands = random_operands(b, cell(), sizes, 9);
  const auto x = evaluate(a.graph, operands, {}, sizes), y = evaluate(b.graph, operands, {}, sizes);
  for (std::size_t i = 0; i < a.results.size(); ++i) expect_near(x[a.results[i].id], y[b.results[i].id], 0, str("result ", i));
  for (std::size_t i = 0; i < of_a.size(); ++i)
    if (of_a[i]) expect_near(x[of_a[i].id], y[of_b[i].id], 1e-13, str("gradient ", i));
}

TEST(ScanNodes, ComputesWhatDependsOnNoCarryOutside) {
  Built b = scanned(simple(), T, false);
  for (const Value result : b.results) b.graph.add_output(result);
  b.graph.erase_dead();
  EXPECT_EQ(to_text(b.graph, {.origins = false}),
            "graph g(in0: f32[N,3], in1: f32[N,T,2], in2: f32[2,3], in3: f32[3,3], in4: f32[3])\n"
            "  %0: f32[NT,2] = reshape(%in1, shape=[NT,2])\n"
            "  %1: f32[NT,3] = matmul(%0, %in2, transpose_a=false, transpose_b=false)\n"
            "  %2: f32[N,T,3] = reshape(%1, shape=[N,T,3])\n"
            "  %3: u8[] = scan(%in0, %2, %in3, %in4, carries=1, sequences=1, length=T, reverse=false)\n"
            "    graph step(s0: f32[N,3], sequence_0: f32[N,3], s3: f32[3,3], s4: f32[3])\n"
            "      %0: f32[N,3] = matmul(%s0, %s3, transpose_a=false, transpose_b=false)\n"
            "      %1: f32[N,3] = add(%sequence_0, %0)\n"
            "      %2: f32[N,3] = add(%1, %s4)\n"
            "      %3: f32[N,3] = tanh(%2)\n"
            "      return %3, %3\n"
            "  %4: f32[N,3] = scan_result(%3, index=0, dtype=f32, shape=[N,3])\n"
            "  %5: f32[N,T,3] = scan_result(%3, index=1, dtype=f32, shape=[N,T,3])\n"
            "  return %4, %5\n");
}

/// The gradient of a weight is one product over all steps.
TEST(ScanNodes, ComputesTheGradientsOfWeightsOutside) {
  Built b = scanned(simple(), T, false);
  const Values gradients = differentiate(loss_of(b), b.others);
  for (const Value gradient : gradients) b.graph.add_output(gradient);
  b.graph.erase_dead();
  EXPECT_EQ(b.graph.node(gradients[1].id).type, f32({3, 3}));
  EXPECT_EQ(to_text(b.graph).find("transpose_a=true"), to_text(b.graph).find("transpose_a=true, transpose_b=false)\n"));
  for (NodeId id = 0; id < b.graph.size(); ++id)
    if (const auto* scan = std::get_if<Scan>(&b.graph.node(id).op))
      for (NodeId inner = 0; inner < scan->body.graph().size(); ++inner) {
        const auto* product = std::get_if<Matmul>(&scan->body.graph().node(inner).op);
        EXPECT_FALSE(product && product->transpose_a) << to_text(b.graph);
      }
}

}  // namespace
}  // namespace sinter::ir::scan_test
