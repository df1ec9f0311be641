#include "ir/ops/sliding.h"

namespace sinter::ir {

namespace {

void require_numbers(const char* what, const Shape& numbers, std::size_t count, std::int64_t least) {
  bool fits = numbers.rank() == count && numbers.is_fixed();
  for (const Dim d : numbers) fits = fits && d.factor() >= least && d.factor() <= 1 << 20;
  if (!fits) throw UserError(str(what, " must be ", count, " numbers of at least ", least, ", got ", numbers));
}

}  // namespace

Sliding slide(const Shape& input, const Shape& kernel, const Shape& strides, const Shape& dilations, const Shape& pads) {
  if (input.rank() != 4 || !input[1].is_fixed() || !input[2].is_fixed() || !input[3].is_fixed() || input[0].is_rows())
    throw UserError(str("the input must be [batch, height, width, channels], got ", input));
  require_numbers("the kernel", kernel, 2, 1);
  require_numbers("strides", strides, 2, 1);
  require_numbers("dilations", dilations, 2, 1);
  require_numbers("pads", pads, 4, 0);
  const auto axis = [&](std::size_t i) {
    SlidingAxis a{input[1 + i].factor(), 0, kernel[i].factor(), strides[i].factor(), dilations[i].factor(), pads[i].factor()};
    const std::int64_t padded = a.in + a.before + pads[2 + i].factor(), covered = (a.size - 1) * a.dilation + 1;
    if (covered > padded)
      throw UserError(str("a window of ", covered, i == 0 ? " rows" : " columns", " does not fit into the padded input of ", padded,
                          "; make it smaller or pad more"));
    a.out = (padded - covered) / a.stride + 1;
    return a;
  };
  return {axis(0), axis(1)};
}

Index tap_of_window(const SlidingAxis& axis, std::size_t o, std::size_t k) {
  return {.terms = {{o, axis.stride}, {k, axis.dilation}}, .offset = -axis.before, .partial = true};
}

Index window_of_tap(const SlidingAxis& axis, std::size_t i, std::size_t k) {
  return {.terms = {{i, 1}, {k, -axis.dilation}}, .offset = axis.before, .divide = axis.stride, .exact = true, .partial = true};
}

}  // namespace sinter::ir
