#include "ir/op.h"

#include <cmath>
#include <limits>

namespace sinter::ir {

Array::Array(DType type, std::vector<std::int64_t> dims) : dtype(type), extents(std::move(dims)) {
  data.resize(static_cast<std::size_t>(product(0, extents.size())));
}

std::int64_t Array::product(std::size_t first, std::size_t last) const {
  std::int64_t result = 1;
  for (std::size_t i = first; i < last; ++i) result *= extents[i];
  return result;
}

namespace {

/// Truncated toward zero, then two's complement wrap to `bits`, of a finite double.
double wrap_bits(double value, int bits, bool is_signed) {
  const double range = std::ldexp(1.0, bits);
  double rest = std::fmod(std::trunc(value), range);
  if (rest < 0) rest += range;
  return is_signed && rest >= range / 2 ? rest - range : rest;
}

}  // namespace

double wrap(DType type, double value) {
  switch (type) {
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::i32:
      return wrap_bits(value, 32, true);
    case DType::u32:
      return wrap_bits(value, 32, false);
    case DType::u8:
      return wrap_bits(value, 8, false);
    case DType::boolean:
      return value != 0;
  }
  throw InternalError("dtype", "unknown element type");
}

void require_inputs(std::span<const Type> in, std::size_t count) {
  if (in.size() != count) throw UserError(str("takes ", count, " operands, got ", in.size()));
}

void require_dtype(const Type& type, DType dtype, std::string_view what) {
  if (type.dtype != dtype) throw UserError(str(what, " must be ", dtype, ", got ", type, "; convert it with cast"));
}

DType Floats::result(std::span<const Type> in) {
  for (const Type& t : in)
    if (t.dtype != DType::f32) throw UserError(str("operands must be f32, got ", t, "; convert it with cast"));
  return DType::f32;
}

namespace {
void require_same_dtype(std::span<const Type> in) {
  for (const Type& t : in)
    if (t.dtype != in[0].dtype) throw UserError(str("operands must have one element type, got ", in[0], " and ", t, "; convert one with cast"));
}
}  // namespace

DType Numbers::result(std::span<const Type> in) {
  require_same_dtype(in);
  if (in[0].dtype == DType::u8 || in[0].dtype == DType::boolean)
    throw UserError(str("there is no arithmetic on ", in[0].dtype, ", got ", in[0], "; convert it with cast"));
  return in[0].dtype;
}

DType Words::result(std::span<const Type> in) {
  for (const Type& type : in) require_dtype(type, DType::u32, "the operands");
  return DType::u32;
}

DType Compares::result(std::span<const Type> in) {
  require_same_dtype(in);
  return DType::boolean;
}

Type infer_elementwise(std::span<const Type> in, std::size_t arity, DType (*rule)(std::span<const Type>)) {
  require_inputs(in, arity);
  Shape shape = in[0].shape;
  for (const Type& t : in.subspan(1)) shape = broadcast(shape, t.shape);
  return {rule(in), shape};
}

std::vector<std::vector<SampleInput>> elementwise_inputs(std::span<const Range> ranges, DType dtype) {
  const Dim n = Dim::batch();
  // The first operand's shapes, and the others' relative to it.
  struct Case {
    Shape first, others;
  };
  const Case cases[] = {{{n, 7}, {n, 7}}, {{n, 33}, {33}},     {{n, 20}, {n, 1}}, {{n, 16}, {}},      {{}, {}},
                        {{n}, {n}},       {{5, 1, 9}, {4, 9}}, {{70}, {1}},       {{n, 3, 5}, {3, 1}}};
  std::vector<std::vector<SampleInput>> result;
  for (const Case& c : cases) {
    std::vector<SampleInput> inputs;
    for (std::size_t i = 0; i < ranges.size(); ++i) inputs.push_back({{dtype, i ? c.others : c.first}, ranges[i].low, ranges[i].high});
    result.push_back(std::move(inputs));
  }
  return result;
}

}  // namespace sinter::ir
