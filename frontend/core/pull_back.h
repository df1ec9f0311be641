// Reverse mode over eager records.
#pragma once

#include <span>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// The sum over the outputs of seed · d output / d w for each tensor w of `wrt`; undefined where no output depends on one. Outputs and `wrt` carry
/// records, and so do the results.
std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> seeds, std::span<const Tensor> wrt);

}  // namespace sinter
