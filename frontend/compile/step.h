// compile(fn): a function on tensors as one native function, with the same signature.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontend/compile/report.h"
#include "frontend/compile/run.h"
#include "frontend/compile/settings.h"
#include "frontend/core/signature.h"
#include "frontend/core/tensor.h"
#include "ir/input_spec.h"

namespace sinter {

namespace ir {
class Graph;
}
struct Traced;
struct StepTimes;

using InputKind = ir::InputSpec::Kind;

/// The type of one input, for compile(fn, spec...).
struct Spec {
  Type type;
  InputKind kind = InputKind::batch;
  bool operator==(const Spec&) const = default;
  /// Among the dimensions of a batch input: the length T, which each call decides as it decides N. All inputs of a call have the same.
  static constexpr std::int64_t any_length = -1;
  /// [N, dims...]: a batch of samples. `Spec::batch(DType::f32, {Spec::any_length, 64})` is [N, T, 64]: one compile for every batch size and length.
  static Spec batch(DType dtype, const std::vector<std::int64_t>& dims);
  /// Exactly this shape at every call.
  static Spec fixed(DType dtype, const std::vector<std::int64_t>& dims);
  /// [R, dims...]: a data set or similar, with any number of rows, that only gather_rows reads.
  static Spec table(DType dtype, const std::vector<std::int64_t>& dims);
};

struct StepOptions {
  std::string name = "step";
  Mode mode = Mode::graph;
  int threads = 0;                        ///< at most; 0: as OMP_NUM_THREADS, affinity and cgroup quota allow
  bool force = false;                     ///< exactly `threads` threads, whatever the cost model says: for tests
  std::vector<InputKind> kinds = {};      ///< one per input; those not listed are batch (scalars: fixed)
  std::vector<std::size_t> lengths = {};  ///< inputs whose second dimension is the length T, which each call decides: Spec::any_length
  /// Receives warnings. Without it, those of what trains less well than it could go to stderr, and all others are dropped.
  std::function<void(const std::string&)> log = {};
  bool find_non_finite = false;  ///< see Step::find_non_finite
  /// Passes that are switched off by name, as `fold_bias`, to see what each gains (passes/pipeline.cpp lists them); SINTER_WITHOUT names more. An
  /// unknown name is an error when the step is compiled.
  std::vector<std::string> without = {};
};

/// What a Step is inside: the function, its compiled variants and their buffers. One caller at a time; clone() for more.
class StepCore {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  StepCore(Function function, StepOptions options, std::source_location where);
  /// From a recorded graph and its states, in place of a function.
  StepCore(Traced traced, StepOptions options);
  ~StepCore();
  StepCore(const StepCore&) = delete;
  StepCore& operator=(const StepCore&) = delete;

  /// Runs once. `out` has room for the outputs. Throws UserError for inputs that do not fit, InternalError never for what a user can cause.
  void call(std::span<const Tensor* const> in, std::span<Tensor> out);
  std::vector<Tensor> call(std::span<const Tensor* const> in);
  /// One sample: dense row-major f32 in and out, for a step of one input and one output. Allocates nothing.
  void call_one(std::span<const float> in, std::span<float> out);
  /// `run.steps` calls in a row, in one dispatch of the thread team; out[i] holds output i of every call, as [steps]. Outputs must be scalars.
  void run(std::span<const Tensor* const> in, std::span<Tensor> out, const RunOptions& run);
  void compile(std::span<const Spec> specs);
  /// The graph for inputs of these types, freshly traced and not compiled.
  Traced record(std::span<const Spec> specs) const;

  std::string explain() const;
  VerifyReport verify(std::span<const Tensor* const> in);
  TimeReport time(std::span<const Tensor* const> in, int repeats);
  /// What a call on inputs of these types needs, by the memory plan; compiles if that was not done yet. `samples`: N, instead of the inputs' own; 0:
  /// theirs. Throws UserError as a call does.
  StepMemory memory(std::span<const Tensor* const> in, std::int64_t samples = 0);
  const ir::Graph& graph() const;         ///< optimized, of the variant used last. Throws UserError before the first
  const ir::Graph& traced_graph() const;  ///< as recorded
  std::vector<std::shared_ptr<Cell>> cells() const;
  std::size_t compile_count() const;
  double compile_seconds() const;
  std::int64_t last_threads() const;
  const StepOptions& options() const;
  void set_mode(Mode mode);
  void set_find_non_finite(bool on);
  void set_threads(int threads, bool force);
  /// From now on calls of a training step, whose first output is the loss, add up in `into` where their time goes; null: no longer. Compiled steps
  /// are compiled once more for that. Must not be called during a call.
  void observe(StepTimes* into);
  /// For a recorded step, before the first call: it returns only these outputs, but record() has all of them.
  void keep_outputs(std::vector<std::size_t> indices);
  /// Those of the options, before the first call.
  void set_kinds(std::vector<InputKind> kinds, std::vector<std::size_t> lengths = {});
  std::shared_ptr<StepCore> clone() const;  ///< see Step::clone
  /// Graph, states and captured tensors into a `.sinter` file.
  void save(const std::string& path) const;

  struct Impl;

 private:
  explicit StepCore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

namespace detail {

/// How a function's result maps to a list of tensors. `count` is -1 where only the function knows.
template <class R>
struct Results;
template <class R>
concept IsResult = requires { Results<R>::count; };
template <>
struct Results<void> {
  static constexpr int count = 0;
};
template <>
struct Results<Tensor> {
  static constexpr int count = 1;
  static std::vector<Tensor> list(Tensor r) { return {std::move(r)}; }
  static Tensor make(std::span<Tensor> out) { return std::move(out[0]); }
};
template <class... T>
  requires(std::is_same_v<T, Tensor> && ...)
struct Results<std::tuple<T...>> {
  static constexpr int count = sizeof...(T);
  static std::vector<Tensor> list(std::tuple<T...> r) {
    return std::apply([](auto&... t) { return std::vector<Tensor>{std::move(t)...}; }, r);
  }
  static std::tuple<T...> make(std::span<Tensor> out) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple<T...>{std::move(out[I])...}; }(std::index_sequence_for<T...>());
  }
};
template <>
struct Results<std::pair<Tensor, Tensor>> {
  static constexpr int count = 2;
  static std::vector<Tensor> list(std::pair<Tensor, Tensor> r) { return {std::move(r.first), std::move(r.second)}; }
  static std::pair<Tensor, Tensor> make(std::span<Tensor> out) { return {std::move(out[0]), std::move(out[1])}; }
};
template <>
struct Results<std::vector<Tensor>> {
  static constexpr int count = -1;
  static std::vector<Tensor> list(std::vector<Tensor> r) { return r; }
};

template <class F, class R, class... A>
StepCore::Function erase(F function, R (*)(A...)) {
  return [function = std::move(function)](std::span<const Tensor> in) mutable -> std::vector<Tensor> {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::vector<Tensor> {
      if constexpr (std::is_void_v<R>) {
        function(in[I]...);
        return {};
      } else {
        return Results<R>::list(function(in[I]...));
      }
    }(std::index_sequence_for<A...>());
  };
}

/// Whether a function may be compiled. `type` is its signature or, after an error, one by which no other error follows.
template <class Signature>
struct Compilable;
template <class R, class... A>
struct Compilable<R(A...)> {
  static constexpr bool takes_tensors = (std::is_same_v<A, Tensor> && ...), returns_tensors = IsResult<R>;
  template <class>
  using AsTensor = Tensor;
  using type = std::conditional_t<returns_tensors, R, Tensor>(AsTensor<A>...);
};

}  // namespace detail

template <class Signature>
class Step;

/// A function on tensors that runs as native code (or line by line, in Mode::eager). What the function captures by reference must outlive the Step.
/// One call at a time: a second, concurrent one throws UserError; see clone().
template <class R, class... A>
class Step<R(A...)> {
 public:
  Step() = default;
  explicit Step(std::shared_ptr<StepCore> core) : core_(std::move(core)) {}

  R operator()(const A&... args) {
    const std::array<const Tensor*, sizeof...(A)> in{&args...};
    if constexpr (std::is_void_v<R>) {
      core_->call(in, std::span<Tensor>{});
    } else if constexpr (detail::Results<R>::count < 0) {
      return core_->call(in);
    } else {
      std::array<Tensor, static_cast<std::size_t>(detail::Results<R>::count)> out;
      core_->call(in, out);
      return detail::Results<R>::make(out);
    }
  }

  /// Many steps in a row on slices of the batch inputs, without returning to the caller in between: the values of each scalar output, as [steps].
  R run(const A&... data, const RunOptions& options) {
    const std::array<const Tensor*, sizeof...(A)> in{&data...};
    std::array<Tensor, static_cast<std::size_t>(std::max(0, detail::Results<R>::count))> out;
    static_assert(detail::Results<R>::count >= 0, "run needs a function that returns a fixed number of tensors");
    core_->run(in, out, options);
    if constexpr (!std::is_void_v<R>) return detail::Results<R>::make(out);
  }

  /// One sample, dense row-major, for a step of one f32 input and one f32 output: [dims...] in, [dims...] out. Allocates nothing.
  void predict_one(std::span<const float> in, std::span<float> out) { core_->call_one(in, out); }

  /// Why it was compiled, what each pass removed, the phases and kernels, where the compile time went.
  std::string explain() const { return core_->explain(); }
  /// Judges kernels, memory plan, graph and eager run against double arithmetic, node by node (docs/guide.md, "Verify"). State is restored.
  VerifyReport verify(const A&... args) {
    const std::array<const Tensor*, sizeof...(A)> in{&args...};
    return core_->verify(in);
  }
  /// Times eager against compiled, node by node, and the compile time separately. State is restored.
  TimeReport time(const A&... args) {
    const std::array<const Tensor*, sizeof...(A)> in{&args...};
    return core_->time(in, 20);
  }
  /// Check every call for NaN and infinite numbers from now on, or no longer. At the first, the states return to their values before the call, which
  /// throws a UserError that names layer, line and op; run() then calls step by step. Costs a copy of all states per call.
  void find_non_finite(bool on = true) { core_->set_find_non_finite(on); }
  const ir::Graph& graph() const { return core_->graph(); }
  std::size_t compile_count() const { return core_->compile_count(); }
  void save(const std::string& path) const { core_->save(path); }
  /// A step for another thread: shares the code, has its own memory, and reads parameters as last published (see publish()); those that
  /// never were, as they are now. Never blocks; any thread may call it while another runs this step. Throws UserError for a step that assigns
  /// parameters; if this step has not been called yet, only when the clone is called.
  Step clone() const { return Step(core_->clone()); }
  const std::shared_ptr<StepCore>& core() const { return core_; }

 private:
  std::shared_ptr<StepCore> core_;
};

/// Makes a step of a function: compiled at the first call, and once more for each new combination of rank, type and non-batch dimensions (at most 8
/// are kept). In graph mode a call runs fully compiled or throws: nothing ever falls back to eager silently.
template <class F>
auto compile(F function, StepOptions options = {}, std::source_location where = std::source_location::current()) {
  static_assert(detail::HasSignature<F>, "compile: a function needs one signature, of const Tensor& parameters: no auto parameters, no overloads");
  if constexpr (detail::HasSignature<F>) {
    using Signature = typename detail::SignatureOf<F>::type;
    using Compilable = detail::Compilable<Signature>;
    static_assert(Compilable::takes_tensors, "compile: a function takes const Tensor& parameters; capture everything else");
    static_assert(Compilable::returns_tensors,
                  "compile: a function returns void, Tensor, std::pair<Tensor, Tensor>, std::tuple<Tensor, ...> or std::vector<Tensor>");
    using Result = Step<typename Compilable::type>;
    if constexpr (Compilable::takes_tensors && Compilable::returns_tensors)
      return Result(std::make_shared<StepCore>(detail::erase(std::move(function), static_cast<Signature*>(nullptr)), std::move(options), where));
    else return Result();
  } else {
    return Step<Tensor(Tensor)>();
  }
}

/// The same, compiled immediately for inputs of these types; the options' kinds are theirs.
template <class F, class... Specs>
  requires(sizeof...(Specs) > 0 && (std::is_same_v<Specs, Spec> && ...))
auto compile(F function, StepOptions options, Specs... specs) {
  options.kinds = {specs.kind...};
  auto step = compile(std::move(function), std::move(options));
  const std::array<Spec, sizeof...(Specs)> list{specs...};
  step.core()->compile(list);
  return step;
}
template <class F, class... Specs>
  requires(sizeof...(Specs) > 0 && (std::is_same_v<Specs, Spec> && ...))
auto compile(F function, Specs... specs) {
  return compile(std::move(function), StepOptions{}, specs...);
}

/// Reads what Step::save wrote: a step that runs without the C++ that defined it. Throws UserError for a damaged file.
std::shared_ptr<StepCore> load_step(const std::string& path, StepOptions options = {});

}  // namespace sinter
