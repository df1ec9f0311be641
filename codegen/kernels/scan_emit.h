// The code of loops over time: for each chunk of samples, a loop that calls the kernels of the step one after the other.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// The kernel of a loop, a section of it (ScanPlan::sections), or one that packs for it.
void emit_scan(Emitter& e);

}  // namespace sinter::codegen
