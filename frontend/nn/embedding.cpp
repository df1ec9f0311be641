#include "frontend/nn/embedding.h"

#include "frontend/nn/mask.h"

namespace sinter::nn {

Embedding::Embedding(std::int64_t entries, std::int64_t features, const EmbeddingOptions& options) : Module("embedding"), options_(options) {
  if (entries < 1 || features < 1) throw UserError("Embedding", str("needs at least 1 entry and 1 feature, got ", entries, " and ", features));
  weight = add("weight", options.weight({entries, features}));
}

std::vector<Setting> Embedding::settings() const { return {{"weight", init::name_of(options_.weight)}, {"mask_zero", options_.mask_zero}}; }

Tensor Embedding::forward(const Tensor& index) {
  if (!is_index(index.dtype())) throw UserError(label(), str("input must be entry numbers (i32, u32 or u8), got ", index.type()));
  const Tensor rows = gather_rows(weight, index);
  const Tensor given = mask_of(index);
  if (!options_.mask_zero) return given.defined() ? with_mask(rows, given) : rows;
  if (index.rank() != 2) throw UserError(label(), str("masks sequences of entry numbers [N, T], got ", index.type()));
  const Tensor words = not_equal(index, 0);
  return with_mask(rows, given.defined() ? logical_and(words, given) : words);
}

}  // namespace sinter::nn
