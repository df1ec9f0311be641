// verify() and time(): each step judged and measured.
#pragma once

#include <span>

#include "frontend/compile/report.h"
#include "frontend/compile/step.h"

namespace sinter {

VerifyReport judge(StepCore::Impl& step, std::span<const Tensor* const> in);
TimeReport measure(StepCore::Impl& step, std::span<const Tensor* const> in, int repeats);

}  // namespace sinter
