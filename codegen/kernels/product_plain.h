// Products that fit no register tiles: with N among the columns of an operand or of the result, or with a single column of several rows.
#pragma once

#include "codegen/emit/emitter.h"
#include "codegen/kernels/product_plan.h"

namespace sinter::codegen {

/// Elements of the product at a site of its result. Each is one chain of multiply-adds in the order of k; or, where both operands are contiguous
/// along k but not along the result, 16 chains that are added at the end.
Vec product_at(Emitter& e, const Product& product, const Site& site);

}  // namespace sinter::codegen
