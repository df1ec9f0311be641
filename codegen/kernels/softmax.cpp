// Softmax and log-softmax: kernels that need a whole row.
#include "codegen/emit/combine.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

/// The exponentials of a row are kept until their sum is known.
void SoftmaxKernel::plan(Planner& planner, Kernel kernel) const {
  const Dim columns = symbolic_layout(kernel.shape).cols;
  const bool keeps = std::holds_alternative<ir::Softmax>(planner.graph().node(kernel.anchor).op) && columns.is_fixed() && !is_flat(kernel.shape);
  if (keeps) kernel.memory.push_back({Memory::staging, planner.temporary({DType::f32, {columns}}, str("exponentials of ", kernel.anchor)), true});
  planner.add(std::move(kernel));
}

KernelKind::Skips SoftmaxKernel::skips_padding(const ir::Graph&, const Kernel& kernel) const {
  return is_flat(kernel.shape) ? Skips::nothing : Skips::rows;
}

void SoftmaxKernel::emit(Emitter& e) const {
  const bool logarithm = std::holds_alternative<ir::LogSoftmax>(e.anchor().op);
  const Shape& shape = e.kernel().shape;
  const ValueId x = e.value_of(e.anchor().inputs[0]), kept = e.memory(Memory::staging);
  Vec greatest, total;
  const auto element = [&](const Site& site) { return e.load(e.address(x, site.row, site.last), DType::f32, site.width); };
  const auto shifted = [&](const Site& site) { return element(site) - splat(greatest, site.width); };
  const auto exponential = [&](const Site& site) {
    const Vec result = exp(shifted(site));
    if (kept != no_value) e.store(result, kept, {e.number(0), site.last, site.width, site.valid});
    return result;
  };
  const auto reduce = [&](Value* row, Combine how, const std::function<Vec(const Site&)>& f) {
    return is_flat(shape) ? f({e.number(0), row}) : combine_row(e, how, DType::f32, shape, row, f);
  };
  const auto at_row = [&](Value* row) {
    greatest = reduce(row, Combine::greatest, element);  // of a row with NaN the sum is NaN, and with it every result
    total = reduce(row, Combine::sum, exponential);
    if (logarithm) total = log(total);
  };
  const auto result = [&](const Site& site) {
    if (logarithm) return shifted(site) - splat(total, site.width);
    const Vec dividend = kept == no_value ? exp(shifted(site)) : e.load(e.address(kept, e.number(0), site.last), DType::f32, site.width);
    return dividend / splat(total, site.width);
  };
  e.store_results(e.rows(), is_flat(shape), result, at_row);
}

}  // namespace sinter::codegen
