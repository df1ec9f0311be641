// time(): eager and compiled times.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iomanip>
#include <limits>
#include <map>
#include <numeric>
#include <ostream>
#include <sstream>
#include <tuple>

#include "frontend/compile/cell_snapshot.h"
#include "frontend/compile/judge.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/clock.h"
#include "frontend/core/interpret.h"
#include "ir/print.h"
#include "runtime/parallelism.h"

namespace sinter {

namespace {

template <class F>
double minimum(int repeats, F&& f) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, since(start));
  }
  return best;
}

/// Minimum seconds of each node of the optimized graph when the interpreter runs it.
std::vector<double> node_seconds(const CompiledGraph& compiled, std::span<const Tensor* const> in, int repeats) {
  const Traced shown{compiled.graph, compiled.traced.cells, compiled.traced.captured};
  std::vector<double> seconds(compiled.graph.size(), std::numeric_limits<double>::infinity());
  for (int i = 0; i < repeats; ++i) {
    std::vector<Tensor> values = leaf_values(shown, in);
    interpret(compiled.graph, values,
              {.sizes = sizes_of(compiled.graph, in), .observer = [&](ir::NodeId id, double s) { seconds[id] = std::min(seconds[id], s); }});
  }
  return seconds;
}

/// Each kernel group's share of a step's time, as a share of its seconds on all threads; and how well the kernels fit more threads.
void add_kernels(TimeReport& report, const CompiledGraph& compiled, std::span<const Tensor* const> in, StepCore::Impl& step, int repeats) {
  Variant profiled(std::make_shared<CompiledGraph>(
      compile_graph(compiled.traced, {.profile = true, .settings = step.compile_settings(), .log = step.options.log})));
  std::vector<Tensor> outputs(profiled.output_count());
  std::vector<std::atomic<std::uint64_t>> spent(profiled.compiled().image.kernels.size());
  profiled.executor().observe([&](const runtime::Span& span) { spent[span.kernel] += span.stop - span.start; });
  for (int i = 0; i < repeats; ++i) profiled.run(in, outputs, step.options.threads, step.options.force);
  const double total = std::accumulate(spent.begin(), spent.end(), 0.0);
  std::vector<double>& seconds = report.kernel_seconds;
  for (std::size_t i = 0; i < spent.size(); ++i) {
    const std::int32_t group = profiled.compiled().report.kernel_groups[i];
    if (group < 0) continue;
    seconds.resize(std::max(seconds.size(), static_cast<std::size_t>(group) + 1));
    seconds[static_cast<std::size_t>(group)] += static_cast<double>(spent[i]) / total * report.graph_seconds * profiled.executor().last_threads();
  }
  const StepImage& image = profiled.executor().image();
  const std::vector<double> measured(spent.begin(), spent.end());
  for (const int threads : {16, 64}) {
    const runtime::Parallelism found = runtime::parallelism(image, sizes_of(compiled.graph, in), threads, measured);
    report.parallelism.push_back({threads, found.busy_threads, image.kernels.empty() ? "" : image.kernels[found.kernel].name});
  }
}

}  // namespace

TimeReport measure(StepCore::Impl& step, std::span<const Tensor* const> in, int repeats) {
  Variant& variant = step.variant_for(in);
  const CompiledGraph& compiled = variant.compiled();
  const CellSnapshot saved(compiled.traced.cells);
  TimeReport report;
  report.compile_seconds = compiled.seconds();
  std::vector<Tensor> outputs(variant.output_count());
  variant.run(in, outputs, step.options.threads, step.options.force);  // detaches the saved state
  report.graph_seconds = minimum(repeats, [&] { variant.run(in, outputs, step.options.threads, step.options.force); });
  report.eager_seconds = minimum(repeats, [&] { (void)step.run_eagerly(in); });
  add_kernels(report, compiled, in, step, repeats);
  saved.restore();
  const std::vector<double> seconds = node_seconds(compiled, in, repeats);
  const auto names = ir::printed_names(compiled.graph);
  std::multimap<int, TimeReport::Row> by_kernel;
  for (const ir::NodeId id : compiled.graph.topological_order()) {
    const ir::Node& node = compiled.graph.node(id);
    if (ir::is_leaf(node.op) || node.kernel == ir::inlined) continue;
    const std::string origin = node.origin.text();
    const std::string text = str(names[id], " = ", ir::name(node.op), " ", node.type, origin.empty() ? "" : "   # ", origin);
    by_kernel.insert({node.kernel, {text, node.origin.layer, node.kernel, seconds[id]}});
  }
  for (auto& [kernel, row] : by_kernel) report.rows.push_back(std::move(row));
  return report;
}

std::vector<TimeReport::Layer> TimeReport::layers() const {
  std::vector<double> eager_of_kernel(kernel_seconds.size());
  const auto kernel_of = [&](const Row& row) { return static_cast<std::size_t>(row.kernel); };  // -1: beyond all
  for (const Row& row : rows)
    if (kernel_of(row) < eager_of_kernel.size()) eager_of_kernel[kernel_of(row)] += row.eager_seconds;
  std::map<std::string, Layer> sums;
  for (const Row& row : rows) {
    Layer& layer = sums[row.layer];
    layer.name = row.layer;
    layer.eager_seconds += row.eager_seconds;
    if (const std::size_t k = kernel_of(row); k < kernel_seconds.size() && eager_of_kernel[k] > 0)
      layer.graph_seconds += kernel_seconds[k] * row.eager_seconds / eager_of_kernel[k];
  }
  std::vector<Layer> result;
  for (auto& [name, layer] : sums) result.push_back(std::move(layer));
  std::sort(result.begin(), result.end(), [](const Layer& a, const Layer& b) {
    return std::tie(b.graph_seconds, b.eager_seconds, a.name) < std::tie(a.graph_seconds, a.eager_seconds, b.name);
  });
  return result;
}

std::string TimeReport::details() const {
  TextStream out;
  out << std::fixed << std::setprecision(1) << " kernel   graph us   eager us  node\n";
  int last = -1;
  for (const Row& row : rows) {
    const bool first = row.kernel != last;
    last = row.kernel;
    if (first) out << std::setw(7) << last;
    else out << "       ";
    const auto k = static_cast<std::size_t>(last);
    if (first && k < kernel_seconds.size()) out << std::setw(11) << kernel_seconds[k] * 1e6;
    else out << "           ";
    out << std::setw(11) << row.eager_seconds * 1e6 << "  " << row.node << "\n";
  }
  return out.str();
}

std::ostream& operator<<(std::ostream& stream, const TimeReport& report) {
  std::ostringstream out;  // its own flags and precision: the stream's are the user's
  out << std::fixed << std::setprecision(1) << "eager " << report.eager_seconds * 1e6 << " us, graph " << report.graph_seconds * 1e6 << " us ("
      << std::setprecision(2) << report.speedup() << "x), compile " << std::setprecision(1) << report.compile_seconds * 1e3 << " ms\n";
  for (const TimeReport::Parallelism& at : report.parallelism)
    out << (&at == report.parallelism.data() ? "parallelism: " : ", ") << at.busy << " at " << at.threads
        << (&at == report.parallelism.data() ? " threads" : "");
  if (!report.parallelism.empty()) out << "\n";
  for (const TimeReport::Parallelism& at : report.parallelism)
    if (at.busy < 0.75 * at.threads) out << "  at " << at.threads << " threads, the others wait for: " << at.kernel << "\n";
  out << "  graph us   eager us  layer\n";
  for (const TimeReport::Layer& layer : report.layers()) {
    if (report.kernel_seconds.empty()) out << "          ";
    else out << std::setw(10) << layer.graph_seconds * 1e6;
    out << std::setw(11) << layer.eager_seconds * 1e6 << "  " << (layer.name.empty() ? "(outside of layers)" : layer.name) << "\n";
  }
  return stream << out.str();
}

}  // namespace sinter
