#include "frontend/core/spatial.h"

#include "frontend/core/ops/shape.h"

namespace sinter {

std::vector<std::int64_t> by_axis(const char* what, const std::vector<std::int64_t>& numbers, std::size_t axes) {
  if (numbers.size() == axes) return numbers;
  if (numbers.size() != 1) throw UserError(what, str("must be one number or one for each of ", axes, " axes, got ", numbers.size()));
  return std::vector<std::int64_t>(axes, numbers[0]);
}

std::vector<std::int64_t> at_least_one_by_axis(const std::string& where, const char* what, const std::vector<std::int64_t>& numbers,
                                               std::size_t axes) {
  if (numbers.size() != axes && numbers.size() != 1)
    throw UserError(where, str(what, " must be one number or one for each of ", axes, " axes, got ", numbers.size()));
  for (const std::int64_t n : numbers)
    if (n < 1) throw UserError(where, str(what, " must be at least 1, got ", n));
  return numbers.size() == axes ? numbers : std::vector<std::int64_t>(axes, numbers[0]);
}

void require_image(const Tensor& x, std::size_t rank, const char* form) {
  if (x.rank() != rank) throw UserError("image", str("the input must be ", form, ", got ", x.type()));
  for (std::size_t axis = 1; axis < rank; ++axis)
    if (!x.shape()[axis].is_fixed()) throw UserError("image", str("only the first dimension may be N, got ", x.type()));
}

Tensor as_image(const Tensor& x) { return reshape(x, {x.dim(0), 1, x.dim(1), x.dim(2)}); }
Tensor as_series(const Tensor& y) { return reshape(y, {y.dim(0), y.dim(2), y.dim(3)}); }

}  // namespace sinter
