#include "frontend/nn/activation.h"

#include <array>

#include "frontend/core/nearest.h"

namespace sinter {

Tensor leaky_relu(const Tensor& x, float slope) { return where(x > 0, x, x * slope); }
// exp is only applied to numbers up to 0: an infinite result would make the gradient 0 · infinity.
Tensor elu(const Tensor& x, float alpha) { return where(x > 0, x, expm1(minimum(x, 0)) * alpha); }
Tensor selu(const Tensor& x) { return elu(x, 1.6732632423543772f) * 1.0507009873554805; }
Tensor gelu(const Tensor& x, bool approximate) {
  if (approximate) return x * 0.5 * (1.0 + tanh(x * 0.7978845608028654 * (1.0 + 0.044715 * square(x))));
  return x * 0.5 * (1.0 + erf(x * 0.7071067811865476));
}
// Both parts have their gradient at 0 from above: together 1/2.
Tensor softplus(const Tensor& x) {
  const Tensor negative = x < 0;
  return where(negative, 0, x) + log1p(exp(where(negative, x, -x)));
}
Tensor softsign(const Tensor& x) { return x / (1.0 + abs(x)); }
Tensor silu(const Tensor& x) { return x * sigmoid(x); }
Tensor mish(const Tensor& x) { return x * tanh(softplus(x)); }
Tensor relu6(const Tensor& x) { return clip(x, 0, 6); }
Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3.0) * (1.0 / 6); }
Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }
Tensor hard_tanh(const Tensor& x) { return clip(x, -1, 1); }

namespace nn {

namespace {

struct Named {
  Activation activation;
  std::string_view name;
  Tensor (*apply)(const Tensor&);
};
constexpr std::array named{
    Named{Activation::none, "none", [](const Tensor& x) { return x; }},
    Named{Activation::sigmoid, "sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    Named{Activation::tanh, "tanh", [](const Tensor& x) { return tanh(x); }},
    Named{Activation::relu, "relu", [](const Tensor& x) { return relu(x); }},
    Named{Activation::softmax, "softmax", [](const Tensor& x) { return softmax(x); }},
    Named{Activation::leaky_relu, "leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
    Named{Activation::elu, "elu", [](const Tensor& x) { return elu(x); }},
    Named{Activation::selu, "selu", &selu},
    Named{Activation::gelu, "gelu", [](const Tensor& x) { return gelu(x); }},
    Named{Activation::softplus, "softplus", &softplus},
    Named{Activation::softsign, "softsign", &softsign},
    Named{Activation::silu, "silu", &silu},
    Named{Activation::mish, "mish", &mish},
    Named{Activation::relu6, "relu6", &relu6},
    Named{Activation::hard_sigmoid, "hard_sigmoid", &hard_sigmoid},
    Named{Activation::hard_silu, "hard_silu", &hard_silu},
    Named{Activation::hard_tanh, "hard_tanh", &hard_tanh},
    Named{Activation::exponential, "exponential", [](const Tensor& x) { return exp(x); }},
};

const Named& find(Activation activation) {
  for (const Named& one : named)
    if (one.activation == activation) return one;
  throw UserError("activation", str("there is no activation number ", static_cast<int>(activation)));
}

}  // namespace

Tensor activate(Activation activation, const Tensor& x) { return find(activation).apply(x); }
std::string_view name(Activation activation) { return find(activation).name; }

Activation parse_activation(std::string_view wanted) {
  std::vector<std::string> known;
  for (const Named& one : named) {
    if (one.name == wanted) return one.activation;
    known.emplace_back(one.name);
  }
  throw UserError("activation", str("there is no activation '", wanted, "'", nearest_hint(wanted, known)));
}

}  // namespace nn

}  // namespace sinter
