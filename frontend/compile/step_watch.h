// Measures the calls of a step for StepTimes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "frontend/compile/step.h"
#include "frontend/compile/step_times.h"
#include "frontend/compile/variant.h"

namespace sinter {

/// The parts of a graph and their arithmetic.
struct WatchedGraph {
  std::vector<TrainingPart> parts;
  ByPart<ir::Cost> flops;
  explicit WatchedGraph(const ir::Graph& graph) : parts(parts_of(graph)), flops(flops_by_part(graph, parts)) {}
};

/// The kernels of a variant that was compiled for profiling, which must outlive this. Their times go here instead of to a Chrome trace.
class KernelWatch {
 public:
  explicit KernelWatch(Variant& variant);
  /// Adds the call that `run` makes.
  void time(StepTimes& into, Sizes sizes, const std::function<void()>& run);

 private:
  void add(StepTimes& into, double call_seconds);

  Variant& variant_;
  WatchedGraph graph_;
  Sizes sizes_ = 0;                                ///< that shares_ are for
  std::vector<ByPart<double>> shares_;             ///< by kernel group
  std::vector<std::atomic<std::uint64_t>> spent_;  ///< by kernel, of this call, in nanoseconds on all threads
  std::atomic<std::uint64_t> first_, last_;        ///< the first start and the last stop of a kernel in this call
};

/// A step that is being observed.
class StepWatch {
 public:
  explicit StepWatch(StepTimes& into) : into_(into) {}
  StepTimes& times() { return into_; }

  void add(Variant& variant) { kernels_[&variant] = std::make_unique<KernelWatch>(variant); }
  void time(const Variant& variant, Sizes sizes, const std::function<void()>& run) { kernels_.at(&variant)->time(into_, sizes, run); }
  /// Adds a call that ran line by line; `trace` records what it does on inputs of these types.
  void add_eager(std::span<const Tensor* const> in, double seconds, const std::vector<Spec>& specs, const std::function<Traced()>& trace);
  /// Takes the seconds of a node that the interpreter ran.
  std::function<void(ir::NodeId, double)> observer(const ir::Graph& graph);

  std::vector<std::unique_ptr<Variant>> unwatched;  ///< the step's variants that are not compiled for profiling, kept until the end

 private:
  StepTimes& into_;
  std::unordered_map<const Variant*, std::unique_ptr<KernelWatch>> kernels_;
  struct Eager {
    std::vector<Spec> specs;
    ir::Graph graph;  ///< optimized
    WatchedGraph watched;
  };
  std::optional<Eager> eager_;  ///< what the last eager call did
};

}  // namespace sinter
