// Modules: layers and models with named parameters.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/core/ops.h"

namespace sinter::nn {

/// A layer or a model. Derive, register parameters and children in the constructor, and write forward() as ordinary tensor code:
///
///   struct Residual : nn::Module {
///     nn::Dense inner{64, 64, Activation::relu};
///     Residual() : Module("residual") { add(inner); }
///     Tensor forward(const Tensor& x) override { return x + inner(x); }
///   };
///
/// A module shares its parameters with its copies. Parameter names are the path to them: `residual.dense_1.weight`.
class Module {
 public:
  /// `kind` is what the module is called within others, numbered: "dense" becomes `dense_1`. On its own its path is its kind, or `path`.
  explicit Module(std::string kind) : kind_(kind), name_(std::move(kind)) {}
  Module(std::string kind, std::string path) : kind_(std::move(kind)), name_(std::move(path)) {}
  virtual ~Module() = default;

  /// The output for one batch. Called eagerly or in a trace alike.
  virtual Tensor forward(const Tensor& x) = 0;
  /// forward(), with this module's name on every node that it makes.
  Tensor operator()(const Tensor& x);

  const std::string& name() const { return name_; }
  /// Parameters of this module and its children, in order of registration; a parameter that is reached twice (tied weights) once.
  std::vector<Parameter> parameters() const;
  /// The trainable ones.
  std::vector<Parameter> trainable_parameters() const;
  /// Throws UserError for an unknown name, listing those there are.
  Parameter parameter(std::string_view name) const;

 protected:
  Parameter add(std::string name, const Tensor& initial, bool trainable = true);
  /// A child is named after its kind and its number among its kind, `dense_1`. It must live as long as this module: a member, say.
  void add(Module& child);

 private:
  void rename(const std::string& path);

  std::string kind_, name_;
  std::vector<Parameter> own_;
  std::vector<std::string> own_names_;
  std::vector<Module*> children_;
};

}  // namespace sinter::nn
