// What every op must define. A missing rule stops the build with a message that names it; the compiler's "with O = ..." names the op.
#pragma once

#include "ir/ops.h"

namespace sinter::ir {

/// eval on as many numbers as the op has operands.
template <class O>
concept HasEval = IsElementwise<O> && requires(const O& op, bool condition, double x) {
  requires(O::arity == 1 && requires { op.eval(x); }) || (O::arity == 2 && requires { op.eval(x, x); }) ||
              (O::arity == 3 && requires { op.eval(condition, x, x); });
};

template <class O>
constexpr bool check_op() {
  static_assert(
      IsLeaf<O> || requires(const O& op, std::span<const Type> in) {
        { op.infer(in) } -> std::same_as<Type>;
      }, "an op of ir/ops.h has no shape rule: give it `Type infer(std::span<const Type>) const`");
  static_assert(
      IsLeaf<O> || requires(const O& op, std::span<const Type> in, const Shape& result) {
        { op.access(in, result) } -> std::same_as<Access>;
      }, "an op of ir/ops.h does not say how it walks: give it `Access access(std::span<const Type>, const Shape& result) const`");
  static_assert(IsLeaf<O> || IsScan<O> || HasEval<O> || HasReference<O>,
                "an op of ir/ops.h has no meaning: give it `eval` (pointwise) or `void reference(Reference&) const`");
  static_assert(HasVjp<O> || HasNoGradient<O>,
                "an op of ir/ops.h has no gradient rule: give it `Values vjp(const Vjp&) const` or `using no_gradient = void;`");
  static_assert(
      IsLeaf<O> || IsScan<O> || requires { O::samples(); },
      "an op of ir/ops.h has no test samples: give it `static std::vector<Sample<Op>> samples()`");
  return true;
}

}  // namespace sinter::ir
