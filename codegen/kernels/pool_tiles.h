// Pools and their adjoints, a tile of pixels at a time (codegen/kernels/pixel_tiles.h).
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// Whether the taps of its windows are unrolled: of a kernel whose anchor is a pool or the adjoint of one. Others compute each element for itself.
bool tiles_pool(const ir::Graph& graph, const Kernel& kernel);
/// The pool, followed by the rest of the kernel: results stay in registers between.
void emit_pool_tiles(Emitter& e);

}  // namespace sinter::codegen
