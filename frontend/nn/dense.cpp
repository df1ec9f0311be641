#include "frontend/nn/dense.h"

#include "frontend/nn/affine.h"

namespace sinter::nn {

Dense::Dense(std::int64_t inputs, std::int64_t units, Activation activation, DenseOptions options)
    : Module("dense"), inputs_(inputs), units_(units), activation_(activation) {
  if (inputs < 1 || units < 1) throw UserError("Dense", str("needs at least 1 input and 1 unit, got ", inputs, " and ", units));
  weight = add("weight", options.weight({inputs, units}), options.penalty);
  if (options.use_bias) bias = add("bias", options.bias({units}));
}

Tensor Dense::forward(const Tensor& x) {
  if (x.rank() < 2) throw UserError(label(), str("input must be [batch, ..., features], got ", x.type(), "; reshape it"));
  if (x.dim(-1) != Dim(inputs_))
    throw UserError(
        label(), str("input has ", x.dim(-1), " features but the layer was built for ", inputs_, "; make it Dense(", x.dim(-1), ", ", units_, ")"));
  return affine(x, weight, bias, activation_);
}

}  // namespace sinter::nn
