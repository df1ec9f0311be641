#include "ir/ops/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter::ir {

Type Select::infer(std::span<const Type> in) const {
  require_inputs(in, 3);
  require_dtype(in[0], DType::boolean, "the condition");
  if (in[1].dtype != in[2].dtype)
    throw UserError(str("both choices must have one element type, got ", in[1], " and ", in[2], "; convert one with cast"));
  return {in[1].dtype, broadcast(broadcast(in[0].shape, in[1].shape), in[2].shape)};
}

std::vector<Sample<Select>> Select::samples() {
  std::vector<Sample<Select>> result;
  for (auto& inputs : elementwise_inputs(std::vector<Range>(3))) {
    inputs[0] = {{DType::boolean, inputs[0].type.shape}, 0, 2};
    result.push_back({{}, std::move(inputs)});
  }
  return result;
}

Type Cast::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  return {dtype, in[0].shape};
}

void Cast::reference(Reference& r) const {
  const bool from_float = is_float(r.in[0]->dtype);
  const auto limit = [&](double low, double high, double x) { return std::isnan(x) ? 0.0 : std::trunc(std::clamp(x, low, high)); };
  for (std::size_t i = 0; i < r.out.data.size(); ++i) {
    double x = r.in[0]->data[i];
    if (from_float && dtype == DType::i32) x = limit(-2147483648.0, 2147483647.0, x);
    else if (from_float && dtype == DType::u32) x = limit(0, 4294967295.0, x);
    else if (from_float && dtype == DType::u8) x = limit(0, 255, x);
    r.out.data[i] = is_float(dtype) ? x : wrap(dtype, x);
  }
}

std::vector<Sample<Cast>> Cast::samples() {
  const Shape shape{Dim::batch(), 19};
  std::vector<Sample<Cast>> result;
  const auto add = [&](DType from, DType to, double low, double high) {
    Cast op;
    op.dtype = to;
    result.push_back({op, {{{from, shape}, low, high}}});
  };
  add(DType::f32, DType::i32, -300, 300);
  add(DType::f32, DType::u32, 0, 300);
  add(DType::f32, DType::u8, -20, 300);
  add(DType::f32, DType::boolean, -1, 1);
  add(DType::i32, DType::f32, -300, 300);
  add(DType::u32, DType::f32, 0, 300);
  add(DType::u8, DType::f32, 0, 256);
  add(DType::boolean, DType::f32, 0, 2);
  add(DType::i32, DType::u8, -300, 300);
  add(DType::i32, DType::u32, -300, 300);
  add(DType::u8, DType::i32, 0, 256);
  add(DType::boolean, DType::i32, 0, 2);
  add(DType::i32, DType::boolean, -2, 2);
  return result;
}

}  // namespace sinter::ir
