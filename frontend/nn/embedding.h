#pragma once

#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

struct EmbeddingOptions {
  Initializer weight = init::uniform();
  bool mask_zero = false;  ///< index 0 is padding: indices [N, T] give sequences with a mask (frontend/nn/mask.h)
};

/// Rows of a table by index: indices [N, ...] (i32, u32 or u8) become [N, ..., features], with the mask of the indices if they have one. An index
/// outside [0, entries) is an error that the step reports.
class Embedding : public Module {
 public:
  /// Throws UserError for sizes below 1.
  Embedding(std::int64_t entries, std::int64_t features, const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& index) override;
  std::vector<Setting> settings() const override;

  Parameter weight;  ///< [entries, features]

 private:
  EmbeddingOptions options_;
};

}  // namespace sinter::nn
