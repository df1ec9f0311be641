// Which steps of sequences exist: masks, which go from layer to layer with the tensor that they are of.
#pragma once

#include "frontend/nn/module.h"

namespace sinter::nn {

/// x with a mask: x [N, T, features...], as word numbers without features, mask boolean [N, T], true where a step exists. Recurrent layers keep their
/// states at other steps, and GlobalAveragePool leaves them out; layers that treat each step for itself pass the mask on (Module::passes_mask), all
/// others lose it, as does any function of the tensor. Throws UserError for a mask of another type or shape.
Tensor with_mask(const Tensor& x, const Tensor& mask, std::source_location where = std::source_location::current());
/// The mask of x; undefined if it has none.
Tensor mask_of(const Tensor& x);
/// x [N, T, ...] with `value` in the steps that do not exist, boolean [N, T].
Tensor where_exists(const Tensor& exists, const Tensor& x, double value = 0);
/// The mask of sequences of these lengths, i32 or u32 [N], that are padded behind to so many steps: boolean [N, steps].
Tensor sequence_mask(const Tensor& lengths, Dim steps, std::source_location where = std::source_location::current());

/// Sequences as such with a mask of their own: steps whose features all have this value do not exist.
class Masking : public Module {
 public:
  explicit Masking(float value = 0) : Module("masking"), value_(value) {}
  std::vector<Setting> settings() const override { return {{"value", value_}}; }
  /// x [N, T, features] with 0 in the steps that do not exist.
  Tensor forward(const Tensor& x) override;

 private:
  float value_;
};

}  // namespace sinter::nn
