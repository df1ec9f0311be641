#include "runtime/interpreter.h"

#include "ir/error.h"
#include "runtime/eval/eval.h"
#include "runtime/support.h"

namespace sinter::runtime {

namespace {

template <class O>
void evaluate_pointwise(const O& op, std::size_t index, std::span<const View> in, const View& out) {
  bool keeps_zero = true;
  if constexpr (std::is_same_v<O, ir::Cast>) keeps_zero = true;
  else if constexpr (std::is_same_v<O, ir::Philox>) keeps_zero = false;
  else if constexpr (std::is_same_v<O, ir::Select>) keeps_zero = op.eval(false, 0.0, 0.0) == 0;
  else if constexpr (O::arity == 1) keeps_zero = op.eval(0.0) == 0;
  else if constexpr (O::arity == 2) keeps_zero = op.eval(0.0, 0.0) == 0;
  else keeps_zero = op.eval(0.0, 0.0, 0.0) == 0;
  constexpr double flops = is_one_of<O, ir::Exp, ir::Log, ir::Tanh, ir::Sigmoid> ? 30 : is_one_of<O, ir::Div, ir::Sqrt> ? 4 : 1;
  eval::pointwise({index, &op, keeps_zero, flops}, in, out);
}

template <class O>
ir::Convolution convolution(const O& op, std::span<const View> in) {
  return ir::convolution_of(op, in[0].type.shape, in[1].type.shape);
}

template <class O>
ir::Sliding windows(const O& op, const View& image) {
  return ir::pool_windows(image.type.shape, op.kernel, op.strides, op.pads);
}

}  // namespace

void evaluate(const ir::Op& op, std::span<const View> in, const View& out) {
  const FlushToZero flush;
  std::visit(
      [&]<class O>(const O& o) {
        require_interpreter_kernel<O>();
        if constexpr (ir::IsLeaf<O>) throw InternalError("interpreter", str(O::name, " is a leaf: its value comes from outside"));
        else if constexpr (ir::IsElementwise<O>) evaluate_pointwise(o, op.index(), in, out);
        else if constexpr (std::is_same_v<O, ir::Constant>) eval::fill(o.value, out);
        else if constexpr (std::is_same_v<O, ir::Extent>) eval::fill(static_cast<double>(o.dim.extent(0)), out);
        else if constexpr (std::is_same_v<O, ir::Reshape>) eval::reshape(in[0], out);
        else if constexpr (std::is_same_v<O, ir::Broadcast>) eval::broadcast(in[0], out);
        else if constexpr (std::is_same_v<O, ir::Transpose>) eval::transpose(in[0], out);
        else if constexpr (std::is_same_v<O, ir::Sum>) eval::reduce(eval::Reduction::sum, o.first, o.last, in[0], out);
        else if constexpr (std::is_same_v<O, ir::Max>) eval::reduce(eval::Reduction::max, o.first, o.last, in[0], out);
        else if constexpr (std::is_same_v<O, ir::Prod>) eval::reduce(eval::Reduction::prod, o.first, o.last, in[0], out);
        else if constexpr (std::is_same_v<O, ir::Argmax>) eval::argmax(in[0], out);
        else if constexpr (std::is_same_v<O, ir::Softmax>) eval::softmax(false, in[0], out);
        else if constexpr (std::is_same_v<O, ir::LogSoftmax>) eval::softmax(true, in[0], out);
        else if constexpr (std::is_same_v<O, ir::Matmul>) eval::product(o.transpose_a, o.transpose_b, in[0], in[1], nullptr, out);
        else if constexpr (std::is_same_v<O, ir::Dense>) eval::product(false, false, in[0], in[1], &in[2], out);
        else if constexpr (std::is_same_v<O, ir::BatchMatmul>) eval::batch_product(o.transpose_a, o.transpose_b, in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::Conv2D>) eval::conv2d(convolution(o, in), in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::Conv2DTranspose>) eval::conv2d_transpose(convolution(o, in), in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::Conv2DWeight>) eval::conv2d_weight(convolution(o, in), in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::MaxPool>) eval::max_pool(windows(o, in[0]), in[0], out);
        else if constexpr (std::is_same_v<O, ir::MaxPoolPlace>) eval::max_pool_place(windows(o, in[0]), in[0], out);
        else if constexpr (std::is_same_v<O, ir::PoolTake>) eval::pool_take(windows(o, in[0]), in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::PoolPut>) eval::pool_put(windows(o, out), in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::AveragePool>) eval::average_pool(windows(o, in[0]), in[0], out);
        else if constexpr (std::is_same_v<O, ir::AverageSpread>) eval::average_spread(windows(o, out), in[0], out);
        else if constexpr (std::is_same_v<O, ir::Cumsum>) eval::cumsum(static_cast<std::size_t>(o.axis), o.reverse, in[0], out);
        else if constexpr (std::is_same_v<O, ir::TakeAlong>) eval::take_along(in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::ScatterAddAlong>) eval::scatter_add_along(in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::TopK>) eval::top_k(in[0], out);
        else if constexpr (std::is_same_v<O, ir::GatherRows>) eval::gather_rows(in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::ScatterAddRows>) eval::scatter_add_rows(in[0], in[1], out);
        else if constexpr (std::is_same_v<O, ir::OneHot>) eval::one_hot(in[0], out);
        else if constexpr (std::is_same_v<O, ir::Iota>) eval::iota(out);
        else if constexpr (ir::IsWindow<O>) {
          std::vector<Type> types;
          for (const View& view : in) types.push_back(view.type);
          eval::window(o.window(types), in, out);
        } else static_assert(!sizeof(O), "the interpreter does not call this op's kernel (see O)");
      },
      op);
}

}  // namespace sinter::runtime
