#include "codegen/kernels/result_sums.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "codegen/emit/combine.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

std::vector<Vec> sum_over_results(Emitter& e, const ir::Sliding& sliding, const ResultSums& sums, const ResultTerms& add_terms) {
  Builder& b = e.builder();
  const std::int64_t rows = sliding.h.out, results = sliding.w.out, units = divide_up(results, sums.unit),
                     part = even_part(units, std::max<std::int64_t>(1, ir::chain_products / sums.unit)), parts = divide_up(units, part),
                     parts_a_chain = std::max<std::int64_t>(1, ir::chain_products / std::min(results, part * sums.unit));
  const auto units_of = [&](Value* n) -> Range {
    if (parts == 1) return {e.number(0), e.number(units)};
    Value* first = b.CreateMul(b.CreateURem(n, e.number(parts)), e.number(part));
    return {first, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, e.number(part)), e.number(units))};
  };
  const auto parts_of = [&](Value* images) { return b.CreateMul(images, e.number(rows * parts)); };
  const Rows images = e.indices(1);
  return combine_chains(e, Combine::sum, DType::f32, sums.width, sums.count, parts_of(images.first), parts_of(images.last), parts_a_chain,
                        [&](Value* first, Value* last) {
                          std::vector<llvm::AllocaInst*> variables;
                          for (std::size_t i = 0; i < sums.count; ++i)
                            variables.push_back(neutral_variable(e, Combine::sum, DType::f32, sums.width, "of_rows"));
                          e.loop(first, last, 1, [&](Value* n) {
                            Value* row = parts == 1 ? n : b.CreateUDiv(n, e.number(parts));
                            add_terms(variables, b.CreateUDiv(row, e.number(rows)), b.CreateURem(row, e.number(rows)), units_of(n));
                          });
                          std::vector<Vec> totals;
                          for (llvm::AllocaInst* each : variables) totals.emplace_back(b.CreateLoad(each->getAllocatedType(), each), DType::f32);
                          return totals;
                        });
}

}  // namespace sinter::codegen
