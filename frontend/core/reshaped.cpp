#include "frontend/core/reshaped.h"

namespace sinter {

Tensor reshaped_in_place(const ir::Op& op, const Tensor& operand, const Type& result) {
  if (!std::holds_alternative<ir::Reshape>(op)) return {};
  const bool unpadded = Tensor::result_is_unpadded(result);
  const Layout is = operand.view().layout(), wanted = runtime::View{result, nullptr, unpadded}.layout();
  // Of one row behind another the pad lanes are where they should be, too.
  const bool fits = is == wanted || (is.is_dense() && wanted.is_dense() && is.padded_elements() == wanted.padded_elements());
  if (!fits) return {};
  return unpadded ? Tensor::unpadded(result, operand.buffer()) : Tensor(result, operand.buffer());
}

}  // namespace sinter
