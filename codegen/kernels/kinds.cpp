#include "codegen/kernels/kinds.h"

#include "codegen/vec.h"

namespace sinter::codegen {

const KernelKind& kind_of(const ir::Op& op) {
  return std::visit([]<class O>(const O&) -> const KernelKind& { return kind_for<O>(); }, op);
}

Vec KernelKind::element(Emitter&, ir::NodeId, const Site&) const { throw InternalError("codegen", "this kernel computes no elements one by one"); }

}  // namespace sinter::codegen
