// What is collected in memory before what follows runs over it.
#include <algorithm>

#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"
#include "ir/kernel.h"

namespace sinter::codegen {

void CollectedKernel::plan_memory(Planner& planner, Kernel& kernel) {
  kernel.memory.push_back({Memory::collected, planner.temporary(planner.graph().node(kernel.anchor).type, str("product ", kernel.anchor))});
}

void CollectedKernel::plan_memory_in_place(Planner& planner, Kernel& kernel) {
  // What follows reads each element of it once, to write the same element.
  const ir::Graph& graph = planner.graph();
  const Type& type = graph.node(kernel.anchor).type;
  std::vector<ir::NodeId> after{kernel.anchor};
  for (const ir::NodeId id : kernel.nodes) {
    const ir::Node& node = graph.node(id);
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ir::NodeId input) { return std::find(after.begin(), after.end(), input) != after.end(); });
    if (!follows) continue;
    if (!ir::is_pointwise(node.op) || node.type.shape != type.shape) return plan_memory(planner, kernel);
    after.push_back(id);
  }
  for (const Write& write : kernel.writes) {
    const StoredValue& value = planner.stored(write.value);
    if (value.type == type && value.length == Dim(0) && !value.unpadded &&
        (value.home == StoredValue::Home::memory || value.home == StoredValue::Home::output)) {
      kernel.memory.push_back({Memory::collected, write.value});
      return;
    }
  }
  plan_memory(planner, kernel);
}

void CollectedKernel::plan_samples(const Planner& planner, Kernel& kernel) {
  const bool samples =
      kernel.shape.rank() && kernel.shape[0].is_batch() && ir::access_of(planner.graph(), kernel.anchor).axes[0].kind == ir::Axis::Kind::parallel;
  kernel.domain = samples ? Domain{Dim::batch(), true} : Domain{};
}

Vec CollectedKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  return e.load(e.address(e.memory(Memory::collected), site.row, site.last), e.type_of(anchor).dtype, site.width);
}

void CollectedFirstKernel::plan(Planner& planner, Kernel kernel) const {
  plan_samples(planner, kernel);
  plan_memory_in_place(planner, kernel);
  planner.add(std::move(kernel));
}

void CollectedFirstKernel::emit(Emitter& e) const {
  collect(e);
  e.store_results(e.rows());
}

}  // namespace sinter::codegen
