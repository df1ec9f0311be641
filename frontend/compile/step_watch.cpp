#include "frontend/compile/step_watch.h"

#include <algorithm>
#include <chrono>

#include "frontend/compile/settings.h"
#include "frontend/core/clock.h"
#include "runtime/team.h"

namespace sinter {

namespace {

constexpr double nanosecond = 1e-9;

void add_flops(StepTimes& into, const WatchedGraph& graph, Sizes sizes) {
  for (std::size_t p = 0; p < graph.flops.size(); ++p) into.flops[p] += graph.flops[p].at(sizes);
}

}  // namespace

KernelWatch::KernelWatch(Variant& variant) : variant_(variant), graph_(variant.compiled().graph), spent_(variant.compiled().image.kernels.size()) {
  variant.executor().observe([this](const runtime::Span& span) {
    spent_[span.kernel].fetch_add(span.stop - span.start, std::memory_order_relaxed);
    std::uint64_t first = first_.load(std::memory_order_relaxed), last = last_.load(std::memory_order_relaxed);
    while (span.start < first && !first_.compare_exchange_weak(first, span.start, std::memory_order_relaxed)) {
    }
    while (span.stop > last && !last_.compare_exchange_weak(last, span.stop, std::memory_order_relaxed)) {
    }
  });
}

void KernelWatch::time(StepTimes& into, Sizes sizes, const std::function<void()>& run) {
  for (auto& spent : spent_) spent = 0;
  first_ = ~std::uint64_t{0};
  last_ = 0;
  const auto start = std::chrono::steady_clock::now();
  run();
  const double seconds = since(start);
  if (!(sizes_ == sizes)) shares_ = kernel_shares(variant_.compiled().graph, graph_.parts, sizes);
  sizes_ = sizes;
  add_flops(into, graph_, sizes);
  add(into, seconds);
}

void KernelWatch::add(StepTimes& into, double call_seconds) {
  const int threads = std::max(1, variant_.executor().last_threads());
  into.calls += call_seconds;
  into.threads = std::max(into.threads, threads);
  double busy = 0;
  for (std::size_t k = 0; k < spent_.size(); ++k) {
    const double seconds = static_cast<double>(spent_[k].load()) * nanosecond / threads;
    busy += seconds;
    const std::int32_t group = variant_.compiled().report.kernel_groups[k];
    if (group < 0) into.seconds[static_cast<std::size_t>(TrainingPart::update)] += seconds;  // copies a value to a state
    else
      for (std::size_t p = 0; p < into.seconds.size(); ++p) into.seconds[p] += seconds * shares_[static_cast<std::size_t>(group)][p];
  }
  if (last_ > first_) into.waiting += std::max(0.0, static_cast<double>(last_ - first_) * nanosecond - busy);
}

void StepWatch::add_eager(std::span<const Tensor* const> in, double seconds, const std::vector<Spec>& specs, const std::function<Traced()>& trace) {
  if (!eager_ || eager_->specs != specs) {
    ir::Graph graph = trace().graph;
    (void)optimize_graph(graph, settings(), sizes_of(graph, in));
    const WatchedGraph watched(graph);
    eager_.emplace(Eager{specs, std::move(graph), watched});
  }
  add_flops(into_, eager_->watched, sizes_of(eager_->graph, in));
  into_.calls += seconds;
  into_.threads = std::max(into_.threads, runtime::default_threads());
}

std::function<void(ir::NodeId, double)> StepWatch::observer(const ir::Graph& graph) {
  return [this, parts = parts_of(graph)](ir::NodeId id, double seconds) { into_.seconds[static_cast<std::size_t>(parts[id])] += seconds; };
}

}  // namespace sinter
