// Every op of the list, on its samples: eager and compiled against the double reference, after a trip through a file. A new op is covered the moment
// it joins the list.
#include "frontend/compile/bounds.h"
#include "frontend/compile/variant.h"
#include "frontend/core/interpret.h"
#include "frontend/core/trace.h"
#include "tests/frontend/helpers.h"

namespace sinter::test {
namespace {

Tensor sample_tensor(const ir::SampleInput& input, std::int64_t n, std::uint64_t stream) {
  const Type type{input.type.dtype, input.type.shape.at(n)};
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

TYPED_TEST(EveryOp, EagerAndCompiledAgreeWithTheReference) {
  if constexpr (!ir::IsLeaf<TypeParam>) {
    std::uint64_t stream = 0;
    for (const auto& sample : TypeParam::samples()) {
      ir::Graph graph("sample");
      ir::Values operands;
      for (const ir::SampleInput& input : sample.inputs) {
        const Shape& shape = input.type.shape;
        const bool leads = shape.rank() && shape[0] == Dim::batch();
        // An N that does not lead cannot be declared; such samples are made by transposing.
        if (shape.has_batch() && !leads) break;
        operands.push_back(graph.add_input({str("in", operands.size()), input.type, shape.has_batch() ? InputKind::batch : InputKind::fixed}));
      }
      if (operands.size() != sample.inputs.size()) continue;
      std::vector<ir::NodeId> ids;
      for (const ir::Value v : operands) ids.push_back(v.id);
      graph.add_output(graph.add(sample.op, ids, {}));
      for (const std::int64_t n : {1, 5, 64, 131}) {
        std::vector<Tensor> inputs;
        std::vector<const Tensor*> in;
        for (const ir::SampleInput& input : sample.inputs) inputs.push_back(sample_tensor(input, n, stream++));
        for (const Tensor& t : inputs) in.push_back(&t);
        for (const Mode mode : modes()) {
          StepCore step(Traced{graph, {}, {}}, {.name = "sample", .mode = mode, .kinds = [&] {
                                                  std::vector<InputKind> kinds;
                                                  for (const auto& spec : graph.inputs()) kinds.push_back(spec.kind);
                                                  return kinds;
                                                }()});
          const Tensor got = step.call(in)[0];
          std::vector<Bounded> values;
          for (const Tensor& t : inputs) values.push_back(exact(t));
          std::vector<const Bounded*> pointers;
          for (const Bounded& b : values) pointers.push_back(&b);
          const ir::Node& node = graph.node(graph.outputs()[0]);
          const std::int64_t batch = batch_of(graph, in);
          const Bounded wanted = evaluate_bounded(node.op, node.type, pointers, batch);
          double worst = 0;
          const std::int64_t at = first_difference(exact(got).value, wanted, worst);
          ASSERT_EQ(at, -1) << ir::to_text(graph) << (mode == Mode::eager ? "eager" : "graph") << ", N = " << batch << ", element " << at << ": got "
                            << exact(got).value.data[static_cast<std::size_t>(at)] << ", wanted " << wanted.value.data[static_cast<std::size_t>(at)];
        }
      }
    }
  }
}

}  // namespace
}  // namespace sinter::test
