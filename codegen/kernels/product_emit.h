// Code of products: tiles of the result in registers, as planned in codegen/kernels/product_plan.h, then the epilogue over the finished rows, while
// they are in the first-level cache.
#pragma once

#include "codegen/emit/emitter.h"
#include "codegen/kernels/product_plan.h"

namespace sinter::codegen {

/// The chunk's rows of a product that fits tiles (ir::fits_tiles), or its part of a slot.
void emit_product(Emitter& e);
/// Rows of its right operand, packed.
void emit_product_pack(Emitter& e);
/// Whether the sums of a long product are one call's, instead of rows of the chunk.
bool sums_of_call(const Product& product, const Kernel& kernel);

}  // namespace sinter::codegen
