#include "runtime/interpreter.h"

#include "ir/error.h"
#include "runtime/eval/eval.h"

namespace sinter::runtime {

namespace {

/// Whether an op makes zero of zeros: padding then stays 0.
template <class O>
bool keeps_zero(const O& op) {
  if constexpr (O::arity == 1) return op.eval(0.0) == 0;
  else if constexpr (O::arity == 2) return op.eval(0.0, 0.0) == 0;
  else return op.eval(0.0, 0.0, 0.0) == 0;
}
bool keeps_zero(const ir::Cast&) { return true; }
bool keeps_zero(const ir::Philox&) { return false; }
bool keeps_zero(const ir::Select& op) { return op.eval(false, 0.0, 0.0) == 0; }

/// Operations an element takes, about.
template <class O>
constexpr double flops = 1;
template <>
constexpr double flops<ir::Exp> = 30;
template <>
constexpr double flops<ir::Log> = 30;
template <>
constexpr double flops<ir::Tanh> = 30;
template <>
constexpr double flops<ir::Sigmoid> = 30;
template <>
constexpr double flops<ir::Div> = 4;
template <>
constexpr double flops<ir::Sqrt> = 4;

}  // namespace

void evaluate(const ir::Op& op, std::span<const View> in, const View& out) {
  const FlushToZero flush;
  std::visit(
      [&]<class O>(const O& o) {
        eval::require_kernel<O>();
        if constexpr (ir::IsScan<O>) throw InternalError("interpreter", "a scan runs its body, node after node");
        else if constexpr (ir::IsLeaf<O>) throw InternalError("interpreter", str(O::name, " is a leaf: its value comes from outside"));
        else if constexpr (ir::IsElementwise<O>) eval::pointwise({op.index(), &o, keeps_zero(o), flops<O>}, in, out);
        else eval::run(o, in, out);
      },
      op);
}

}  // namespace sinter::runtime
