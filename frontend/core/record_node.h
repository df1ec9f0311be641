// The contents of a record; see record.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <variant>
#include <vector>

#include "frontend/core/custom_gradient.h"
#include "frontend/core/tensor.h"
#include "ir/ops.h"

namespace sinter {

struct Cell;

/// One call of grad: the vector-Jacobian products of `outputs` with `seeds` (one per output, of its type), with respect to some tensors.
struct Pullback {
  std::vector<Tensor> tensors;  ///< the outputs, their seeds, and what the gradients are with respect to
  std::size_t outputs = 0;      ///< how many
  std::span<const Tensor> all() const { return tensors; }
  std::span<const Tensor> seeds() const { return all().subspan(outputs, outputs); }
  std::span<const Tensor> wrt() const { return all().subspan(2 * outputs); }
};

/// One call of with_gradient. The results carry no record here: theirs point back to the call.
struct CustomCall {
  std::vector<Tensor> inputs, results;
  GradientRule rule;
};

/// How a value was computed. Gradients are not recorded op by op: they are recomputed from what they were made of where their own gradient is asked
/// for.
struct Record {
  /// The value of a trainable cell, at a version.
  struct Read {
    std::shared_ptr<Cell> cell;
    std::uint64_t version;
  };
  struct Watched {};
  struct Applied {
    ir::Op op;
    std::vector<Tensor> inputs;
    std::source_location where;
  };
  struct Gradient {
    std::shared_ptr<const Pullback> of;
    std::size_t index;
  };
  struct Custom {
    std::shared_ptr<const CustomCall> call;
    std::size_t result;
  };

  std::atomic<int> references{1};
  std::variant<Watched, Read, Applied, Gradient, Custom> how;

  template <class How>
  explicit Record(How made) : how(std::move(made)) {}
};

template <class How>
RecordRef make_record(How how) {
  return RecordRef(new Record(std::move(how)));
}

}  // namespace sinter
