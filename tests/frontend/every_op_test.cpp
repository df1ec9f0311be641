// Every op of the list, on its samples: eager and compiled against the double reference, after a trip through a file. A new op is covered the moment
// it joins the list.
#include "frontend/compile/bounds.h"
#include "frontend/compile/variant.h"
#include "frontend/core/interpret.h"
#include "frontend/core/trace.h"
#include "tests/frontend/helpers.h"
#include "tests/frontend/sample_graph.h"

namespace sinter::test {
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

template <class O>
class EveryOp : public ::testing::Test {};

template <class... Ops>
::testing::Types<Ops...> types_of(std::variant<Ops...>*);
struct OpName {
  template <class O>
  static std::string GetName(int) {
    return std::string(O::name);
  }
};
using AllOps = decltype(types_of(static_cast<ir::Op*>(nullptr)));
TYPED_TEST_SUITE(EveryOp, AllOps, OpName);

/// What the graph's output is in double, with its bound, on these inputs.
Bounded reference(const ir::Graph& graph, const std::vector<Tensor>& inputs, std::int64_t n) {
  std::vector<Bounded> values(graph.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.input_node(i)] = exact(inputs[i]);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::is_leaf(node.op)) continue;
    std::vector<const Bounded*> operands;
    for (const ir::NodeId input : node.inputs) operands.push_back(&values[input]);
    values[id] = evaluate_bounded(node.op, node.type, operands, n);
  }
  return values[graph.outputs()[0]];
}

TYPED_TEST(EveryOp, EagerAndCompiledAgreeWithTheReference) {
  if constexpr (!ir::IsLeaf<TypeParam>) {
    std::uint64_t stream = 0;
    for (const auto& sample : TypeParam::samples()) {
      const std::optional<ir::Graph> graph = graph_of(sample);
      if (!graph) continue;
      std::vector<InputKind> kinds;
      for (const auto& spec : graph->inputs()) kinds.push_back(spec.kind);
      for (const std::int64_t n : {1, 5, 64, 131}) {
        std::vector<Tensor> inputs;
        std::vector<const Tensor*> in;
        for (std::size_t i = 0; i < kinds.size(); ++i) inputs.push_back(sample_tensor(sample.inputs[i], graph->inputs()[i].type.shape, n, stream++));
        for (const Tensor& t : inputs) in.push_back(&t);
        const std::int64_t batch = batch_of(*graph, in);
        const Bounded wanted = reference(*graph, inputs, batch);
        for (const Mode mode : modes()) {
          StepCore step(Traced{*graph, {}, {}}, {.name = "sample", .mode = mode, .kinds = kinds});
          const Tensor got = step.call(in)[0];
          double worst = 0;
          const std::int64_t at = first_difference(exact(got).value, wanted, worst);
          ASSERT_EQ(at, -1) << ir::to_text(*graph) << (mode == Mode::eager ? "eager" : "graph") << ", N = " << batch << ", element " << at << ": got "
                            << exact(got).value.data[static_cast<std::size_t>(at)] << ", wanted " << wanted.value.data[static_cast<std::size_t>(at)];
        }
      }
    }
  }
}

/// Samples that the test above and those of the code generator leave out: random programs reach them (RandomPrograms.HaveEveryOpAndEveryKindOfShape).
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
}  // namespace sinter::test
