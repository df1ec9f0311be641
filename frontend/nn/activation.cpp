#include "frontend/nn/activation.h"

#include <array>
#include <limits>

#include "frontend/core/nearest.h"

namespace sinter {

namespace {

/// x · gate(x) for a gate that is 0 or 1 in f32 beyond ±128: there it is that constant, so that neither 0 · infinity nor its gradient arises.
template <class Gate>
Tensor gated(const Tensor& x, const Gate& gate) {
  constexpr float beyond = 128;
  const Tensor near = clip(x, -beyond, beyond);
  return where(x > beyond, x, near) * gate(near);
}

}  // namespace

// Smooth functions choose their parts with where: relu, abs and minimum each have a gradient of their own at 0, which do not add up to the true one.
Tensor leaky_relu(const Tensor& x, float slope) { return where(x > 0, x, x * slope); }
// exp is only applied to numbers up to 0: an infinite result would make the gradient 0 · infinity.
Tensor elu(const Tensor& x, float alpha) {
  const Tensor positive = x > 0;
  return where(positive, x, expm1(where(positive, 0, x)) * alpha);
}
Tensor selu(const Tensor& x) { return elu(x, 1.6732632423543772f) * 1.0507009873554805; }
Tensor gelu(const Tensor& x, bool approximate) {
  if (approximate) return gated(x, [](const Tensor& y) { return (1.0 + tanh(y * 0.7978845608028654 * (1.0 + 0.044715 * square(y)))) * 0.5; });
  return gated(x, [](const Tensor& y) { return (1.0 + erf(y * 0.7071067811865476)) * 0.5; });
}
// Both parts have their gradient at 0 from above: together 1/2.
Tensor softplus(const Tensor& x) {
  const Tensor negative = x < 0;
  return where(negative, 0, x) + log1p(exp(where(negative, x, -x)));
}
Tensor softsign(const Tensor& x) {
  constexpr float greatest = std::numeric_limits<float>::max();
  const Tensor finite = clip(x, -greatest, greatest);
  return finite / (1.0 + abs(finite));
}
Tensor silu(const Tensor& x) {
  return gated(x, [](const Tensor& y) { return sigmoid(y); });
}
Tensor mish(const Tensor& x) {
  return gated(x, [](const Tensor& y) { return tanh(softplus(y)); });
}
// Where these have a corner, the gradient is that of the constant side, as relu's is.
Tensor relu6(const Tensor& x) { return where(x >= 6, 6, relu(x)); }
Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3.0) * (1.0 / 6); }
Tensor hard_silu(const Tensor& x) { return gated(x, &hard_sigmoid); }
Tensor hard_tanh(const Tensor& x) { return where(x >= 1, 1, where(x <= -1, -1, x)); }

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
