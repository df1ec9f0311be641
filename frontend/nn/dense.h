#pragma once

#include "frontend/nn/activation.h"
#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

struct DenseOptions {
  Initializer weight = init::glorot_uniform();
  Initializer bias = init::zeros();
  bool use_bias = true;
  Penalty penalty = {};  ///< of the weight
};

/// activation(x W + b): x [N, ..., inputs], W [inputs, units], b [units]. Parameters `weight` and `bias`.
class Dense : public Module {
 public:
  /// Throws UserError for sizes below 1.
  Dense(std::int64_t inputs, std::int64_t units, Activation activation, DenseOptions options);
  Dense(std::int64_t inputs, std::int64_t units, Activation activation = Activation::none) : Dense(inputs, units, activation, DenseOptions()) {}

  /// [N, ..., units]. Throws UserError if x is not [N, ..., inputs].
  Tensor forward(const Tensor& x) override;
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override;

  Parameter weight, bias;  ///< bias is undefined without use_bias

 private:
  std::int64_t inputs_, units_;
  Activation activation_;
  DenseOptions options_;
};

}  // namespace sinter::nn
