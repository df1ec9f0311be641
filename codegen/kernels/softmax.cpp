// Softmax, log-softmax and argmax: kernels that need a whole row.
#include "codegen/emit/kernel_emitter.h"

namespace sinter::codegen {

using llvm::Value;

void KernelEmitter::emit_softmax(bool logarithm) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Shape& shape = kernel_.shape;
  const ValueId x = value_of(anchor.inputs[0]);
  llvm::Type *vector = memory_type(DType::f32, lanes), *half = memory_type(DType::f32, lanes / 2), *single = memory_type(DType::f32, 1);
  llvm::AllocaInst *wide = variable(vector, "wide"), *narrow = variable(half, "narrow"), *one = variable(single, "one");
  Vec greatest, total;

  /// Reduces f of the row's elements.
  const auto reduce = [&](Value* row, Combine how, const std::function<Vec(const Site&)>& f) {
    const double fill = identity(how, DType::f32);
    for (llvm::AllocaInst* into : {wide, narrow, one}) builder_.CreateStore(llvm::ConstantFP::get(into->getAllocatedType(), fill), into);
    const auto add = [&](const Site& site) {
      llvm::AllocaInst* into = site.width == lanes ? wide : site.width == 1 ? one : narrow;
      builder_.CreateStore(
          reduce_two(Vec(builder_.CreateLoad(into->getAllocatedType(), into), DType::f32), only_valid(f(site), site.valid, fill), how).value, into);
    };
    if (is_flat(shape)) add({constant(0), row, 1, 1});
    else for_each_block(shape, row, false, add);
    const Vec a = horizontal(Vec(builder_.CreateLoad(vector, wide), DType::f32), how),
              b = horizontal(Vec(builder_.CreateLoad(half, narrow), DType::f32), how);
    return reduce_two(reduce_two(a, b, how), Vec(builder_.CreateLoad(single, one), DType::f32), how);
  };
  const auto element = [&](const Site& site) { return load(address(x, site.row, site.last), DType::f32, site.width, false); };

  const auto at_row = [&](Value* row) {
    greatest = reduce(row, Combine::max, element);
    total = reduce(row, Combine::sum, [&](const Site& site) { return exp(element(site) - splat(greatest, site.width)); });
    if (logarithm) total = log(total);
  };
  for_each_site(
      shape, rows_begin(shape), rows_end(shape), is_flat(shape),
      [&](const Site& site) {
        const Vec shifted = element(site) - splat(greatest, site.width);
        Memo memo;
        memo[kernel_.anchor] = perturbed(kernel_.anchor, logarithm ? shifted - splat(total, site.width) : exp(shifted) / splat(total, site.width));
        store_results(shape, site, memo);
      },
      at_row);
}

void KernelEmitter::emit_argmax() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const Shape &in = type_of(anchor.inputs[0]).shape, &out = kernel_.shape;
  const ValueId x = value_of(anchor.inputs[0]);
  const std::int64_t cols = in.back().factor();
  llvm::AllocaInst *best = variable(builder_.getFloatTy(), "best"), *place = variable(builder_.getInt64Ty(), "place");
  const SymbolicLayout at = symbolic_layout(out);
  const bool one_row = out.rank() <= 1 && !is_flat(out);
  for_each_site(out, rows_begin(out), rows_end(out), true, [&](const Site& site) {
    Value* element = is_flat(out) || one_row ? site.last : builder_.CreateAdd(builder_.CreateMul(site.row, extent(at.cols)), site.last);
    Value* start = builder_.CreateMul(element, constant(cols));
    builder_.CreateStore(load(element_address(x, start), DType::f32, 1, false).value, best);
    builder_.CreateStore(constant(0), place);
    loop(constant(1), constant(cols), 1, [&](Value* i) {
      const Vec candidate = load(element_address(x, builder_.CreateAdd(start, i)), DType::f32, 1, false),
                present(builder_.CreateLoad(builder_.getFloatTy(), best), DType::f32);
      // A NaN wins over everything but an earlier NaN.
      Value* better =
          builder_.CreateAnd(builder_.CreateFCmpORD(present.value, present.value), builder_.CreateFCmpUGT(candidate.value, present.value));
      builder_.CreateStore(builder_.CreateSelect(better, candidate.value, present.value), best);
      builder_.CreateStore(builder_.CreateSelect(better, i, builder_.CreateLoad(builder_.getInt64Ty(), place)), place);
    });
    Memo memo;
    memo[kernel_.anchor] =
        perturbed(kernel_.anchor, Vec(builder_.CreateTrunc(builder_.CreateLoad(builder_.getInt64Ty(), place), builder_.getInt32Ty()), DType::i32));
    store_results(out, site, memo);
  });
  if (!is_flat(out)) loop(rows_begin(out), rows_end(out), 1, [&](Value* row) { zero_pads(out, row); });
}

}  // namespace sinter::codegen
