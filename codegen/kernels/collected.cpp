// What is collected in memory before what follows runs over it.
#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

void CollectedKernel::plan_memory(Planner& planner, Kernel& kernel) {
  kernel.product = planner.temporary(planner.graph().node(kernel.anchor).type, str("product ", kernel.anchor));
}

void CollectedKernel::plan_samples(const Planner& planner, Kernel& kernel) {
  const bool samples =
      kernel.shape.rank() && kernel.shape[0].is_batch() && ir::access_of(planner.graph(), kernel.anchor).axes[0].kind == ir::Axis::Kind::parallel;
  kernel.domain = samples ? Domain{Dim::batch(), true} : Domain{};
}

Vec CollectedKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  return e.load(e.address(e.kernel().product, site.row, site.last), e.type_of(anchor).dtype, site.width);
}

void CollectedFirstKernel::plan(Planner& planner, Kernel kernel) const {
  plan_samples(planner, kernel);
  plan_memory(planner, kernel);
  planner.add(std::move(kernel));
}

void CollectedFirstKernel::emit(Emitter& e) const {
  collect(e);
  e.store_results(e.rows());
}

}  // namespace sinter::codegen
