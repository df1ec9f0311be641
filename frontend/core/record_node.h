// The contents of a record; see record.h.
#pragma once

#include <atomic>
#include <memory>
#include <source_location>
#include <vector>

#include "frontend/core/tensor.h"
#include "ir/ops.h"

namespace sinter {

struct Cell;

/// Either the read of a trainable cell (a leaf), or an op and its inputs.
struct Record {
  std::atomic<int> references{1};
  std::shared_ptr<Cell> cell;  ///< leaf: which cell, and
  std::uint64_t version = 0;   ///< at which version
  ir::Op op;
  std::vector<Tensor> inputs;
  std::source_location where;
};

}  // namespace sinter
