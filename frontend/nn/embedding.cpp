#include "frontend/nn/embedding.h"

namespace sinter::nn {

Embedding::Embedding(std::int64_t entries, std::int64_t features, Initializer initial) : Module("embedding") {
  if (entries < 1 || features < 1) throw UserError("Embedding", str("needs at least 1 entry and 1 feature, got ", entries, " and ", features));
  weight = add("weight", initial({entries, features}));
}

Tensor Embedding::forward(const Tensor& index) {
  if (!is_index(index.dtype())) throw UserError(label(), str("input must be entry numbers (i32, u32 or u8), got ", index.type()));
  return gather_rows(weight, index);
}

}  // namespace sinter::nn
