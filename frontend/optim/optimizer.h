// Optimizers: a handful of traced lines each. What changes between steps (learning rate, slots) is a parameter, never a constant.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/core/ops.h"

namespace sinter::optim {

/// Base of the optimizers. Copies share their state.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Assigns each parameter its next value. Runs eagerly or in a trace alike. Throws UserError if the counts or shapes differ.
  void update(std::span<const Parameter> parameters, std::span<const Tensor> gradients);

  /// A scalar parameter: assigning it changes the rate from the next step on, without a compile.
  const Parameter& learning_rate() const { return learning_rate_; }
  /// Throws UserError for a rate that is negative or not finite.
  void set_learning_rate(float rate);
  /// Learning rate and slots, for files.
  std::vector<Parameter> state() const;
  const std::string& name() const { return name_; }

 protected:
  Optimizer(std::string name, float learning_rate);
  virtual void update_one(const Parameter& parameter, const Tensor& gradient) = 0;
  /// The slot of this name that belongs to the parameter: `rmsprop/dense_1.weight/v`. Made as zeros at first.
  Parameter slot(const Parameter& parameter, const std::string& slot_name);

 private:
  struct Slot {
    std::shared_ptr<Cell> owner;
    std::string name;
    Parameter value;
  };
  std::string name_;
  Parameter learning_rate_;
  std::vector<Slot> slots_;
};

struct SGDOptions {
  float learning_rate = 0.01f;
  float momentum = 0;  ///< in [0, 1)
};
/// w <- w - lr g; with momentum m: v <- m v - lr g, w <- w + v (Keras's form).
class SGD : public Optimizer {
 public:
  explicit SGD(SGDOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  float momentum_;
};

struct RMSpropOptions {
  float learning_rate = 1e-3f;
  float rho = 0.9f;       ///< in [0, 1)
  float epsilon = 1e-7f;  ///< > 0, inside the square root as in Keras and JAX
};
/// v <- rho v + (1 - rho) g^2, w <- w - lr g / sqrt(v + epsilon) (Tieleman and Hinton 2012).
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(RMSpropOptions options = {});

 private:
  void update_one(const Parameter& w, const Tensor& g) override;
  float rho_, epsilon_;
};

}  // namespace sinter::optim
