// Module::summary: a run in a trace that is thrown away, during which each call of a module is noted.
#pragma once

#include "frontend/nn/module.h"

namespace sinter::nn {

/// Tells the summary that is being made on this thread, if any, that a module was called and what it returned.
void note_call(const Module& module, const Tensor& result);

}  // namespace sinter::nn
