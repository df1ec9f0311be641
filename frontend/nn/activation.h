// Activations: those that are compositions of ops, and all of them by name for layers.
#pragma once

#include <string_view>

#include "frontend/core/ops.h"

namespace sinter {

/// x where it is positive, else slope · x.
Tensor leaky_relu(const Tensor& x, float slope = 0.01f);
/// x where it is positive, else alpha (exp(x) - 1) (Clevert et al. 2016).
Tensor elu(const Tensor& x, float alpha = 1);
/// 1.0507 elu(x, 1.67326) (Klambauer et al. 2017).
Tensor selu(const Tensor& x);
/// x Φ(x) = x (1 + erf(x / sqrt(2))) / 2; `approximate`: x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))) / 2 (Hendrycks and Gimpel 2016).
Tensor gelu(const Tensor& x, bool approximate = false);
/// log(1 + exp(x)).
Tensor softplus(const Tensor& x);
/// x / (1 + |x|).
Tensor softsign(const Tensor& x);
/// x sigmoid(x), also known as swish.
Tensor silu(const Tensor& x);
/// x tanh(softplus(x)) (Misra 2019).
Tensor mish(const Tensor& x);
/// min(max(x, 0), 6).
Tensor relu6(const Tensor& x);
/// relu6(x + 3) / 6.
Tensor hard_sigmoid(const Tensor& x);
/// x relu6(x + 3) / 6 (Howard et al. 2019).
Tensor hard_silu(const Tensor& x);
/// x limited to [-1, 1].
Tensor hard_tanh(const Tensor& x);

namespace nn {

/// What a layer can apply; those that have parameters use the defaults.
enum class Activation {
  none,
  sigmoid,
  tanh,
  relu,
  softmax,
  leaky_relu,
  elu,
  selu,
  gelu,
  softplus,
  softsign,
  silu,
  mish,
  relu6,
  hard_sigmoid,
  hard_silu,
  hard_tanh,
  exponential
};
Tensor activate(Activation activation, const Tensor& x);
std::string_view name(Activation activation);
/// Throws UserError for an unknown name, with the nearest.
Activation parse_activation(std::string_view name);

}  // namespace nn
using nn::Activation;

}  // namespace sinter
