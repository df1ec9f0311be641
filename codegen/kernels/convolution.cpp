// Kernels of convolutions: what they need, and which code computes them; see codegen/kernels/convolution_plan.h.
#include "codegen/emit/combine.h"
#include "codegen/kernels/chains.h"
#include "codegen/kernels/convolution_channels.h"
#include "codegen/kernels/convolution_emit.h"
#include "codegen/kernels/convolution_lanes.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_emit.h"
#include "codegen/kernels/winograd.h"

namespace sinter::codegen {

namespace {

/// The copy of an image that a convolution reads, or collects, with the runs of a tile; or the transforms of a block of tiles.
void plan_staging(Planner& planner, Kernel& kernel) {
  const ConvolutionPlan plan = plan_convolution(planner.graph(), kernel.anchor);
  const std::optional<WinogradPlan> winograd = plan_winograd(planner.graph(), kernel.anchor);
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(planner.graph().node(kernel.anchor).op),
             weight = std::holds_alternative<ir::Conv2DWeight>(planner.graph().node(kernel.anchor).op);
  const std::int64_t copy = adjoint ? plan.copy_elements() + plan.tile_elements() : plan.block_elements(weight ? plan.weight_block() : plan.block());
  const Type type{DType::f32, {winograd ? winograd->elements() : copy}};
  kernel.memory.push_back({Memory::staging, planner.temporary(type, str("image of ", kernel.anchor)), true});
}

/// The sums of a weight gradient that is computed directly.
Type direct_sums(const ir::Graph& graph, ir::NodeId anchor) {
  const std::int64_t taps = plan_convolution(graph, anchor).taps(), features = convolution_of(graph, anchor).features;
  return features == 1 ? chain_sums(1, taps) : chain_sums(taps, symbolic_layout(Shape{taps, features}).stride.factor());
}

/// What a product of windows needs: the copies of a block of images, and the kernel in panels.
void plan_window_product(Planner& planner, Kernel kernel) {
  const Product product = product_of(planner.graph(), kernel.anchor);
  const ConvolutionPlan plan = plan_windows(planner.graph(), kernel.anchor);
  const WindowBlock block = plan_window_block(plan);
  const std::int64_t elements = block.rows < plan.h.windows ? plan.block_elements(block.rows) : block.images * block.image_elements;
  kernel.memory.push_back({Memory::staging, planner.temporary({DType::f32, {elements}}, str("images of ", kernel.anchor)), true});
  const Shape packed{product.sizes.k, product.sizes.f};
  planner.add_pack(kernel, packed, planner.domain_of(packed));
  planner.cut_single_sample(kernel, Cut::Along::columns, divide_up(product.result_layout.stride.factor(), window_columns));
  planner.add(std::move(kernel));
}

}  // namespace

void ConvolutionKernel::plan(Planner& planner, Kernel kernel) const {
  const ir::Graph& graph = planner.graph();
  plan_samples(planner, kernel);
  if (has_groups_in_lanes(graph, kernel.anchor)) {
    if (const std::optional<Shape> packed = packed_for_lanes(graph, kernel.anchor)) planner.add_pack(kernel, *packed, planner.domain_of(*packed));
    if (kernel.shape[0] == Dim::batch()) planner.cut_single_sample(kernel, Cut::Along::rows, kernel.shape[1].factor());
    return planner.add(std::move(kernel));
  }
  plan_memory_in_place(planner, kernel);
  if (!tiles_convolution(graph, kernel.anchor)) return planner.add(std::move(kernel));
  if (is_window_product(graph, kernel.anchor)) return plan_window_product(planner, std::move(kernel));
  const bool adjoint = std::holds_alternative<ir::Conv2DTranspose>(graph.node(kernel.anchor).op);
  const ConvolutionPlan plan = plan_convolution(graph, kernel.anchor);
  const std::optional<WinogradPlan> winograd = plan_winograd(graph, kernel.anchor);
  if (winograd || !reads_images_in_place(graph, kernel.anchor)) plan_staging(planner, kernel);
  if (winograd) {
    planner.add_pack(kernel, {winograd->numbers() * winograd->kernel_number()}, {Dim(winograd->channels), false});
  } else if (adjoint) {
    const Shape packed{plan.h.size * plan.runs_a_row() * convolution_of(graph, kernel.anchor).features, plan.run()};
    planner.add_pack(kernel, packed, planner.domain_of(packed));
  } else if (const std::int64_t features = convolution_of(graph, kernel.anchor).features; features > 1 && is_narrow(graph, kernel.anchor)) {
    const Shape packed = packed_by_features(plan, features);
    planner.add_pack(kernel, packed, planner.domain_of(packed));
  }
  if (kernel.shape[0] == Dim::batch()) {
    const std::int64_t rows = winograd ? winograd->strips : adjoint ? plan.h.source : plan.parts();
    planner.cut_single_sample(kernel, Cut::Along::rows, rows);
  }
  planner.add(std::move(kernel));
}

void ConvolutionKernel::limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const {
  if (!kernel.is<Kernel::Group>() || !domain.samples || !tiles_convolution(graph, kernel.anchor)) return;
  std::int64_t windows = 0, elements = 0;  // of an image; of the kernel
  if (const std::optional<WinogradPlan> winograd = plan_winograd(graph, kernel.anchor)) {
    windows = winograd->strips * winograd->tiles_a_strip;
    elements = winograd->numbers() * winograd->kernel_number();
  } else if (is_window_product(graph, kernel.anchor)) {
    const ConvolutionPlan plan = plan_windows(graph, kernel.anchor);
    windows = plan.h.windows * plan.w.windows;
    elements = plan.taps() * symbolic_layout(kernel.shape).stride.factor();
  }
  if (elements < much_kernel) return;
  limits.least = std::max(limits.least, least_images(windows));
  limits.most = std::max(limits.most, limits.least);
}

void ConvolutionKernel::emit(Emitter& e) const {
  if (const std::optional<WinogradPlan> winograd = plan_winograd(e.graph(), e.kernel().anchor)) return emit_winograd(e, *winograd);
  if (has_groups_in_lanes(e.graph(), e.kernel().anchor)) return e.kernel().is<Kernel::Pack>() ? emit_lanes_pack(e) : emit_lanes(e);
  if (!tiles_convolution(e.graph(), e.kernel().anchor)) {
    collect_channels(e);
    return e.store_results(e.rows());
  }
  if (is_window_product(e.graph(), e.kernel().anchor)) return e.kernel().is<Kernel::Pack>() ? emit_product_pack(e) : emit_product(e);
  if (e.kernel().is<Kernel::Pack>()) return is_narrow(e.graph(), e.kernel().anchor) ? emit_narrow_pack(e) : emit_convolution_pack(e);
  if (std::holds_alternative<ir::Conv2DTranspose>(e.anchor().op)) return emit_convolution_adjoint(e);
  emit_convolution(e);
}

void ConvolutionWeightKernel::plan(Planner& planner, Kernel kernel) const {
  if (is_transposed_window_product(planner.graph(), kernel.anchor)) {
    const Product product = product_of(planner.graph(), kernel.anchor);
    plan_memory(planner, kernel);
    const Type sums = chain_sums(product.sizes.m, product.result_layout.stride.factor());
    kernel.memory.push_back({Memory::sums, planner.temporary(sums, str("sums ", kernel.anchor))});
    return planner.add(std::move(kernel));
  }
  Planner::Parts parts = planner.split(kernel);
  parts.partial.pace = Pace::slots;
  if (!parts.partial.domain.samples) parts.partial.domain = {};
  const std::optional<WinogradPlan> winograd = plan_winograd(planner.graph(), kernel.anchor);
  if (tiles_convolution(planner.graph(), kernel.anchor)) {
    plan_staging(planner, parts.partial);
    const Type sums = winograd ? chain_sums(winograd->numbers() * winograd->channels, winograd->width) : direct_sums(planner.graph(), kernel.anchor);
    parts.partial.memory.push_back({Memory::sums, planner.temporary(sums, str("sums ", kernel.anchor)), true});
  }
  if (winograd && winograd->pieces() > 1) parts.partial.cut = {Cut::Along::columns, winograd->pieces(), true};
  planner.add(std::move(parts), kernel.shape.insert(0, most_slots(kernel.shape)));
}

void ConvolutionWeightKernel::limit(const ir::Graph& graph, const Kernel& kernel, const Domain&, ChunkLimits& limits) const {
  if (kernel.is<Kernel::Group>()) limit_matrix_rows(product_of(graph, kernel.anchor), limits);
}

void ConvolutionWeightKernel::emit(Emitter& e) const {
  if (e.kernel().is<Kernel::Combine>()) return emit_combined(e, Combine::sum);
  if (e.kernel().is<Kernel::Group>()) return emit_product(e);
  if (const std::optional<WinogradPlan> winograd = plan_winograd(e.graph(), e.kernel().anchor)) return emit_winograd(e, *winograd);
  if (has_groups_in_lanes(e.graph(), e.kernel().anchor)) return emit_lanes_weight(e);
  if (tiles_convolution(e.graph(), e.kernel().anchor)) emit_convolution_weight(e);
  else sum_channels_weight(e);
}

}  // namespace sinter::codegen
