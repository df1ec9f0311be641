// Short rows that are added to each other, or combined otherwise, and follow each other in memory: so many at a time that they fill vectors
// (ReductionKernel::adds_short_rows). Which lane a row is added to depends on its number alone, so that rows of zeros behind the last one change no
// byte.
#pragma once

#include "codegen/emit/combine.h"

namespace sinter::codegen {

/// The sum of the rows of these numbers of a value of f32, all of its columns, at a site that has these. `first`: the row of number 0.
Vec add_short_rows(Emitter& e, Combine how, ValueId value, Rows rows, llvm::Value* first, const Site& site);

}  // namespace sinter::codegen
