// Loops over time in graphs: what a step may do, and nodes that run one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// The samples of a step whose first inputs are so many carries and sequences: N, or a number. With a number, nothing is known of what belongs to
/// which sample, and all of the step is in the loop. Throws UserError if the first sequence, or without one the first carry, is a scalar.
Dim samples_of(const Graph& step, std::size_t carries, std::size_t sequences);
/// What a node of a step depends on. `mixed`: one sample of it on several samples.
enum class StepPart : std::uint8_t { invariant, sequence, carry, mixed };
/// By node of such a step. With a fixed number of samples no node counts as mixed.
std::vector<StepPart> step_parts(const Graph& step, std::size_t carries, std::size_t sequences, Dim samples);
/// The shape that such a value has in a sequence's element: [N, k, ...] of [k·N, ...].
Shape element_of(const Shape& rows, Dim samples);
/// The rules for the body of a Scan. Throws UserError without a where-part if a node mixes samples, or an output is not one for each sample.
void check_steps(const Graph& step, std::size_t carries, std::size_t sequences);

/// A scan is read through its results alone, and these have its types. Throws UserError without a where-part.
void check_scan_operands(const Graph& graph, const Op& op, std::span<const NodeId> inputs);

/// A step and what it is called with: its inputs are the carries, this step's element of each sequence, and what is the same for all steps.
struct StepCall {
  const Graph& step;
  Values carries, sequences, others;  ///< of the graph that gets the loop: initial values; [N, length, ...]; the rest
  Dim length = 1;
  bool reverse = false;
};
/// Nodes of the step.
struct StepResults {
  std::vector<NodeId> next;     ///< the carries after the step
  std::vector<NodeId> stacked;  ///< one value a sample
  std::vector<NodeId> summed;   ///< added over all steps; may mix samples
};
struct ScanValues {
  Values last;     ///< [N, ...]
  Values stacked;  ///< [N, length, ...]
  Values summed;   ///< in their own shapes
};
/// Appends what runs the step `length` times. Only what depends on a carry is in the loop: what is the same for all steps is computed once, what
/// reads sequences alone is computed on all N·length samples together where that is a product, a sum or the like, and so is what mixes samples.
/// Throws UserError that names the node if something mixes samples that is not only summed.
ScanValues add_scan(Graph& graph, const StepCall& call, const StepResults& results);

/// A result of a scan.
Value scan_result(Value scan, std::size_t index);
/// Which result of its scan a scan_result is.
std::size_t result_index(const Graph& graph, NodeId result);
/// The gradients of a scan's operands, given those of its results, by index; empty values for none. A scan in the other direction, and products and
/// sums over all steps. What the steps need of the forward ones is kept by another copy of the scan, which the pass merge_scans makes one with it.
Values scan_gradients(Value scan, const Values& gradients_of_results);

}  // namespace sinter::ir
