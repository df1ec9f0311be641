// Layers that change shapes or combine other layers, and functions as layers.
#pragma once

#include <functional>

#include "frontend/nn/container.h"

namespace sinter::nn {

/// [N, ...] as [N, all features].
class Flatten : public Module {
 public:
  Flatten() : Module("flatten") {}
  Tensor forward(const Tensor& x) override;
};

/// [N, ...] as [N, dims...]; one of them may be -1: it is inferred.
class Reshape : public Module {
 public:
  explicit Reshape(std::vector<std::int64_t> dims) : Module("reshape"), dims_(std::move(dims)) {}
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::int64_t> dims_;
};

/// Any function as a layer.
class Lambda : public Module {
 public:
  explicit Lambda(std::function<Tensor(const Tensor&)> function) : Module("lambda"), function_(std::move(function)) {}
  Tensor forward(const Tensor& x) override { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

/// Parallel layers on the same input: base of Add and Concat.
class Branches : public Container {
 protected:
  template <IsLayer... Layers>
  explicit Branches(std::string kind, Layers&&... layers) : Container(std::move(kind)) {
    (append(std::forward<Layers>(layers)), ...);
  }
  std::vector<Tensor> run(const Tensor& x);
  /// With a mask of the steps that exist in all results, if all have masks.
  static Tensor with_common_mask(const Tensor& combined, const std::vector<Tensor>& results);
};

/// The sum of the results: `nn::Add{nn::Identity(), nn::Sequential{...}}` is a residual block.
class Add : public Branches {
 public:
  template <IsLayer... Layers>
    requires(sizeof...(Layers) > 1)
  explicit Add(Layers&&... layers) : Branches("add", std::forward<Layers>(layers)...) {}
  Tensor forward(const Tensor& x) override;
};

/// The results concatenated along the last axis.
class Concat : public Branches {
 public:
  template <IsLayer... Layers>
    requires(sizeof...(Layers) > 1)
  explicit Concat(Layers&&... layers) : Branches("concat", std::forward<Layers>(layers)...) {}
  Tensor forward(const Tensor& x) override;
};

/// The input itself: a branch of Add or Concat.
class Identity : public Module {
 public:
  Identity() : Module("identity") {}
  Tensor forward(const Tensor& x) override { return x; }
  bool passes_mask() const override { return true; }
};

}  // namespace sinter::nn
