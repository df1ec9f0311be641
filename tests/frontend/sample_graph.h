// The samples of ops as graphs that can be called.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "ir/ops.h"

namespace sinter::test {

/// The sample's op on declared inputs, its result the output. A step's input leads with N: one that leads with 2N is made by a reshape, one that ends
/// with N by a transpose. Nothing if an input has N in the middle, which no single op makes of what can be declared.
template <class O>
std::optional<ir::Graph> graph_of(const ir::Sample<O>& sample) {
  ir::Graph graph("sample");
  std::vector<ir::NodeId> operands;
  for (const ir::SampleInput& input : sample.inputs) {
    const auto& [dtype, shape] = input.type;
    const auto declare = [&](const Shape& declared) {
      const auto kind = shape.has_batch() ? ir::InputSpec::Kind::batch : ir::InputSpec::Kind::fixed;
      return graph.add_input({str("in", operands.size()), {dtype, declared}, kind});
    };
    if (!shape.has_batch() || shape[0] == Dim::batch()) operands.push_back(declare(shape).id);
    else if (shape[0].is_batch()) operands.push_back(graph.add(ir::Reshape{shape}, {declare({Dim::batch(), shape.elements().factor()})}).id);
    else if (shape.rank() == 2) operands.push_back(graph.add(ir::Transpose{}, {declare({shape[1], shape[0]})}).id);
    else return std::nullopt;
  }
  graph.add_output(graph.add(sample.op, operands, {}));
  return graph;
}

}  // namespace sinter::test
