// The double reference, by which every other path is judged. Slow and simple.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace sinter::ir {

/// One op but a scan on double arrays. Throws UserError for an index out of range.
Array evaluate(const Op& op, const Type& type, std::span<const Array* const> in, Sizes sizes);

/// Element t of a sequence [N, length, ...].
Array step_of(const Array& sequence, std::int64_t t);
void set_step(Array& sequence, std::int64_t t, const Array& element);
/// The results of a scan, by index.
std::vector<Array> evaluate_scan(const Scan& scan, std::span<const Array* const> in, Sizes sizes);

/// Every live node of the graph, by id, with inputs and states given (in the order of their specs) of a call of these sizes. Leaves are copied.
std::vector<Array> evaluate(const Graph& graph, std::span<const Array> inputs, std::span<const Array> states, Sizes sizes);

}  // namespace sinter::ir
