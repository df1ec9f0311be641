#include "codegen/planner.h"

#include <algorithm>

#include "codegen/kernels/kinds.h"
#include "codegen/kernels/product_plan.h"

namespace sinter::codegen {

namespace {

/// Samples of so many rows are divided.
constexpr std::int64_t many_rows = 128;

}  // namespace

Domain domain_of(const Shape& shape, bool divides_samples) {
  const Dim rows = symbolic_layout(shape).rows;
  const bool samples = shape.rank() && shape[0].is_batch(), many = rows.is_length() || rows.factor() >= many_rows;
  if (samples && !(many && (divides_samples || rows.is_length()))) return {Dim::batch(), true};
  return {rows, false};
}

bool divides_samples(const ir::Graph& graph) {
  const auto is_over_images = []<class O>(const O&) {
    return PoolKernel::computes<O> || ConvolutionKernel::computes<O> || ConvolutionWeightKernel::computes<O>;
  };
  for (ir::NodeId id = 0; id < graph.size(); ++id)
    if (!graph.node(id).dead && std::visit(is_over_images, graph.node(id).op)) return false;
  return true;
}

bool updates_states(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.states().size(); ++i)
    if (graph.updates()[i] != ir::no_node && graph.updates()[i] != graph.state_node(i)) return true;
  return false;
}

Planner::Planner(const ir::Graph& graph, Schedule& schedule) : graph_(graph), schedule_(schedule), cuts_samples_(!updates_states(graph)) {}

Domain Planner::domain_of(const Shape& shape) const {
  // The step of a loop over time runs on the samples of the loop's chunk.
  if (schedule_.is_step && shape.rank() && shape[0].is_batch()) return {Dim::batch(), true};
  return codegen::domain_of(shape, schedule_.divides_samples);
}

bool Planner::divides_columns(ir::NodeId product) const { return codegen::divides_columns(graph_, product, schedule_.is_step); }

bool Planner::packs_right(ir::NodeId product) const { return codegen::packs_right(graph_, product, schedule_.is_step); }

ValueId Planner::temporary(const Type& type, std::string name) {
  schedule_.values.push_back({StoredValue::Home::memory, 0, type, ir::no_node, std::move(name)});
  return static_cast<ValueId>(schedule_.values.size() - 1);
}

void Planner::cut_single_sample(Kernel& kernel, Cut::Along along, std::int64_t pieces) const {
  if (cuts_samples_ && kernel.domain.samples) kernel.cut = {along, pieces};
}

void Planner::add(Kernel kernel) {
  // Images, or the pixels of images that convolutions of the same graph read, as products of 1 × 1 kernels make them.
  constexpr std::int64_t many_pixels = 16;
  const auto are_pixels = [&] {
    return kernel.shape.rank() == 2 && !schedule_.divides_samples && !schedule_.is_step && kernel.shape[0].factor() >= many_pixels;
  };
  if (kernel.domain.samples && kernel.pace == Pace::rows && (kernel.shape.rank() == 4 || are_pixels())) kernel.pace = Pace::images;
  schedule_.kernels.push_back(std::move(kernel));
}

void Planner::add_pack(Kernel& reader, const Shape& shape, const Domain& domain) {
  Kernel pack;
  pack.role = Kernel::Pack{divides_columns(reader.anchor)};
  pack.kind = reader.kind;
  pack.group = reader.group;
  pack.anchor = reader.anchor;
  pack.shape = shape;
  pack.domain = domain;
  const Memory packed{Memory::packed, temporary({DType::f32, shape}, str("packed ", reader.anchor))};
  pack.memory.push_back(packed);
  reader.memory.push_back(packed);
  add(std::move(pack));
}

Planner::Parts Planner::split(const Kernel& reduction) const {
  Parts parts{reduction, reduction};
  auto& [partial, combine] = parts;
  partial.role = Kernel::Partial{};
  partial.shape = graph_.node(graph_.node(reduction.anchor).inputs[0]).type.shape;
  partial.domain = domain_of(partial.shape);
  partial.writes.clear();
  // Nodes of the operand's shape before the anchor are its prologue; all others follow it.
  const auto anchor_at = std::find(reduction.nodes.begin(), reduction.nodes.end(), reduction.anchor);
  const auto is_prologue = [&](ir::NodeId id) {
    return std::find(reduction.nodes.begin(), anchor_at, id) != anchor_at && graph_.node(id).type.shape == parts.partial.shape;
  };
  std::erase_if(partial.nodes, [&](ir::NodeId id) { return id != reduction.anchor && !is_prologue(id); });
  std::erase_if(combine.nodes, is_prologue);
  return parts;
}

void Planner::add(Parts parts, const Shape& slots) {
  auto& [partial, combine] = parts;
  const Memory memory{Memory::slots, temporary({graph_.node(partial.anchor).type.dtype, slots}, str("partials ", partial.anchor))};
  partial.memory.push_back(memory);
  combine.memory.push_back(memory);
  combine.role = Kernel::Combine{schedule_.kernels.size()};
  add(std::move(partial));
  add(std::move(combine));
}

}  // namespace sinter::codegen
