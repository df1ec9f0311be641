// Every op of the list, on its samples: eager and compiled against the double reference, after a trip through a file. A new op is covered the moment
// it joins the list.
#include "frontend/compile/bounds.h"
#include "frontend/compile/variant.h"
#include "frontend/core/apply.h"
#include "frontend/core/interpret.h"
#include "frontend/core/trace.h"
#include "tests/frontend/helpers.h"
#include "tests/frontend/sample_graph.h"
#include "tests/ir/op_types.h"

namespace sinter::test::every_op_test {
namespace {

/// Numbers of the sample's range in the shape that the graph declares.
Tensor sample_tensor(const ir::SampleInput& input, const Shape& shape, std::int64_t n, std::uint64_t stream) {
  const Type type{input.type.dtype, shape.at(n)};
  RandomStream random(7, stream);
  const auto count = static_cast<std::size_t>(type.shape.elements().factor());
  return with_element_type(type.dtype, [&]<class T>(T) {
    std::vector<T> data(count);
    for (T& x : data) {
      const double u = input.low + (input.high - input.low) * random.uniform();
      x = static_cast<T>(is_float(type.dtype) ? u : std::floor(u));
    }
    return Tensor::from_bytes(type, data.data());
  });
}

/// A call of the sample's graph with its inputs at batch size n.
struct Call {
  std::vector<Spec> specs;
  std::vector<InputKind> kinds;
  std::vector<Tensor> inputs;
  std::vector<const Tensor*> in;  ///< to the inputs

  template <class O>
  Call(const ir::Sample<O>& sample, const ir::Graph& graph, std::int64_t n, std::uint64_t& stream) {
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const ir::InputSpec& spec = graph.inputs()[i];
      specs.push_back({spec.type, spec.kind});
      kinds.push_back(spec.kind);
      inputs.push_back(sample_tensor(sample.inputs[i], spec.type.shape, n, stream++));
    }
    for (const Tensor& t : inputs) in.push_back(&t);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

template <class O>
class EveryOp : public ::testing::Test {};

TYPED_TEST_SUITE(EveryOp, OpTypes, OpName);

/// What the graph's outputs are in double, with their bounds, on these inputs.
std::vector<Bounded> reference(const ir::Graph& graph, const std::vector<Tensor>& inputs, std::int64_t n) {
  std::vector<Bounded> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.input_node(i)] = exact(inputs[i]);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::is_leaf(node.op)) continue;
    std::vector<const Bounded*> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(&values[input]);
    values[id] = evaluate_bounded(node.op, node.type, operands, n);
  }
  std::vector<Bounded> outputs;
  for (const ir::NodeId id : graph.outputs()) outputs.push_back(values[id]);
  return outputs;
}

TYPED_TEST(EveryOp, EagerAndCompiledAgreeWithTheReference) {
  if constexpr (!ir::IsLeaf<TypeParam>) {
    std::uint64_t stream = 0;
    for (const auto& sample : TypeParam::samples()) {
      const std::optional<ir::Graph> graph = graph_of(sample);
      if (!graph) continue;
      for (const std::int64_t n : {1, 5, 64, 131}) {
        const Call call(sample, *graph, n, stream);
        const std::int64_t batch = sizes_of(*graph, call.in).n;
        const Bounded wanted = reference(*graph, call.inputs, batch)[0];
        for (const Mode mode : modes()) {
          StepCore step(Traced{*graph, {}, {}}, {.name = "sample", .mode = mode, .kinds = call.kinds});
          const Tensor got = step.call(call.in)[0];
          double worst = 0;
          const std::int64_t at = first_difference(exact(got).value, wanted, worst);
          ASSERT_EQ(at, -1) << ir::to_text(*graph) << (mode == Mode::eager ? "eager" : "graph") << ", N = " << batch << ", element " << at << ": got "
                            << exact(got).value.data[static_cast<std::size_t>(at)] << ", wanted " << wanted.value.data[static_cast<std::size_t>(at)];
        }
      }
    }
  }
}

/// The gradients, by the f32 inputs, of the sum of squares of the gradients of the sum of squares of what the op makes of the sample's inputs: as a
/// user writes it. `n`: the batch size where it runs eagerly.
template <class O>
std::vector<Tensor> gradients_of_gradients(const ir::Sample<O>& sample, std::span<const Tensor> inputs, std::int64_t n) {
  const auto where = std::source_location::current();
  const auto applied = [&](const ir::Op& op, std::span<const Tensor* const> in) {
    return apply(in[0]->is_traced() ? op : ir::at_sizes(op, n), in, where);
  };
  const auto total = [](const std::vector<Tensor>& values) {
    Tensor sum = sinter::sum(square(values[0]));
    for (std::size_t i = 1; i < values.size(); ++i) sum += sinter::sum(square(values[i]));
    return sum;
  };
  std::vector<Tensor> operands(inputs.begin(), inputs.end()), wanted;
  std::vector<const Tensor*> in;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = sample.inputs[i].type.shape;
    Tensor& x = operands[i];
    if (is_float(x.dtype())) wanted.push_back(x = watch(x));
    const std::array<const Tensor*, 1> declared{&x};
    if (shape.has_batch() && shape[0] != Dim::batch())
      x = applied(shape[0].is_batch() ? ir::Op(ir::Reshape{shape}) : ir::Op(ir::Transpose{}), declared);
    in.push_back(&x);
  }
  const std::vector<Tensor> gradients = grad(total({applied(sample.op, in)}), wanted, {.allow_unused = true});
  return grad(total(gradients), wanted, {.allow_unused = true});
}

TYPED_TEST(EveryOp, GradientsOfGradientsAgreeEagerlyAndCompiled) {
  if constexpr (!ir::HasNoGradient<TypeParam> && !ir::IsLeaf<TypeParam>) {
    const std::int64_t n = 5;
    std::uint64_t stream = 0;
    std::size_t judged = 0;
    for (const auto& sample : TypeParam::samples()) {
      const std::optional<ir::Graph> graph = graph_of(sample);
      if (!graph || !is_float(graph->node(graph->outputs()[0]).type.dtype)) continue;
      const Call call(sample, *graph, n, stream);
      const std::int64_t batch = sizes_of(*graph, call.in).n;  // 1 where no input has N
      const auto function = [&](std::span<const Tensor> x) { return gradients_of_gradients(sample, x, batch); };
      StepCore step(function, {.name = "sample", .mode = modes().back(), .kinds = call.kinds}, std::source_location::current());
      const std::vector<Tensor> compiled = step.call(call.in), eager = function(call.inputs);
      const ir::Graph recorded = step.record(call.specs).graph;
      ASSERT_EQ(recorded.inputs().size(), call.inputs.size()) << "nothing is captured: the reference has no other inputs";
      const std::vector<Bounded> wanted = reference(recorded, call.inputs, batch);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        for (const Tensor* got : {&compiled[i], &eager[i]}) {
          double worst = 0;
          ASSERT_EQ(first_difference(exact(*got).value, wanted[i], worst), -1)
              << ir::to_text(recorded) << (got == &eager[i] ? "eager" : "compiled") << " output " << i;
        }
      ++judged;
      if (modes().back() == Mode::eager) continue;  // in a build without the code generator there is nothing to verify
      const VerifyReport report = step.verify(call.in);
      ASSERT_TRUE(report.ok()) << report << ir::to_text(recorded);
    }
    EXPECT_GT(judged, 0u);
  }
}

/// Samples that the tests above and those of the code generator leave out: random programs reach them
/// (RandomPrograms.HaveEveryOpAndEveryKindOfShape).
TEST(EveryOpSamples, AreLeftOutWhereTheBatchIsInTheMiddle) {
  std::vector<std::string> left_out;
  std::size_t count = 0;
  ir::for_each_op([&]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>)
      for (const auto& sample : O::samples()) {
        ++count;
        if (graph_of(sample)) continue;
        std::string text(O::name);
        for (const ir::SampleInput& input : sample.inputs) text += str(" ", input.type.shape);
        left_out.push_back(text);
      }
  });
  EXPECT_GT(count, 200u);
  EXPECT_THAT(left_out, ::testing::ElementsAre("sum [3,N,5]", "max [3,N,5]", "prod [3,N,5]", "batch_matmul [3,N,2,1] [3,N,1,6]",
                                               "gather_rows [4,N,3] []", "slice [3,N,2]"));
}

}  // namespace
}  // namespace sinter::test::every_op_test
