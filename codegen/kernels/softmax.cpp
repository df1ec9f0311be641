// Softmax and log-softmax: kernels that need a whole row.
#include "codegen/emit/combine.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// How many rows are computed together. Nothing of a row can be computed before its greatest element is known, and then its sum: a processor computes
/// other rows in that time. One of a long row, whose elements are enough work.
std::int64_t rows_together(const Shape& shape) {
  constexpr std::int64_t most_rows = 4, most_columns = 1024;
  const Dim columns = symbolic_layout(shape).cols;
  return columns.is_fixed() && columns.factor() <= most_columns ? most_rows : 1;
}

}  // namespace

/// The exponentials of rows are kept until their sums are known.
void SoftmaxKernel::plan(Planner& planner, Kernel kernel) const {
  const Dim columns = symbolic_layout(kernel.shape).cols;
  const bool keeps = std::holds_alternative<ir::Softmax>(planner.graph().node(kernel.anchor).op) && columns.is_fixed() && !is_flat(kernel.shape);
  if (keeps) {
    const Type exponentials{DType::f32, {rows_together(kernel.shape), columns}};
    kernel.memory.push_back({Memory::staging, planner.temporary(exponentials, str("exponentials of ", kernel.anchor)), true});
  }
  planner.cut_single_sample(kernel, Cut::Along::rows, symbolic_layout(kernel.shape).rows.factor());
  planner.add(std::move(kernel));
}

KernelKind::Skips SoftmaxKernel::skips_padding(const ir::Graph&, const Kernel& kernel) const {
  return is_flat(kernel.shape) ? Skips::nothing : Skips::rows;
}

void SoftmaxKernel::emit(Emitter& e) const {
  const bool logarithm = std::holds_alternative<ir::LogSoftmax>(e.anchor().op);
  const Shape& shape = e.kernel().shape;
  const ValueId x = e.value_of(e.anchor().inputs[0]), kept = e.memory(Memory::staging);
  Builder& b = e.builder();
  const auto element = [&](const Site& site) { return e.load(e.address(x, site.row, site.last), DType::f32, site.width); };
  if (is_flat(shape)) {  // each element is a row
    return e.store_results(e.rows(), false, [&](const Site& site) {
      const Vec shifted = element(site) - element(site), total = exp(shifted);
      return logarithm ? shifted - log(total) : total / total;
    });
  }
  const auto compute = [&](Value* first, unsigned count) {
    const auto row = [&](unsigned i) { return b.CreateAdd(first, e.number(i)); };
    std::vector<Vec> greatest, totals;
    for (unsigned i = 0; i < count; ++i)  // of a row with NaN the sum is NaN, and with it every result
      greatest.push_back(combine_row(e, Combine::greatest, DType::f32, shape, row(i), element));
    const auto shifted = [&](unsigned i, const Site& site) { return element(site) - splat(greatest[i], site.width); };
    for (unsigned i = 0; i < count; ++i) {
      totals.push_back(combine_row(e, Combine::sum, DType::f32, shape, row(i), [&](const Site& site) {
        const Vec result = exp(shifted(i, site));
        if (kept != no_value) e.store(result, kept, {e.number(i), site.last, site.width, site.valid});
        return result;
      }));
    }
    if (logarithm) {
      const Vec logarithms = log(vector_of(totals));
      for (unsigned i = 0; i < count; ++i) totals[i] = lane(logarithms, i);
    }
    for (unsigned i = 0; i < count; ++i) {
      e.store_results({row(i), row(i + 1)}, false, [&](const Site& site) {
        if (logarithm) return shifted(i, site) - splat(totals[i], site.width);
        const Vec dividend = kept == no_value ? exp(shifted(i, site)) : e.load(e.address(kept, e.number(i), site.last), DType::f32, site.width);
        return dividend / splat(totals[i], site.width);
      });
    }
  };
  const auto together = rows_together(shape);
  const Rows rows = e.rows();
  Value* tail = rows.first;
  if (together > 1) {
    Value* whole = b.CreateSub(rows.last, b.CreateURem(b.CreateSub(rows.last, rows.first), e.number(together)));
    e.loop(rows.first, whole, together, [&](Value* first) { compute(first, static_cast<unsigned>(together)); });
    tail = whole;
  }
  e.loop(tail, rows.last, 1, [&](Value* row) { compute(row, 1); });
}

}  // namespace sinter::codegen
