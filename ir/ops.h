// The closed set of ops. An op is added by adding it to this list; what it then lacks (shape rule, meaning, gradient rule, samples, kernel in the
// interpreter or the code generator) stops the build with a message that names it.
#pragma once

#include <optional>
#include <variant>

#include "ir/ops/activation.h"
#include "ir/ops/along.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/comparison.h"
#include "ir/ops/contraction.h"
#include "ir/ops/convolution.h"
#include "ir/ops/elementary.h"
#include "ir/ops/index.h"
#include "ir/ops/leaf.h"
#include "ir/ops/pool.h"
#include "ir/ops/random.h"
#include "ir/ops/reduce.h"
#include "ir/ops/scan.h"
#include "ir/ops/shape.h"
#include "ir/ops/softmax.h"
#include "ir/ops/window.h"

namespace sinter::ir {

using Op = std::variant<Input, State, Constant, Extent,                                                                        // leaf
                        Add, Sub, Mul, Div, Neg, Square, Abs, Sign, Floor, Ceil, Round, Minimum, Maximum, Clip, StopGradient,  // arithmetic
                        Exp, Exp2, Expm1, Log, Log1p, Sqrt, Rsqrt, Pow, Sin, Cos, Erf,                                         // elementary
                        Less, LessEqual, Equal, NotEqual, Select, Cast,                                                        // comparison
                        Sigmoid, Tanh, Relu,                                                                                   // activation
                        Reshape, Broadcast, Transpose, Permute,                                                                // shape
                        Sum, Max, Prod, Argmax,                                                                                // reduce
                        Softmax, LogSoftmax,                                                                                   // softmax
                        Matmul, Dense, BatchMatmul,                                                                            // contraction
                        Conv2D, Conv2DTranspose, Conv2DWeight,                                                                 // convolution
                        MaxPool, MaxPoolPlace, PoolTake, PoolPut, AveragePool, AverageSpread,                                  // pool
                        GatherRows, ScatterAddRows, OneHot,                                                                    // index
                        Cumsum, ExactTotal, TakeAlong, ScatterAddAlong, TopK,                                                  // along
                        Slice, Pad, Shift, Concat,                                                                             // window
                        Iota, Philox,                                                                                          // random
                        Scan, ScanResult>;                                                                                     // scan

template <class O>
concept IsLeaf = requires { typename O::leaf; };
/// Each element of the result is one of an operand, or a constant, at a place that the walk says.
template <class O>
concept IsMovement = requires { typename O::movement; };
/// Reads each element of operand `combined` once, and combines it with others.
template <class O>
concept Combines = requires { O::combined; };
template <class O>
concept HasNoGradient = requires { typename O::no_gradient; };
template <class O>
concept HasVjp = requires(const O& op, const Vjp& v) {
  { op.vjp(v) } -> std::same_as<Values>;
};
template <class O>
concept HasReference = requires(const O& op, Reference& r) { op.reference(r); };

std::string_view name(const Op& op);
Attributes attributes(const Op& op);
bool is_leaf(const Op& op);
bool is_elementwise(const Op& op);
/// Whether a gradient can flow through the op at all.
bool is_differentiable(const Op& op);
bool operator_equal(const Op& a, const Op& b);
/// The type of the result; for leaves InternalError. Throws UserError without a where-part.
Type infer(const Op& op, std::span<const Type> in);
/// How it walks over operands of these types to a result of this shape; for leaves InternalError.
Access access(const Op& op, std::span<const Type> in, const Shape& result);
/// The op with every N among its attributes replaced by n.
Op at_sizes(const Op& op, Sizes sizes);
/// The op of this name. Throws UserError for an unknown name or attributes that do not fit.
Op make_op(std::string_view name, const Attributes& attributes);

/// Calls f with an instance of each op of the list that is not a loop, in order: `for_each_op([](auto op) { ... })`.
template <class F>
void for_each_op(F&& f) {
  const auto call_one = [&]<class O>(O op) {
    if constexpr (!IsScan<O>) f(op);
  };
  const auto call = [&]<class... Ops>(std::variant<Ops...>*) { (call_one(Ops{}), ...); };
  call(static_cast<Op*>(nullptr));
}

}  // namespace sinter::ir
