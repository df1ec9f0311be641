// The files of a target, each of which fills its part of the table.
#pragma once

#include "runtime/isa/kernels.h"

namespace sinter::runtime::isa::SINTER_TARGET {

void add_pointwise(Kernels& table);
void add_reductions(Kernels& table);
void add_product(Kernels& table);

}  // namespace sinter::runtime::isa::SINTER_TARGET
