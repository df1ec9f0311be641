#include "frontend/nn/dense.h"

#include "frontend/nn/affine.h"
#include "frontend/nn/weight_settings.h"

namespace sinter::nn {

Dense::Dense(std::int64_t inputs, std::int64_t units, Activation activation, DenseOptions options)
    : Module("dense"), inputs_(inputs), units_(units), activation_(activation), options_(std::move(options)) {
  if (inputs < 1 || units < 1) throw UserError("Dense", str("needs at least 1 input and 1 unit, got ", inputs, " and ", units));
  weight = add("weight", options_.weight({inputs, units}), options_.penalty);
  if (options_.use_bias) bias = add("bias", options_.bias({units}));
}

std::vector<Setting> Dense::settings() const {
  std::vector<Setting> list{{"activation", std::string(nn::name(activation_))}};
  add_weight_settings(list, options_);
  return list;
}

Tensor Dense::forward(const Tensor& x) {
  if (x.rank() < 2) throw UserError(label(), str("input must be [batch, ..., features], got ", x.type(), "; reshape it"));
  if (x.dim(-1) != Dim(inputs_))
    throw UserError(
        label(), str("input has ", x.dim(-1), " features but the layer was built for ", inputs_, "; make it Dense(", x.dim(-1), ", ", units_, ")"));
  return affine(x, weight, bias, activation_);
}

}  // namespace sinter::nn
