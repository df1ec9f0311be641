// explain(): a report on how a step was compiled.
#include <algorithm>
#include <iomanip>
#include <set>

#include "frontend/compile/cache.h"
#include "frontend/compile/step_impl.h"
#include "ir/cost.h"
#include "ir/layout.h"
#include "ir/print.h"
#include "runtime/parallelism.h"

namespace sinter {

namespace {

void explain_inputs(std::ostream& out, const ir::Graph& graph) {
  out << "inputs:";
  for (const ir::InputSpec& input : graph.inputs()) {
    const char* kind = input.kind == InputKind::batch   ? ""
                       : input.kind == InputKind::fixed ? " (fixed)"
                       : input.kind == InputKind::table ? " (table)"
                                                        : " (captured)";
    out << "  " << input.name << ": " << input.type << kind;
  }
  out << "\nstates: " << graph.states().size() << ", outputs: " << graph.outputs().size() << "\n";
}

void explain_constants(std::ostream& out, const ir::Graph& graph) {
  out << "numbers compiled in:";
  for (const ir::NodeId id : graph.topological_order())
    if (const auto* constant = graph.op_as<ir::Constant>(id)) out << "  " << ir::number_text(constant->value);
  out << "\n";
}

void explain_kernels(std::ostream& out, const ir::Graph& graph) {
  std::vector<std::string> kernels;
  const auto names = ir::printed_names(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (node.kernel < 0) continue;
    const auto kernel = static_cast<std::size_t>(node.kernel);
    if (kernels.size() <= kernel) kernels.resize(kernel + 1);
    kernels[kernel] += str(kernels[kernel].empty() ? "" : " + ", ir::name(node.op));
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) out << "  kernel " << i << ": " << kernels[i] << "\n";
}

}  // namespace

StepMemory planned_memory(const Variant& variant, Sizes sizes, int threads) {
  const StepImage& image = variant.executor().image();
  StepMemory memory{.scratch = image.scratch_bytes * threads, .threads = threads};
  for (const ir::StateSpec& state : variant.compiled().graph.states())
    memory.states += layout(state.type.shape, 1).padded_elements() * static_cast<std::int64_t>(size_of(state.type.dtype));
  for (const Arena& arena : image.arenas) memory.arenas += arena.bytes * arena.units(sizes);
  return memory;
}

StepMemory StepCore::memory(std::span<const Tensor* const> in, std::int64_t samples) {
  const Call call(*impl_);
  const Variant& variant = impl_->variant_for(in);
  Sizes sizes = sizes_of(variant.compiled().graph, in);
  if (samples) sizes.n = samples;
  return planned_memory(variant, sizes, variant.executor().estimate(sizes, impl_->options.threads).threads);
}

std::string StepCore::explain() const {
  const Variant& variant = impl_->latest();
  const CompiledGraph& compiled = variant.compiled();
  TextStream out;
  const std::string place = Origin::from(impl_->where).text();  // none if it was loaded
  out << "step " << impl_->options.name << (place.empty() ? "" : ", traced at ") << place << ", variants: " << impl_->variants.size() << ", compiled "
      << impl_->compiles << (impl_->compiles == 1 ? " time\n" : " times\n");
  explain_inputs(out, compiled.graph);
  explain_constants(out, compiled.graph);
  out << "passes:\n";
  for (const passes::PassReport& pass : compiled.passes) {
    out << "  " << std::left << std::setw(22) << pass.name << std::right << std::setw(5) << pass.nodes_before << " -> " << std::setw(5)
        << pass.nodes_after << " nodes, " << std::fixed << std::setprecision(2) << pass.seconds * 1e3 << " ms"
        << (pass.is_off ? ", switched off" : "") << "\n";
    for (const std::string& note : pass.notes) out << "    " << note << "\n";
  }
  ir::Cost flops;
  for (const ir::NodeId id : compiled.graph.topological_order()) flops += ir::flops(compiled.graph, id);
  out << std::setprecision(0) << "arithmetic per call: " << flops.fixed() << " + " << flops[Dim::batch()] << " N flops";
  for (const Dim symbols : {Dim::length(), Dim::batch() * Dim::length()})
    if (flops[symbols] > 0) out << " + " << flops[symbols] << " " << symbols;
  if (compiled.sizes.n && !flops.is_fixed()) out << ", " << flops.at(compiled.sizes) << " at N = " << compiled.sizes.n;
  out << "\n";
  out << "kernels:\n";
  explain_kernels(out, compiled.graph);
  const std::vector<std::size_t>& code_of = compiled.report.code_of;
  out << compiled.report.schedule << compiled.report.memory_plan << "functions: " << std::set(code_of.begin(), code_of.end()).size() << " of "
      << code_of.size() << " kernels differ\n";
  {
    const Sizes sizes{std::max<std::int64_t>(1, compiled.sizes.n), compiled.sizes.t};
    const std::int64_t n = sizes.n;
    const auto [work, bytes, seconds, chunks, threads] = variant.executor().estimate(sizes, impl_->options.threads);
    out << "threads at N = " << n << ": " << threads << "; " << work << " flops and " << bytes << " bytes are " << std::setprecision(1)
        << seconds * 1e6 << " us of one core by the cost model, the widest phase has " << chunks << (chunks == 1 ? " chunk\n" : " chunks\n")
        << std::setprecision(0);
    const StepImage& image = variant.executor().image();
    const auto at = [&](int count) { return runtime::parallelism(image, sizes, count, runtime::estimated_seconds(image, sizes)); };
    const runtime::Parallelism some = at(16), many = at(64);
    out << std::setprecision(1) << "parallelism at N = " << n << ", by the cost model: " << some.busy_threads << " at 16 threads, "
        << many.busy_threads << " at 64" << std::setprecision(0);
    if (many.busy_threads < 48 && !image.kernels.empty()) out << ", where the others wait for kernel: " << image.kernels[many.kernel].name;
    out << "\n";
    const StepMemory memory = planned_memory(variant, sizes, threads);
    const auto specs = compiled.graph.inputs();
    const bool has_length = std::any_of(specs.begin(), specs.end(), [](const ir::InputSpec& spec) {
      return std::any_of(spec.type.shape.begin(), spec.type.shape.end(), [](Dim dim) { return dim.is_length(); });
    });
    out << "peak memory at N = " << n << (has_length ? str(", T = ", sizes.t) : "") << ": " << memory.all() << " bytes; of them " << memory.states
        << " of states, " << memory.arenas << " of arenas, " << memory.scratch << " of chunk scratch; inputs and outputs not included\n";
    if (has_length) {
      constexpr std::int64_t steps = 1024;  // a multiple of what arenas are rounded to
      out << "memory grows by " << (planned_memory(variant, {n, sizes.t + steps}, threads).arenas - memory.arenas) / steps
          << " bytes for each further step of T\n";
    }
  }
  if (!compiled.report.products.empty()) out << "products:\n";
  for (const std::string& product : compiled.report.products) out << "  " << product << "\n";
  out << "target: " << compiled.report.target << "\n";
  out << std::setprecision(2) << "compile time: " << compiled.seconds() * 1e3 << " ms: trace " << compiled.trace_seconds * 1e3 << ", passes "
      << compiled.pass_seconds * 1e3;
  for (const auto& [stage, seconds] : compiled.report.stages) out << ", " << stage << " " << seconds * 1e3;
  const CacheStatistics cache = cache_statistics();
  out << " (object cache: " << compiled.cache << ")\nobject cache, this process so far: " << cache.hits << " hits, " << cache.misses << " misses, "
      << cache.written << " written, " << cache.rejected << " rejected, " << cache.swept << " swept\n";
  return out.str();
}

}  // namespace sinter
