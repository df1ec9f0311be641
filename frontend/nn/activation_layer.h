// Activations as layers.
#pragma once

#include "frontend/nn/activation.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// activate(activation, x): base of the classes below, and for an activation that is chosen at run time.
class ActivationLayer : public Module {
 public:
  explicit ActivationLayer(Activation activation) : Module(std::string(nn::name(activation))), activation_(activation) {}
  Tensor forward(const Tensor& x) override { return activate(activation_, x); }
  bool passes_mask() const override { return true; }

 private:
  Activation activation_;
};

struct Sigmoid : ActivationLayer {
  Sigmoid() : ActivationLayer(Activation::sigmoid) {}
};
struct Tanh : ActivationLayer {
  Tanh() : ActivationLayer(Activation::tanh) {}
};
struct ReLU : ActivationLayer {
  ReLU() : ActivationLayer(Activation::relu) {}
};
/// Over the last axis.
struct Softmax : ActivationLayer {
  Softmax() : ActivationLayer(Activation::softmax) {}
};
struct SELU : ActivationLayer {
  SELU() : ActivationLayer(Activation::selu) {}
};
struct Softplus : ActivationLayer {
  Softplus() : ActivationLayer(Activation::softplus) {}
};
struct Softsign : ActivationLayer {
  Softsign() : ActivationLayer(Activation::softsign) {}
};
struct SiLU : ActivationLayer {
  SiLU() : ActivationLayer(Activation::silu) {}
};
struct Mish : ActivationLayer {
  Mish() : ActivationLayer(Activation::mish) {}
};
struct ReLU6 : ActivationLayer {
  ReLU6() : ActivationLayer(Activation::relu6) {}
};
struct HardSigmoid : ActivationLayer {
  HardSigmoid() : ActivationLayer(Activation::hard_sigmoid) {}
};
struct HardSiLU : ActivationLayer {
  HardSiLU() : ActivationLayer(Activation::hard_silu) {}
};
struct HardTanh : ActivationLayer {
  HardTanh() : ActivationLayer(Activation::hard_tanh) {}
};
struct Exponential : ActivationLayer {
  Exponential() : ActivationLayer(Activation::exponential) {}
};

// ---- with parameters ----
/// Over the last axis.
class LogSoftmax : public Module {
 public:
  LogSoftmax() : Module("log_softmax") {}
  Tensor forward(const Tensor& x) override { return log_softmax(x); }
  bool passes_mask() const override { return true; }
};
/// x where it is positive, else slope · x.
class LeakyReLU : public Module {
 public:
  /// Throws UserError for a slope that is not finite.
  explicit LeakyReLU(float slope = 0.01f);
  Tensor forward(const Tensor& x) override { return leaky_relu(x, slope_); }
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"slope", slope_}}; }

 private:
  float slope_;
};
/// x where it is positive, else alpha (exp(x) - 1).
class ELU : public Module {
 public:
  /// Throws UserError for an alpha that is not finite.
  explicit ELU(float alpha = 1);
  Tensor forward(const Tensor& x) override { return elu(x, alpha_); }
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"alpha", alpha_}}; }

 private:
  float alpha_;
};
/// x Φ(x), or its approximation by tanh.
class GELU : public Module {
 public:
  explicit GELU(bool approximate = false) : Module("gelu"), approximate_(approximate) {}
  Tensor forward(const Tensor& x) override { return gelu(x, approximate_); }
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"approximate", approximate_}}; }

 private:
  bool approximate_;
};
/// x where it is positive, else weight · x with a learned slope: one, or one per feature of the last axis (He et al. 2015).
class PReLU : public Module {
 public:
  /// `features`: 1, or the size of the last axis. Throws UserError for fewer than 1 and a slope that is not finite.
  explicit PReLU(std::int64_t features = 1, float slope = 0.25f);
  /// Throws UserError if the last axis of x has another number of features.
  Tensor forward(const Tensor& x) override;
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"slope", slope_}}; }

  Parameter weight;  ///< [features]

 private:
  float slope_;  ///< at first
};

}  // namespace sinter::nn
