// The inside of StepCore, for the files that implement it.
#pragma once

#include <atomic>
#include <memory>
#include <source_location>
#include <vector>

#include "frontend/compile/step.h"
#include "frontend/compile/variant.h"

namespace sinter {

/// Marks a step busy for the length of a call. Throws UserError if it is already.
class Busy {
 public:
  Busy(std::atomic<bool>& flag, const std::string& name) : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire))
      throw UserError(name, "this step is already running on another thread; give each thread a clone()");
  }
  ~Busy() { flag_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

struct StepCore::Impl {
  Function function;                 ///< what to trace, or
  std::shared_ptr<Traced> recorded;  ///< what was traced before
  StepOptions options;
  std::source_location where;
  std::vector<std::unique_ptr<Variant>> variants;  ///< most recently used first
  std::atomic<bool> busy{false};
  std::size_t compiles = 0;
  double compile_seconds = 0;
  Tensor sample;  ///< input buffer of call_one

  std::vector<Spec> specs_of(std::span<const Tensor* const> in) const;
  Traced trace(std::span<const Spec> specs) const;
  /// Throws UserError with the report, and forgets the variant, if the one made last does not compute what was traced.
  void verify_latest(std::span<const Tensor* const> in);
  /// Traces and compiles; `in`, where a call asks for it, tells the batch size that reports use.
  Variant& build(std::span<const Spec> specs, std::span<const Tensor* const> in = {});
  Variant& variant_for(std::span<const Tensor* const> in);
  const Variant& latest() const;
  std::vector<Tensor> run_eagerly(std::span<const Tensor* const> in) const;
};

/// Values of a graph's leaves, by node id, for interpret().
std::vector<Tensor> leaf_values(const Traced& traced, std::span<const Tensor* const> in);

}  // namespace sinter
