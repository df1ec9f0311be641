// The parts of a training step: what each of its nodes is for, and how kernels and arithmetic divide among the parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/cost.h"
#include "ir/graph.h"

namespace sinter {

enum class TrainingPart : std::uint8_t {
  data,      ///< rows of a batch gathered from the data set
  forward,   ///< the loss, and statistics that layers keep
  backward,  ///< gradients
  update,    ///< the optimizer
  metrics,   ///< other results: what no loss and no state needs
};
template <class T>
using ByPart = std::array<T, 5>;

/// The part of each node of a training step whose first output is the loss, by node id. What the loss is computed from is forward, a gradient in
/// the loss included; what a gradient rule made, and what that alone reads, is backward; the rest of what changes trained parameters and
/// optimizer state is update. The graph may be optimized: passes keep what a node was made for.
std::vector<TrainingPart> parts_of(const ir::Graph& step);

/// The floating-point operations of a call, by part.
ByPart<ir::Cost> flops_by_part(const ir::Graph& step, std::span<const TrainingPart> parts);

/// The share of each part in the time of each kernel group, by the seconds of its nodes in the cost model (runtime/team.h); the shares of a group
/// add up to 1. A node moves the operands that it reads from another group, and its result if another group reads it.
std::vector<ByPart<double>> kernel_shares(const ir::Graph& step, std::span<const TrainingPart> parts, Sizes sizes);

}  // namespace sinter
