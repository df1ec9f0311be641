#pragma once

#include "frontend/nn/module.h"

namespace sinter::nn {

/// A module of several inputs or outputs. Derive, register parameters and children as in any module, and write forward_all():
///
///   struct Rating : nn::Model {
///     nn::Embedding users{1000, 16}, films{5000, 16};
///     nn::Dense score{32, 1};
///     Rating() : Model("rating") { add(users), add(films), add(score); }
///     std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {score(concat({users(in[0]), films(in[1])}, -1))}; }
///   };
class Model : public Module {
 public:
  using Module::Module;
  std::vector<Tensor> forward_all(std::span<const Tensor> in) override = 0;
  /// Throws UserError unless the model gives one output for one input.
  Tensor forward(const Tensor& x) final;

 protected:
  /// Another handle to this module.
  explicit Model(const Module& module) : Module(module) {}
};

}  // namespace sinter::nn
