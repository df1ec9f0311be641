// What verify() judges loops over time by.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/compile/bounds.h"

namespace sinter {

/// The results of a scan, by index. With `carries`, what a run had as each carry before each step ([N, length, ...]; nothing for carries of which
/// that is not known), a step is computed from the run's own carry, so that its bound does not grow from step to step; the value before a step is
/// then what the step before it makes of the run's carry.
std::vector<Bounded> evaluate_scan_bounded(const ir::Scan& scan, std::span<const Bounded* const> in,
                                           std::span<const std::optional<ir::Array>> carries, Sizes sizes);

/// Results of the scan that are its carries before each step: their indices, by carry; nothing for others.
std::vector<std::optional<std::size_t>> kept_carries(const ir::Scan& scan);
/// Adds them as outputs of the graph, behind its own, where they are missing.
void keep_carries(ir::Graph& graph);

/// The first difference of a stacked result, in the order in which the steps run; nothing if all agree.
struct StepDifference {
  std::int64_t element, step, turn;  ///< its place; that of its step in the sequence, and when that runs
};
std::optional<StepDifference> first_difference_of_steps(const ir::Array& got, const Bounded& wanted, const ir::Scan& scan, double& worst);

}  // namespace sinter
