#include "fuzz/program/patterns.h"

#ifdef SINTER_JIT
#include <algorithm>

#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/kinds.h"
#include "codegen/kernels/unpadded_rows.h"
#include "codegen/kernels/winograd_plan.h"
#include "codegen/scan_plan.h"
#include "codegen/schedule.h"
#include "frontend/compile/variant.h"
#include "ir/access.h"
#include "ir/kernel.h"
#include "ir/long_sum.h"

namespace sinter::fuzz {

namespace {

using codegen::Kernel;

/// A kernel of the schedule of an optimized graph.
struct Site {
  const ir::Graph& graph;
  const codegen::Schedule& schedule;
  const Kernel& kernel;

  const ir::Node& anchor() const { return graph.node(kernel.anchor); }
  /// Of a whole kernel group, not of one of its helpers.
  bool is_group() const { return kernel.is<Kernel::Group>() && kernel.anchor != ir::no_node; }
  template <class... Kinds>
  bool is_kind() const {
    return ((kernel.kind == &codegen::the_kind<Kinds>) || ...);
  }
  template <class O>
  bool has_anchor() const {
    return kernel.anchor != ir::no_node && std::holds_alternative<O>(anchor().op);
  }
  ir::NodeId left() const { return anchor().inputs[0]; }
  bool reads_picked_rows() const { return is_group() && is_kind<codegen::ProductKernel>() && ir::is_row_view(graph, left()); }
  bool reads_them_in_place() const {
    return reads_picked_rows() && ir::picked_rows(graph, left()) == left() && is_float(graph.node(left()).type.dtype);
  }
  /// A node of the prologue for which `wanted` holds.
  template <class F>
  bool has_prologue(const F& wanted) const {
    return kernel.anchor != ir::no_node && std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [&](ir::NodeId id) {
             return id != kernel.anchor && ir::joins_prologue(graph, id, kernel.anchor) && wanted(graph.node(id));
           });
  }
  /// A node that moves elements, of the shape of the kernel's results or before them.
  bool moves_elements(bool before) const {
    return kernel.is<Kernel::Group>() && std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [&](ir::NodeId id) {
             return ir::moves_elements(graph.node(id).op) && (graph.node(id).type.shape != kernel.shape) == before;
           });
  }
  /// Nodes of a kernel group that none of its reductions is of.
  bool has_other_groups() const {
    const std::vector<ir::NodeId> reductions = kernel.reductions();
    return std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [&](ir::NodeId id) {
      return std::none_of(reductions.begin(), reductions.end(), [&](ir::NodeId r) { return graph.node(r).kernel == graph.node(id).kernel; });
    });
  }
  bool has_epilogue() const { return is_group() && kernel.nodes.back() != kernel.anchor; }
  bool is_convolution() const { return kernel.anchor != ir::no_node && codegen::is_convolution(anchor().op); }
  bool is_winograd() const { return is_convolution() && codegen::plan_winograd(graph, kernel.anchor).has_value(); }
  bool is_window_product() const { return is_convolution() && codegen::is_window_product(graph, kernel.anchor); }
  bool is_transposed_window_product() const { return is_convolution() && codegen::is_transposed_window_product(graph, kernel.anchor); }
  bool is_in_lanes() const { return is_convolution() && codegen::has_groups_in_lanes(graph, kernel.anchor); }
  bool is_depthwise() const { return is_in_lanes() && codegen::is_depthwise(codegen::convolution_of(graph, kernel.anchor)); }
  bool has_several_features() const { return is_depthwise() && codegen::convolution_of(graph, kernel.anchor).features_a_group() > 1; }
  bool has_groups_in_lanes() const { return is_in_lanes() && !is_depthwise(); }
  /// A convolution in register tiles, image by image.
  bool is_in_tiles() const {
    return is_convolution() && codegen::tiles_convolution(graph, kernel.anchor) && !is_winograd() && !is_window_product() &&
           !is_transposed_window_product();
  }
  bool is_in_groups() const { return is_in_tiles() && codegen::convolution_of(graph, kernel.anchor).groups > 1; }
  bool is_forward_in_tiles() const { return has_anchor<ir::Conv2D>() && is_in_tiles(); }
  bool reads(bool (*wanted)(const codegen::StoredValue&)) const {
    return std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](const codegen::Read& read) { return wanted(schedule.values[read.value]); });
  }
  bool writes_state() const {
    return std::any_of(kernel.writes.begin(), kernel.writes.end(), [&](const codegen::Write& w) { return is_state(w.value); });
  }
  /// Whether an element of the anchor's result has the terms of several chains, whatever N.
  bool sums_chains() const {
    if (kernel.anchor == ir::no_node) return false;
    const Dim terms = ir::terms(ir::access_of(graph, kernel.anchor));
    return terms.factor() > ir::chain_products;
  }
  bool is_state(codegen::ValueId value) const { return schedule.values[value].home == codegen::StoredValue::Home::state; }
};

bool is_reduction(const ir::Op& op) {
  return std::visit([]<class O>(const O&) { return ir::IsReduction<O>; }, op);
}

bool updates_in_place(const Site& s) {
  return std::any_of(s.kernel.writes.begin(), s.kernel.writes.end(), [&](const codegen::Write& w) {
    return s.is_state(w.value) && std::any_of(s.kernel.reads.begin(), s.kernel.reads.end(), [&](const codegen::Read& r) {
             return s.is_state(r.value) && s.schedule.values[r.value].index == s.schedule.values[w.value].index;
           });
  });
}

struct Pattern {
  std::string_view name;
  bool (*occurs)(const Site&);
};

constexpr Pattern kernel_patterns[] = {
    {"picked rows read in place", [](const Site& s) { return s.reads_them_in_place(); }},
    {"picked rows converted", [](const Site& s) { return s.reads_picked_rows() && !s.reads_them_in_place(); }},
    {"picked rows transposed",
     [](const Site& s) { return s.reads_picked_rows() && s.has_anchor<ir::Matmul>() && std::get<ir::Matmul>(s.anchor().op).transpose_a; }},
    {"pointwise prologue of a reduction",
     [](const Site& s) { return s.has_prologue([](const ir::Node& n) { return ir::is_pointwise(n.op); }) && is_reduction(s.anchor().op); }},
    {"gather in a prologue",
     [](const Site& s) { return s.has_prologue([](const ir::Node& n) { return std::holds_alternative<ir::GatherRows>(n.op); }); }},
    {"prologue of a scatter",
     [](const Site& s) { return s.has_anchor<ir::ScatterAddRows>() && s.has_prologue([](const ir::Node&) { return true; }); }},
    {"rows repeated before a scatter",
     [](const Site& s) {
       return s.has_anchor<ir::ScatterAddRows>() && s.has_prologue([](const ir::Node& n) { return std::holds_alternative<ir::Broadcast>(n.op); });
     }},
    {"epilogue of a product", [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::ProductKernel>(); }},
    {"epilogue of a convolution", [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::ConvolutionKernel>(); }},
    {"epilogue of a reduction", [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::ReductionKernel>(); }},
    {"epilogue of a softmax", [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::SoftmaxKernel>(); }},
    {"epilogue of what is collected",
     [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::ScatterKernel, codegen::CumulativeSumKernel, codegen::TopKKernel>(); }},
    {"epilogue of a pool", [](const Site& s) { return s.has_epilogue() && s.is_kind<codegen::PoolKernel>(); }},
    {"moved among others", [](const Site& s) { return s.kernel.anchor == ir::no_node && s.kernel.nodes.size() > 1 && s.moves_elements(false); }},
    {"moved in a prologue", [](const Site& s) { return s.moves_elements(true); }},
    {"moved in an epilogue", [](const Site& s) { return s.kernel.anchor != ir::no_node && s.moves_elements(false); }},
    {"columns of a product divided", [](const Site& s) { return s.kernel.cut.every_range && s.kernel.cut.along == codegen::Cut::Along::columns; }},
    {"product in slots", [](const Site& s) { return s.kernel.is<Kernel::Partial>() && s.is_kind<codegen::ProductKernel>(); }},
    {"piece finished by the last of its parts", [](const Site& s) { return s.kernel.finishes(); }},
    {"right operand packed", [](const Site& s) { return s.kernel.is<Kernel::Pack>() && !s.is_convolution(); }},
    {"loop over time",
     [](const Site& s) { return s.kernel.is<Kernel::Group>() && s.has_anchor<ir::Scan>() && !std::get<ir::Scan>(s.anchor().op).reverse; }},
    {"loop over time, reversed",
     [](const Site& s) { return s.kernel.is<Kernel::Group>() && s.has_anchor<ir::Scan>() && std::get<ir::Scan>(s.anchor().op).reverse; }},
    {"packed for a loop over time", [](const Site& s) { return s.kernel.is<Kernel::Pack>() && s.kernel.scan; }},
    {"steps of a loop over time shared by threads", [](const Site& s) { return s.kernel.cuts_steps(); }},
    {"column of a sequence copied", [](const Site& s) { return s.kernel.is<Kernel::Group>() && s.kernel.scan && !s.kernel.scan->strided.empty(); }},
    {"kernel of a convolution packed", [](const Site& s) { return s.kernel.is<Kernel::Pack>() && s.is_convolution(); }},
    {"packed for later calls", [](const Site& s) { return s.kernel.is<Kernel::Pack>() && s.schedule.phases[s.kernel.phase].once; }},
    {"state updated in place", [](const Site& s) { return !s.kernel.is<Kernel::Copy>() && updates_in_place(s); }},
    {"state updated by a copy", [](const Site& s) { return s.kernel.is<Kernel::Copy>() && s.writes_state(); }},
    {"convolution in tiles", [](const Site& s) { return s.is_in_tiles(); }},
    {"convolution of few features",
     [](const Site& s) { return s.is_forward_in_tiles() && codegen::is_narrow(s.graph, s.kernel.anchor) && s.kernel.shape[3] != Dim(1); }},
    {"images read in place", [](const Site& s) { return s.is_forward_in_tiles() && codegen::reads_images_in_place(s.graph, s.kernel.anchor); }},
    {"windows of a row in parts",
     [](const Site& s) {
       if (!s.is_forward_in_tiles()) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_convolution(s.graph, s.kernel.anchor);
       return plan.windows_of_part() < plan.w.windows;
     }},
    {"windows times a large kernel", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.is_window_product(); }},
    {"windows times a large kernel, rotated", [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.is_window_product(); }},
    {"windows times a large kernel, of a part of an image",
     [](const Site& s) {
       if (!s.is_window_product()) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_windows(s.graph, s.kernel.anchor);
       return codegen::plan_window_block(plan).rows < plan.h.windows;
     }},
    {"transposed windows times gradients", [](const Site& s) { return s.is_transposed_window_product(); }},
    {"images copied in blocks",
     [](const Site& s) {
       if (!s.is_in_tiles() || s.has_anchor<ir::Conv2DTranspose>() || codegen::reads_images_in_place(s.graph, s.kernel.anchor)) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_convolution(s.graph, s.kernel.anchor);
       return !s.kernel.is<Kernel::Combine>() && plan.block() < plan.h.windows;
     }},
    {"kernel of a convolution read in parts",
     [](const Site& s) {
       if (!s.is_forward_in_tiles()) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_convolution(s.graph, s.kernel.anchor);
       return plan.runs_a_row() == 1 && s.kernel.shape[3] != Dim(1) &&
              plan.taps_at_a_time(symbolic_layout(s.kernel.shape).stride.factor()) < plan.w.size;
     }},
    {"gradient added to the image itself",
     [](const Site& s) {
       return s.has_anchor<ir::Conv2DTranspose>() && s.kernel.is<Kernel::Group>() && s.is_in_tiles() &&
              codegen::plan_convolution(s.graph, s.kernel.anchor).windows_are_apart();
     }},
    {"gradient of an image, one sample cut into rows",
     [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.is_in_tiles() && s.kernel.cut.pieces > 1; }},
    {"windows that lie apart copied without what is between",
     [](const Site& s) {
       if (!s.is_in_tiles() || s.has_anchor<ir::Conv2DTranspose>() || codegen::reads_images_in_place(s.graph, s.kernel.anchor)) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_convolution(s.graph, s.kernel.anchor);
       return plan.h.gap > 0 || plan.w.gap > 0;
     }},
    {"convolution in groups", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.is_in_groups(); }},
    {"convolution in groups, gradient of the image", [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.is_in_groups(); }},
    {"convolution in groups, gradient of the kernel", [](const Site& s) { return s.has_anchor<ir::Conv2DWeight>() && s.is_in_groups(); }},
    {"windows of a row in parts, gradient of the kernel",
     [](const Site& s) {
       if (!s.has_anchor<ir::Conv2DWeight>() || !s.is_in_tiles()) return false;
       const codegen::ConvolutionPlan plan = codegen::plan_convolution(s.graph, s.kernel.anchor);
       return plan.chain_windows() < plan.w.windows;
     }},
    {"groups in lanes, of parts of a row, gradient of the kernel",
     [](const Site& s) {
       return s.has_anchor<ir::Conv2DWeight>() && !codegen::tiles_convolution(s.graph, s.kernel.anchor) &&
              codegen::convolution_of(s.graph, s.kernel.anchor).sliding.w.out > ir::chain_products;
     }},
    {"groups in lanes", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.has_groups_in_lanes(); }},
    {"groups in lanes, gradient of the image", [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.has_groups_in_lanes(); }},
    {"groups in lanes, gradient of the kernel", [](const Site& s) { return s.has_anchor<ir::Conv2DWeight>() && s.has_groups_in_lanes(); }},
    {"depthwise, not unrolled",
     [](const Site& s) { return s.is_convolution() && !codegen::tiles_convolution(s.graph, s.kernel.anchor) && !s.is_in_lanes(); }},
    {"depthwise", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.is_depthwise(); }},
    {"depthwise, gradient of the image", [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.is_depthwise(); }},
    {"depthwise, gradient of the kernel", [](const Site& s) { return s.has_anchor<ir::Conv2DWeight>() && s.is_depthwise(); }},
    {"depthwise, several features a channel", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.has_several_features(); }},
    {"depthwise, several features a channel, gradient of the image",
     [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.has_several_features(); }},
    {"depthwise, several features a channel, gradient of the kernel",
     [](const Site& s) { return s.has_anchor<ir::Conv2DWeight>() && s.has_several_features(); }},
    {"Winograd", [](const Site& s) { return s.has_anchor<ir::Conv2D>() && s.is_winograd(); }},
    {"Winograd, gradient of the image", [](const Site& s) { return s.has_anchor<ir::Conv2DTranspose>() && s.is_winograd(); }},
    {"Winograd, gradient of the kernel", [](const Site& s) { return s.has_anchor<ir::Conv2DWeight>() && s.is_winograd(); }},
    {"reduction in slots", [](const Site& s) { return s.kernel.is<Kernel::Partial>() && is_reduction(s.anchor().op); }},
    {"reductions computed together", [](const Site& s) { return s.kernel.reductions().size() > 1; }},
    {"reductions computed together, with what only they read",
     [](const Site& s) { return s.kernel.reductions().size() > 1 && s.has_other_groups(); }},
    {"rows added together",
     [](const Site& s) { return s.kernel.reductions().size() > 1 && codegen::ReductionKernel::adds_row_after_row(s.graph, s.kernel); }},
    {"sums of chains", [](const Site& s) { return s.sums_chains(); }},
    {"rows added in slots",
     [](const Site& s) { return s.kernel.is<Kernel::Partial>() && is_reduction(s.anchor().op) && s.anchor().type.shape.elements() != Dim(1); }},
    {"short rows added in vectors",
     [](const Site& s) { return s.is_kind<codegen::ReductionKernel>() && codegen::ReductionKernel::adds_short_rows(s.graph, s.schedule, s.kernel); }},
    {"rows added one after the other",
     [](const Site& s) { return s.is_kind<codegen::ReductionKernel>() && codegen::ReductionKernel::adds_row_after_row(s.graph, s.kernel); }},
    {"steps left out of rows",
     [](const Site& s) { return s.kernel.mask && s.kernel.is<Kernel::Group>() && !s.kernel.scan && !s.has_anchor<ir::ScatterAddRows>(); }},
    {"steps left out of rows that are 0 there", [](const Site& s) { return s.kernel.mask && !s.kernel.mask->zeros.empty(); }},
    {"steps left out of a loop over time", [](const Site& s) { return s.kernel.mask && s.kernel.scan; }},
    {"steps left out of a product in slots",
     [](const Site& s) { return s.kernel.mask && s.kernel.is<Kernel::Partial>() && s.is_kind<codegen::ProductKernel>(); }},
    {"steps left out of rows added in slots",
     [](const Site& s) { return s.kernel.mask && s.kernel.is<Kernel::Partial>() && is_reduction(s.anchor().op); }},
    {"steps left out of a scatter", [](const Site& s) { return s.kernel.mask && s.has_anchor<ir::ScatterAddRows>(); }},
    {"rows of a table that a batch has", [](const Site& s) { return s.kernel.touched_rows; }},
    {"rows of samples divided", [](const Site& s) { return s.kernel.domain.units.is_batch() && !s.kernel.domain.samples; }},
    {"rows of N·T", [](const Site& s) { return s.kernel.domain.units.is_batch() && s.kernel.domain.units.is_length(); }},
    {"rows as long as T", [](const Site& s) { return s.kernel.domain.units.is_batch() && symbolic_layout(s.kernel.shape).cols.is_length(); }},
    {"results in rows, each of a row",
     [](const Site& s) {
       const Dim rows = symbolic_layout(s.kernel.shape).rows;
       return s.is_kind<codegen::ReductionKernel>() && s.kernel.domain.units != Dim(1) && !s.kernel.domain.samples && s.kernel.domain.units != rows;
     }},
    {"weight gradient in slots", [](const Site& s) { return s.kernel.is<Kernel::Partial>() && s.is_convolution(); }},
    {"one sample cut into rows", [](const Site& s) { return s.kernel.cut.along == codegen::Cut::Along::rows && s.kernel.cut.pieces > 1; }},
    {"few samples cut into rows", [](const Site& s) { return s.kernel.domain.samples && s.schedule.phases[s.kernel.phase].cut_samples > 1; }},
    {"one sample cut into columns",
     [](const Site& s) { return s.kernel.cut.along == codegen::Cut::Along::columns && s.kernel.cut.pieces > 1 && !s.kernel.cut.every_range; }},
    {"collected in place",
     [](const Site& s) {
       return std::any_of(s.kernel.memory.begin(), s.kernel.memory.end(), [&](const codegen::Memory& memory) {
         return memory.purpose == codegen::Memory::collected && !s.kernel.is_private(memory);
       });
     }},
    {"result without padding",
     [](const Site& s) {
       return std::any_of(s.kernel.writes.begin(), s.kernel.writes.end(),
                          [&](const codegen::Write& w) { return s.schedule.values[w.value].unpadded; });
     }},
    {"vectors across rows without padding", [](const Site& s) { return codegen::are_unpadded_rows(s.graph, s.schedule, s.kernel); }},
    {"steps of a loop over time to a result without padding",
     [](const Site& s) {
       return s.kernel.is<Kernel::Copy>() && std::holds_alternative<ir::ScanResult>(s.graph.node(s.kernel.writes.front().node).op);
     }},
    {"input without padding under another shape",
     [](const Site& s) { return s.reads([](const codegen::StoredValue& v) { return v.unpadded && v.base != codegen::no_value; }); }},
    {"result under another shape",
     [](const Site& s) {
       return std::any_of(s.kernel.writes.begin(), s.kernel.writes.end(), [&](const codegen::Write& write) {
         const codegen::StoredValue& value = s.schedule.values[write.value];
         return value.home == codegen::StoredValue::Home::output && s.graph.outputs()[value.index] != write.node;
       });
     }},
    {"rows ordered by radix",
     [](const Site& s) { return s.has_anchor<ir::TopK>() && s.kernel.memory_for(codegen::Memory::staging) != codegen::no_value; }},
    {"scalar in every kernel",
     [](const Site& s) {
       return std::any_of(s.kernel.nodes.begin(), s.kernel.nodes.end(), [&](ir::NodeId id) {
         const auto& in = s.graph.node(id).inputs;
         return std::any_of(in.begin(), in.end(),
                            [&](ir::NodeId i) { return ir::is_elementwise(s.graph.node(i).op) && ir::is_recomputable(s.graph, i); });
       });
     }},
};

/// Passes that every graph goes through, or that recognise nothing.
bool is_pattern(std::string_view pass) { return pass != "group" && pass != "dead_gradients"; }

}  // namespace

std::span<const std::string_view> pattern_names() {
  // Never destroyed: the fuzzer prints its summary when the program ends.
  static const auto& passes = *new std::vector<std::string>(passes::pass_names());
  static const auto& names = *[] {
    auto* all = new std::vector<std::string_view>;
    for (const std::string& pass : passes)
      if (is_pattern(pass)) all->push_back(pass);
    for (const Pattern& pattern : kernel_patterns) all->push_back(pattern.name);
    return all;
  }();
  return names;
}

std::set<std::string_view> patterns_of(const Program& program) {
  ir::Graph graph = program.graph;
  std::set<std::string_view> found;
  const auto names = pattern_names();
  for (const passes::PassReport& pass : optimize_graph(graph, {}))
    if (pass.changed && is_pattern(pass.name)) found.insert(*std::find(names.begin(), names.end(), pass.name));
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  for (const Kernel& kernel : schedule.kernels)
    for (const Pattern& pattern : kernel_patterns)
      if (pattern.occurs({graph, schedule, kernel})) found.insert(pattern.name);
  return found;
}

}  // namespace sinter::fuzz
#else
namespace sinter::fuzz {
std::span<const std::string_view> pattern_names() { return {}; }
std::set<std::string_view> patterns_of(const Program&) { return {}; }
}  // namespace sinter::fuzz
#endif
