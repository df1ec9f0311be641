// Kernels of elementwise ops alone, and copies.
#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/unpadded_rows.h"

namespace sinter::codegen {

void PointwiseKernel::plan(Planner& planner, Kernel kernel) const {
  planner.cut_single_sample(kernel, Cut::Along::rows, symbolic_layout(kernel.shape).rows.factor());
  planner.add(std::move(kernel));
}

KernelKind::Skips PointwiseKernel::skips_padding(const ir::Graph&, const Kernel& kernel) const {
  return kernel.is<Kernel::Group>() && !is_flat(kernel.shape) ? Skips::rows : Skips::nothing;
}

void PointwiseKernel::emit(Emitter& e) const {
  if (are_unpadded_rows(e.graph(), e.context().schedule, e.kernel())) return emit_unpadded_rows(e);
  if (!e.kernel().is<Kernel::Copy>()) return e.store_results(e.rows());
  const ValueId from = e.kernel().reads.front().value, to = e.kernel().writes.front().value;
  e.for_each_site(e.kernel().shape, e.rows(), false,
                  [&](const Site& site) { e.store(e.load(e.address(from, site.row, site.last), e.stored(from).type.dtype, site.width), to, site); });
}

}  // namespace sinter::codegen
