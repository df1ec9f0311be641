// Products: how their kernels are cut and where their memory lies; codegen/kernels/product_emit.h has their code.
#include <algorithm>
#include <bit>

#include "codegen/emit/combine.h"
#include "codegen/kernels/chains.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_emit.h"
#include "codegen/kernels/product_plain.h"
#include "codegen/planner.h"
#include "ir/kernel.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

void ProductKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Graph& graph = planner.graph();
  if (!ir::fits_tiles(graph, kernel.anchor)) return planner.add(std::move(kernel));
  const Product product = product_of(graph, kernel.anchor);
  const std::int64_t stride = product.result_layout.stride.factor();
  const auto add_sums = [&](Kernel& of, Dim rows_of_call) {
    if (is_long(product))
      of.memory.push_back(
          {Memory::sums, planner.temporary(chain_sums(rows_of_call, stride), str("sums ", kernel.anchor)), sums_of_call(product, of)});
  };
  if (product.leading) {  // what follows runs matrix after matrix
    plan_samples(planner, kernel);
    const Type one{DType::f32, {product.sizes.m.factor() + most_tile_rows, product.sizes.f}};
    kernel.memory.push_back({Memory::staging, planner.temporary(one, str("product ", kernel.anchor)), true});
    add_sums(kernel, product.sizes.m);
    return planner.add(std::move(kernel));
  }
  const auto add_pack = [&](Kernel& reader) {
    const Shape packed{product.sizes.k, product.sizes.f};
    if (planner.packs_right(kernel.anchor)) planner.add_pack(reader, packed, planner.domain_of(packed));
  };
  if (const ProductParts in = parts_of(graph, kernel.anchor); in.slots) {
    Planner::Parts parts = planner.split(kernel);
    parts.partial.pace = Pace::slots;
    parts.partial.cut = {Cut::Along::rows, in.pieces, true};
    add_pack(parts.partial);
    add_sums(parts.partial, in.piece_rows);
    return planner.add(std::move(parts), kernel.shape.insert(0, in.slots));
  }
  plan_memory(planner, kernel);
  add_sums(kernel, product.sizes.m);
  add_pack(kernel);
  const SymbolicLayout at = symbolic_layout(kernel.shape);
  if (planner.divides_columns(kernel.anchor)) {
    kernel.cut = {Cut::Along::columns, divide_up(at.stride.factor(), planner.is_step() ? step_columns : piece_columns), true};
  } else if (at.rows.factor() > 1) {
    planner.cut_single_sample(kernel, Cut::Along::rows, at.rows.factor());
  } else if (!product.op.transpose_b) {
    planner.cut_single_sample(kernel, Cut::Along::columns, divide_up(at.stride.factor(), piece_columns));
  }
  planner.add(std::move(kernel));
}

void ProductKernel::limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const {
  if (kernel.is<Kernel::Partial>()) {
    limits.least = least_terms;
    return;
  }
  const ir::Node& anchor = graph.node(kernel.anchor);
  const SymbolicLayout right = symbolic_layout(graph.node(anchor.inputs[1]).type.shape);
  const bool batched = std::holds_alternative<ir::BatchMatmul>(anchor.op), collects = kernel.memory_for(Memory::collected) != no_value;
  if (domain.units.is_batch()) {
    // Each chunk reads the whole right operand: the larger that is, the more rows a chunk should have.
    const bool much = right.rows.is_fixed() && right.cols.is_fixed() && right.rows.factor() * right.stride.factor() >= much_elements;
    const std::int64_t rows_of_unit = domain.samples ? symbolic_layout(kernel.shape).rows.per_sample().factor() : 1;
    if (kernel.is<Kernel::Group>() && collects && !batched && much) limits.least = std::max(limits.least, divide_up(much_rows, rows_of_unit));
  } else if (std::holds_alternative<ir::Matmul>(anchor.op)) {
    limit_matrix_rows(product_of(graph, kernel.anchor), limits);
  }
}

KernelKind::Skips ProductKernel::skips_padding(const ir::Graph& graph, const Kernel& kernel) const {
  if (kernel.is<Kernel::Partial>()) return Skips::itself;
  const bool has_rows = kernel.is<Kernel::Group>() && !is_flat(kernel.shape) && kernel.cut.along != Cut::Along::columns;
  return has_rows && !product_of(graph, kernel.anchor).leading ? Skips::rows : Skips::nothing;
}

void ProductKernel::emit(Emitter& e) const {
  if (!ir::fits_tiles(e.graph(), e.kernel().anchor)) return e.store_results(e.rows());
  if (e.kernel().is<Kernel::Combine>()) return emit_combined(e, Combine::sum);
  if (e.kernel().is<Kernel::Pack>()) return emit_product_pack(e);
  emit_product(e);
}

Vec ProductKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  if (e.memory(Memory::staging) != no_value) {
    Value* row = e.builder().CreateURem(site.row, e.extent(product_of(e.graph(), anchor).sizes.m));
    return e.load(e.address(e.memory(Memory::staging), row, site.last), DType::f32, site.width);
  }
  const bool in_tiles = ir::fits_tiles(e.graph(), anchor);
  const Vec x = in_tiles ? CollectedKernel::element(e, anchor, site) : product_at(e, product_of(e.graph(), anchor), site);
  const std::vector<ir::NodeId>& operands = e.graph().node(anchor).inputs;
  return operands.size() == 3 ? x + e.load_operand(e.value_of(operands[2]), e.kernel().shape, site) : x;  // a dense has a bias
}

}  // namespace sinter::codegen
