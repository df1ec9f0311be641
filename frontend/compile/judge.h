// verify() and time(): each step judged and measured.
#pragma once

#include <functional>
#include <span>

#include "frontend/compile/report.h"
#include "frontend/compile/step.h"

namespace sinter {

/// The values of a run by node, not defined where it kept none; those of leaves are.
using RunValues = std::function<Tensor(ir::NodeId)>;
/// Judges each node that has a value by its result in double from the values of its operands; values inside a kernel, which are not visible, are
/// computed in double too. Asks for a value when it is needed and does not keep it.
void judge_nodes(VerifyReport& report, const std::string& part, const ir::Graph& graph, const RunValues& values, Sizes sizes);

/// Compares bytes that must not depend on whether buffers share memory; the first element that differs disagrees. Any NaN equals any NaN: which
/// operand's sign and payload a multiply-add takes depends on the form of the instruction (213, 231…), which the compiler chooses by its registers.
void judge_bytes(VerifyReport& report, const std::string& node, const Tensor& got, const Tensor& wanted);

VerifyReport judge(StepCore::Impl& step, std::span<const Tensor* const> in);
TimeReport measure(StepCore::Impl& step, std::span<const Tensor* const> in, int repeats);

}  // namespace sinter
