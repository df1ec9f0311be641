#include "frontend/core/ops/index.h"

#include "frontend/core/operands.h"

namespace sinter {

Tensor gather_rows(const Arg& table, const Arg& index) {
  const Tensor t = table.as(DType::f32), i = index.as(DType::i32);
  return apply(ir::GatherRows{}, {&t, &i}, table.where());
}

Tensor scatter_add_rows(const Arg& index, const Arg& updates, std::int64_t rows) {
  const Tensor i = index.as(DType::i32), u = updates.as(DType::f32);
  return apply(ir::ScatterAddRows{rows}, {&i, &u}, index.where());
}

Tensor take_along(const Arg& x, const Arg& index) {
  const Tensor a = x.as(DType::f32), i = index.as(DType::i32);
  return apply(ir::TakeAlong{}, {&a, &i}, x.where());
}

Tensor scatter_add_along(const Arg& index, const Arg& updates, std::int64_t cols) {
  const Tensor i = index.as(DType::i32), u = updates.as(DType::f32);
  return apply(ir::ScatterAddAlong{cols}, {&i, &u}, index.where());
}

Tensor one_hot(const Arg& index, std::int64_t depth) {
  const Tensor i = index.as(DType::i32);
  return apply(ir::OneHot{depth}, {&i}, index.where());
}

}  // namespace sinter
