#include "runtime/isa/targets.h"

#define SINTER_TEXT_OF(name) #name
#define SINTER_TEXT(name) SINTER_TEXT_OF(name)

namespace sinter::runtime::isa::SINTER_TARGET {

Kernels table() {
  Kernels result;
  result.target = SINTER_TEXT(SINTER_TARGET);
  add_pointwise(result);
  add_reductions(result);
  add_product(result);
  return result;
}

}  // namespace sinter::runtime::isa::SINTER_TARGET
