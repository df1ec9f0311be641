// Elements by their row-major number, and indices that a tensor holds.
#pragma once

#include "codegen/emit/emitter.h"

namespace sinter::codegen {

/// The site of an element in a kernel over this shape.
Site site_of_element(Emitter& e, const Shape& shape, llvm::Value* element);
/// The number of a site's first element.
llvm::Value* element_at(Emitter& e, const Shape& shape, const Site& site);
/// An element of an operand. A scalar that every kernel computes for itself is stored nowhere.
Vec element_of(Emitter& e, ir::NodeId id, llvm::Value* element);

/// The number of rows of a table.
llvm::Value* table_rows(Emitter& e, ValueId table);
/// An index as a signed number of 64 bits.
llvm::Value* index_value(Emitter& e, const Vec& index);
/// An index below `size`: 0 if it is not, which is reported as a fault of `node`.
llvm::Value* checked_index(Emitter& e, ir::NodeId node, const Vec& index, llvm::Value* size);

}  // namespace sinter::codegen
