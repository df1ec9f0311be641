#include "bench/math/ops.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "bench/math/functions.h"
#include "frontend/compile/bounds.h"
#include "frontend/compile/step.h"
#include "frontend/core/random.h"
#include "frontend/core/trace.h"

namespace sinter::bench {

namespace {

struct Case {
  std::vector<ir::SampleInput> inputs;
  std::int64_t n;
  bool all_exponents = false;  ///< of f32 operands
};

/// Ops that add terms which may cancel: their error is judged by the terms.
template <class O>
concept AddsTerms = std::is_same_v<O, ir::Matmul> || std::is_same_v<O, ir::Dense> || std::is_same_v<O, ir::BatchMatmul> ||
                    std::is_same_v<O, ir::Sum> || std::is_same_v<O, ir::Cumsum> || ir::IsConvolution<O> || std::is_same_v<O, ir::AveragePool> ||
                    ir::IsUnpool<O> || std::is_same_v<O, ir::ScatterAddRows> || std::is_same_v<O, ir::ScatterAddAlong>;

Tensor operand(const ir::SampleInput& input, const Case& c, RandomStream& random) {
  const Type type{input.type.dtype, input.type.shape.at(c.n)};
  return with_element_type(type.dtype, [&]<class T>(T) {
    std::vector<T> data(static_cast<std::size_t>(type.shape.elements().factor()));
    for (T& x : data) {
      if constexpr (std::is_same_v<T, float>) {
        if (c.all_exponents) {
          x = flushed(std::bit_cast<float>(random.next()));
          continue;
        }
      }
      const double u = input.low + (input.high - input.low) * random.uniform();
      x = static_cast<T>(is_float(type.dtype) ? u : std::floor(u));
    }
    return Tensor::from_bytes(type, data.data());
  });
}

/// The sums of the absolute values of what is added.
ir::Array magnitudes(const ir::Op& op, const Type& type, std::vector<Bounded> in, std::int64_t n) {
  std::vector<const Bounded*> pointers;
  for (Bounded& b : in) {
    if (is_float(b.value.dtype))
      for (double& x : b.value.data) x = std::abs(x);
    pointers.push_back(&b);
  }
  return evaluate_bounded(op, type, pointers, n).value;
}

/// A unit in the last place of an f32 of this size; of 1 for what has no exponent.
double last_place(double value) { return std::ldexp(1.0, (value != 0 && std::isfinite(value) ? std::ilogb(value) : 0) - 23); }

double error(bool by_terms, bool is_float, double got, double wanted, double unit) {
  if (!is_float) return std::abs(got - wanted);
  if (!by_terms) return ulps_off(static_cast<float>(got), wanted);
  return got == wanted ? 0 : std::abs(got - wanted) / unit;
}

template <class O>
void measure(const O& op, Case c, OpError& worst) {
  if (std::none_of(c.inputs.begin(), c.inputs.end(), [](const ir::SampleInput& i) { return i.type.shape.has_batch(); })) c.n = 1;
  ir::Graph graph("measure");
  std::vector<ir::NodeId> ids;
  std::vector<InputKind> kinds;
  RandomStream random(5, 1);
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> in;
  std::vector<Bounded> values;
  std::vector<const Bounded*> pointers;
  for (const ir::SampleInput& input : c.inputs) {
    kinds.push_back(input.type.shape.has_batch() ? InputKind::batch : InputKind::fixed);
    ids.push_back(graph.add_input({str("x", ids.size()), input.type, kinds.back()}).id);
    tensors.push_back(operand(input, c, random));
    values.push_back(exact(tensors.back()));
  }
  for (const Tensor& t : tensors) in.push_back(&t);
  for (const Bounded& b : values) pointers.push_back(&b);
  const ir::Value result = graph.add(op, ids, {});
  graph.add_output(result);
  const Bounded wanted = evaluate_bounded(op, result.type(), pointers, c.n);
  const bool floats = is_float(result.type().dtype);
  if constexpr (ir::IsElementwise<O>) worst.allowed = floats ? O::ulps : worst.allowed;
  const ir::Array total = worst.by_terms ? magnitudes(op, result.type(), values, c.n) : wanted.value;
  for (const Mode mode : {Mode::eager, Mode::graph}) {
    StepCore step(Traced{graph, {}, {}}, {.name = "measure", .mode = mode, .kinds = kinds});
    const Bounded got = exact(step.call(in)[0]);
    double& greatest = mode == Mode::eager ? worst.eager : worst.compiled;
    for (std::size_t i = 0; i < got.value.data.size(); ++i) {
      const double want = wanted.value.data[i];
      const double unit = worst.by_terms ? 0x1p-24 * std::abs(total.data[i]) : last_place(want);
      const double off = error(worst.by_terms, floats, got.value.data[i], want, unit);
      if constexpr (!ir::IsElementwise<O>)
        if (off > std::max(worst.eager, worst.compiled)) worst.allowed = wanted.error[i] / unit;
      greatest = std::max(greatest, off);
    }
  }
}

ir::SampleInput floats(const Shape& shape) { return {{DType::f32, shape}, -2, 2}; }

/// Shapes of real layers.
template <class O>
std::vector<ir::Sample<O>> layers() {
  const Dim n = Dim::batch();
  if constexpr (std::is_same_v<O, ir::Matmul>) return {{{}, {floats({n, 784}), floats({784, 70})}}, {{}, {floats({n, 4096}), floats({4096, 64})}}};
  else if constexpr (std::is_same_v<O, ir::Dense>) return {{{}, {floats({n, 784}), floats({784, 70}), floats({70})}}};
  else if constexpr (std::is_same_v<O, ir::BatchMatmul>) return {{{}, {floats({n, 32, 64}), floats({n, 64, 32})}}};
  else if constexpr (std::is_same_v<O, ir::Sum>) return {{{1, 2}, {floats({n, 4096})}}, {{0, 1}, {floats({n, 70})}}};
  else if constexpr (std::is_same_v<O, ir::Cumsum>) return {{{1, false}, {floats({n, 1000})}}};
  else if constexpr (std::is_same_v<O, ir::Softmax> || std::is_same_v<O, ir::LogSoftmax>) return {{{}, {floats({n, 1000})}}};
  else if constexpr (std::is_same_v<O, ir::Conv2D>) {
    O same;
    same.pads = {1, 1, 1, 1};
    return {{same, {floats({n, 16, 16, 16}), floats({3, 3, 16, 32})}}, {{}, {floats({n, 16, 16, 64}), floats({1, 1, 64, 32})}}};
  } else return {};
}

template <class O>
void add_op(std::vector<OpError>& all) {
  const std::string name(O::name);
  const auto declarable = [](const ir::Sample<O>& sample) {  // an N that does not lead cannot be declared
    return std::all_of(sample.inputs.begin(), sample.inputs.end(),
                       [](const ir::SampleInput& i) { return !i.type.shape.has_batch() || i.type.shape[0] == Dim::batch(); });
  };
  OpError samples{name, "samples", AddsTerms<O>};
  for (const ir::Sample<O>& sample : O::samples())
    if (declarable(sample)) measure(sample.op, {sample.inputs, 131}, samples);
  if constexpr (ir::IsElementwise<O>) {
    const ir::Sample<O> sample = O::samples().front();
    Case c{sample.inputs, 1 << 17, true};
    const bool of_floats = std::any_of(c.inputs.begin(), c.inputs.end(), [](const ir::SampleInput& i) { return is_float(i.type.dtype); });
    for (ir::SampleInput& input : c.inputs) input.type.shape = {Dim::batch()};
    if (of_floats) {
      measure(sample.op, c, samples);
      samples.of = "all exponents";
    }
  }
  all.push_back(samples);
  for (const ir::Sample<O>& layer : layers<O>()) {
    OpError row{name, "", AddsTerms<O>};
    for (const ir::SampleInput& input : layer.inputs) row.of += (row.of.empty() ? "" : " ") + to_string(input.type.shape);
    measure(layer.op, {layer.inputs, 64}, row);
    all.push_back(row);
  }
}

}  // namespace

std::vector<OpError> op_errors() {
  std::vector<OpError> all;
  ir::for_each_op([&]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>) add_op<O>(all);
  });
  return all;
}

}  // namespace sinter::bench
