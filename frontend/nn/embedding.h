#pragma once

#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// Rows of a table by index: indices [N, ...] (i32, u32 or u8) become [N, ..., features]. An index outside [0, entries) is an error that the step
/// reports.
class Embedding : public Module {
 public:
  /// Throws UserError for sizes below 1.
  Embedding(std::int64_t entries, std::int64_t features, Initializer weight = init::uniform());
  Tensor forward(const Tensor& index) override;

  Parameter weight;  ///< [entries, features]
};

}  // namespace sinter::nn
