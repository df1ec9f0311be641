// One compiled variant of a step: for one combination of rank, element type and non-batch dimensions of the inputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "frontend/compile/index_guard.h"
#include "frontend/compile/run.h"
#include "frontend/compile/settings.h"
#include "frontend/core/trace.h"
#include "ir/graph.h"
#include "passes/pipeline.h"
#include "runtime/chrome_trace.h"
#include "runtime/executor.h"

namespace sinter {

/// The result of compiling. A clone's has the same code, but its own cells.
struct CompiledGraph {
  Traced traced;    ///< as recorded
  ir::Graph graph;  ///< optimized and grouped
  std::vector<passes::PassReport> passes;
  StepImage image;
  codegen::Report report;
  std::vector<codegen::Tap> taps;
  std::string cache;                      ///< what the object cache had: "hit", "miss", "off" or why it is not used
  runtime::ChromeTrace* trace = nullptr;  ///< is notified of every kernel that runs; null: not profiled
  Sizes sizes = 0;                        ///< of the call that asked for it; N = 0: unknown
  double trace_seconds = 0, pass_seconds = 0, codegen_seconds = 0;
  double seconds() const { return trace_seconds + pass_seconds + codegen_seconds; }
};

struct CompileOptions {
  bool tap = false;      ///< keep every kernel's results readable, for verify
  bool profile = false;  ///< count the time of each kernel
  Sizes sizes = 0;       ///< at which reports state figures; N = 0: as a + b·N
  Settings settings = {};
  std::function<void(const std::string&)> log = {};  ///< warnings go here
};

/// Passes and code generation. Throws UserError if this build has no code generator.
CompiledGraph compile_graph(Traced traced, const CompileOptions& options);

/// Passes only: the optimized graph that compile_graph would generate code for.
std::vector<passes::PassReport> optimize_graph(ir::Graph& graph, const Settings& settings, Sizes sizes = 0);

/// Applied to every traced graph before the passes, where set: the tests send each graph through a file. Not thread-safe.
using GraphFilter = ir::Graph (*)(const ir::Graph&);
void set_graph_filter(GraphFilter filter);

/// Whether a tensor can be passed for this input.
bool accepts(const ir::InputSpec& spec, const Type& type);

/// The samples of one step of a run: step k takes `batch` of them from k * batch on, wrapping around after the last.
struct SampleSlice {
  std::int64_t begin, count;
};
SampleSlice slice_of(std::int64_t step, std::int64_t batch, std::int64_t samples);

/// A compiled graph with the buffers to run it.
class Variant {
 public:
  explicit Variant(std::shared_ptr<const CompiledGraph> compiled);

  const CompiledGraph& compiled() const { return *compiled_; }
  /// Whether it was made for inputs of these types, none of which has a mask, and nothing that it depends on was frozen or unfrozen since.
  bool accepts(std::span<const Tensor* const> in) const;
  /// Allocates output tensors (from the pool) and runs. Throws UserError for batch sizes that differ, an index out of range, and states that a step
  /// on another thread assigns at the same time.
  void run(std::span<const Tensor* const> in, std::span<Tensor> out, int threads, bool force);
  /// Many steps in one dispatch, each on the next `batch` samples; out: the results of all steps in order. Throws UserError for outputs
  /// that are not scalars and for an index out of range.
  void run_steps(std::span<const Tensor* const> in, std::span<Tensor> out, const RunOptions& run, int threads, bool force);
  std::size_t output_count() const { return compiled_->graph.outputs().size(); }
  runtime::Executor& executor() { return executor_; }
  const runtime::Executor& executor() const { return executor_; }

 private:
  std::shared_ptr<const CompiledGraph> compiled_;
  runtime::Executor executor_;
  /// The tensor in the form in which the step reads that input.
  std::byte* step_memory(std::size_t input, const Tensor& tensor);
  /// Throws UserError for elements that are numbered, but too many in a call of these sizes.
  void check_numbered(Sizes sizes) const;
  /// Throws UserError for an index out of range, as far as that is known before the step runs.
  void check_indices(std::span<const Tensor* const> in, Sizes sizes) const;
  /// Throws UserError for a state that another step assigns at this moment.
  void bind_states();
  /// After a run, whose last step had these inputs: throws UserError for an index out of range that it met, when the states have the values again
  /// that they had before.
  void finish(std::uint32_t fault, std::span<const Tensor* const> in);
  /// Finds the fault again in the interpreter, which names the index.
  [[noreturn]] void tell(ir::NodeId node, std::span<const Tensor* const> in) const;

  std::vector<std::byte*> inputs_, states_, outputs_;
  std::vector<Cell*> assigned_;          ///< the states that it assigns
  std::vector<std::uint64_t> versions_;  ///< of the states in the last call
  bool states_unchanged_ = false;        ///< since the previous call
  bool finished_ = false;                ///< the previous call ran to its end
  IndexGuard guard_;
  std::vector<ir::NodeId> numbered_;            ///< nodes of elements that are numbered, as many as N or T decide
  std::vector<CellValue> before_;               ///< of the states, while a step runs that may meet an index out of range
  std::vector<runtime::Buffer> copies_;         ///< of inputs that have padding where the step reads none, or the reverse
  std::vector<runtime::Buffer> dense_outputs_;  ///< of those whose rows are as long as N or T
  std::vector<std::int64_t> table_rows_;
};

/// A tensor with the value of this symbolic type that a step keeps at `data`. Tensors pad rows of N or T elements, steps do not.
Tensor from_step_memory(const Type& symbolic, Sizes sizes, const std::byte* data);

/// Batch size and length of a call, by its batch inputs; 1 without any. Throws UserError if they differ.
Sizes sizes_of(const ir::Graph& graph, std::span<const Tensor* const> in);

/// Throws UserError for an output that many steps in a row cannot return.
void require_scalar_output(const std::string& step, std::size_t output, const Type& type);

}  // namespace sinter
