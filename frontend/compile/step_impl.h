// The inside of StepCore, for the files that implement it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <vector>

#include "frontend/compile/step.h"
#include "frontend/compile/step_watch.h"
#include "frontend/compile/variant.h"
#include "frontend/core/published_cells.h"

namespace sinter {

struct StepCore::Impl {
  Function function;                                     ///< what to trace, or
  std::shared_ptr<Traced> recorded;                      ///< what was traced before
  std::optional<std::vector<std::size_t>> kept_outputs;  ///< of what was recorded; without a value, all
  StepOptions options;
  std::source_location where;
  std::vector<std::unique_ptr<Variant>> variants;  ///< most recently used first
  std::mutex changing;                             ///< held while the list of variants changes, and by clone(), which another thread may call
  std::optional<std::vector<Spec>> seen;           ///< of the first eager call, to find the cells; guarded by `changing`
  std::vector<std::vector<Spec>> traceable;        ///< of eager calls, what require_traceable() has found no fault with
  std::unique_ptr<PublishedCells> published;       ///< of a clone: its own cells, in place of those that its function reads
  std::atomic<bool> busy{false};
  std::vector<std::string> warned;  ///< of what was traced: each warning once
  std::size_t compiles = 0;
  double compile_seconds = 0;
  Tensor sample;                       ///< input buffer of call_one
  std::unique_ptr<StepWatch> watched;  ///< while observe() has asked for it

  /// What is compiled with: what the environment says, and what the options switch off.
  Settings compile_settings() const;
  std::vector<Spec> specs_of(std::span<const Tensor* const> in) const;
  Traced trace(std::span<const Spec> specs) const;
  /// Warns of what was traced.
  void tell(const Traced& traced);
  /// What was recorded with the outputs that are asked for.
  Traced kept(Traced traced) const;
  /// Replaces the cells of what a clone runs by the clone's own. Throws UserError if it assigns any.
  void make_own(Traced& traced) const;
  /// Throws UserError with the report, and forgets the variant, if the one made last does not compute what was traced.
  void verify_latest(std::span<const Tensor* const> in);
  /// Traces and compiles; `in`, where a call asks for it, has the batch size that reports use.
  Variant& build(std::span<const Spec> specs, std::span<const Tensor* const> in = {});
  Variant& variant_for(std::span<const Tensor* const> in);
  const Variant& latest() const;
  /// Throws UserError for what a compiled step would refuse too, once per combination of types: eager mode has the same rules.
  void require_traceable(std::span<const Tensor* const> in);
  std::vector<Tensor> run_eagerly(std::span<const Tensor* const> in);
  /// The same, and tells the watch, if there is one.
  std::vector<Tensor> call_eagerly(std::span<const Tensor* const> in);
  /// Runs a variant once.
  void run_once(Variant& variant, std::span<const Tensor* const> in, std::span<Tensor> out) const;
  /// Step::find_non_finite around `run`, which returns the outputs of what `traced` says.
  void require_finite(const Traced& traced, std::span<const Tensor* const> in, const std::function<std::span<const Tensor>()>& run) const;
  /// Of the one sample that predict_one takes: [1, ...]. A step that was never called is compiled for samples of so many numbers.
  Shape sample_shape(std::size_t numbers);
  /// Runs `f`, which runs a variant; a lack of memory is one of this step.
  template <class F>
  void run_variant(F&& f) const {
    try {
      f();
    } catch (const MemoryError&) {
      rethrow_at(Origin::from(where, options.name).text(), "");
    }
  }
};

/// A call: the step is busy while it lives, and a clone reads what is published when it begins. Throws UserError if the step is busy already.
class Call {
 public:
  explicit Call(StepCore::Impl& step) : busy_(step.busy) {
    if (busy_.exchange(true, std::memory_order_acquire))
      throw UserError(step.options.name, "this step is already running on another thread; give each thread a clone()");
    if (step.published) step.published->refresh();
  }
  ~Call() { busy_.store(false, std::memory_order_release); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::atomic<bool>& busy_;
};

/// The memory of a call of these sizes on so many threads.
StepMemory planned_memory(const Variant& variant, Sizes sizes, int threads);

/// Values of a graph's leaves, by node id, for interpret().
std::vector<Tensor> leaf_values(const Traced& traced, std::span<const Tensor* const> in);

}  // namespace sinter
