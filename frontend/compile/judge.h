// verify() and time(): each step judged and measured.
#pragma once

#include <span>

#include "frontend/compile/report.h"
#include "frontend/compile/step.h"

namespace sinter {

/// Each node that has a value, judged by what it is in double of the values of its operands; within a kernel, whose values in between nobody has
/// seen, of what they are in double. `values` is indexed by node id and holds at least the leaves.
void judge_nodes(VerifyReport& report, const std::string& part, const ir::Graph& graph, std::span<const Tensor> values, std::int64_t n);

/// A value that should have the same bytes whether or not buffers share memory: its first element that does not disagrees. NaN is NaN: which
/// operand's sign and payload a multiply-add takes depends on the form of the instruction (213, 231…), which the compiler chooses by its registers.
void judge_bytes(VerifyReport& report, const std::string& node, const Tensor& got, const Tensor& wanted);

VerifyReport judge(StepCore::Impl& step, std::span<const Tensor* const> in);
TimeReport measure(StepCore::Impl& step, std::span<const Tensor* const> in, int repeats);

}  // namespace sinter
