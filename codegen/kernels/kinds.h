// The kinds of kernels. Each says which ops it computes, what their groups need beside their operands, and is their code. An op that no kind
// computes stops the build.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "codegen/planner.h"
#include "codegen/schedule.h"
#include "ir/graph.h"

namespace sinter::codegen {

class Emitter;
struct Site;
struct Vec;

using ir::is_one_of;

class KernelKind {
 public:
  /// Adds the kernel of a group to a schedule with what it needs: memory, a kernel that packs an operand before it, one that combines its parts
  /// after it.
  virtual void plan(Planner& planner, Kernel kernel) const { planner.add(std::move(kernel)); }
  /// Changes the chunks of the loop that the kernel is in, where its kind wants larger or fewer ones.
  virtual void limit(const ir::Graph&, const Kernel&, const Domain& /*of the loop*/, ChunkLimits&) const {}
  /// How the code of a kernel leaves out the padding of sequences.
  enum class Skips : std::uint8_t {
    nothing,
    rows,    ///< it is emitted for those rows that are none: all its results are rows over the steps, as Emitter::rows() says
    itself,  ///< it heeds Kernel::mask
  };
  virtual Skips skips_padding(const ir::Graph&, const Kernel&) const { return Skips::nothing; }
  /// The code of any of these.
  virtual void emit(Emitter& e) const = 0;
  /// The anchor's result at a site, for what follows it in the kernel.
  virtual Vec element(Emitter& e, ir::NodeId anchor, const Site& site) const;

 protected:
  ~KernelKind() = default;  // there is one object of each, which lives for ever
};

/// Nothing but elementwise ops.
class PointwiseKernel : public KernelKind {
 public:
  Skips skips_padding(const ir::Graph&, const Kernel& kernel) const override;
  template <class O>
  static constexpr bool computes = ir::IsElementwise<O> || ir::IsLeaf<O> || is_one_of<O, ir::Constant, ir::Extent, ir::Broadcast, ir::Iota>;
  void plan(Planner& planner, Kernel kernel) const override;
  void emit(Emitter& e) const override;
};

/// Each element from elements of the operands whose places are known beforehand or read from an index. What follows uses them as they are loaded.
class IndexedKernel final : public PointwiseKernel {
 public:
  template <class O>
  static constexpr bool computes = ir::IsMovement<O> || is_one_of<O, ir::OneHot, ir::ScatterAddAlong, ir::ExactTotal>;
  Vec element(Emitter& e, ir::NodeId anchor, const Site& site) const override;
};

/// Each element from those of its window, or from the windows that contain it.
class PoolKernel final : public PointwiseKernel {
 public:
  template <class O>
  static constexpr bool computes = ir::IsPool<O> || ir::IsUnpool<O>;
  void plan(Planner& planner, Kernel kernel) const override;
  void emit(Emitter& e) const override;
  Vec element(Emitter& e, ir::NodeId anchor, const Site& site) const override;
};

/// The result is collected in memory before what follows runs over it.
class CollectedKernel : public KernelKind {
 public:
  Vec element(Emitter& e, ir::NodeId anchor, const Site& site) const override;

 protected:
  /// Adds that memory.
  static void plan_memory(Planner& planner, Kernel& kernel);
  /// The same for kernels that write no row before they have collected it, and none but their own: a result of that type is collected where it will
  /// be.
  static void plan_memory_in_place(Planner& planner, Kernel& kernel);
  /// Makes the chunks samples, if the anchor's are independent; else there is one.
  static void plan_samples(const Planner& planner, Kernel& kernel);
};

class ProductKernel final : public CollectedKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Matmul, ir::Dense, ir::BatchMatmul>;
  void plan(Planner& planner, Kernel kernel) const override;
  void limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const override;
  Skips skips_padding(const ir::Graph& graph, const Kernel& kernel) const override;
  void emit(Emitter& e) const override;
  Vec element(Emitter& e, ir::NodeId anchor, const Site& site) const override;
};

/// And its adjoint in the image.
class ConvolutionKernel final : public CollectedKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Conv2D, ir::Conv2DTranspose>;
  void plan(Planner& planner, Kernel kernel) const override;
  void limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const override;
  void emit(Emitter& e) const override;
};

/// All rows of a chunk are collected first.
class CollectedFirstKernel : public CollectedKernel {
 public:
  void plan(Planner& planner, Kernel kernel) const override;
  void emit(Emitter& e) const override;

 protected:
  virtual void collect(Emitter& e) const = 0;
};

class ScatterKernel final : public CollectedFirstKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::ScatterAddRows>;
  void plan(Planner& planner, Kernel kernel) const override;
  void limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const override;
  Skips skips_padding(const ir::Graph&, const Kernel&) const override { return Skips::itself; }
  void emit(Emitter& e) const override;
  /// Adds memory for the number of updates of each row, if the kernel has none yet.
  static void plan_counts(Planner& planner, Kernel& kernel);

 protected:
  void collect(Emitter& e) const override;
};

class CumulativeSumKernel final : public CollectedFirstKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Cumsum>;

 protected:
  void collect(Emitter& e) const override;
};

class TopKKernel final : public CollectedFirstKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::TopK>;
  void plan(Planner& planner, Kernel kernel) const override;

 protected:
  void collect(Emitter& e) const override;
};

/// The adjoint of a convolution in its kernel: a sum over samples as large as a weight, parts in slots, then their sum and what follows; or, of a
/// large kernel, a product whose rows are divided.
class ConvolutionWeightKernel final : public CollectedKernel {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Conv2DWeight>;
  void plan(Planner& planner, Kernel kernel) const override;
  void limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const override;
  void emit(Emitter& e) const override;
};

/// Softmax and its logarithm.
class SoftmaxKernel final : public KernelKind {
 public:
  Skips skips_padding(const ir::Graph&, const Kernel& kernel) const override;
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Softmax, ir::LogSoftmax>;
  void plan(Planner& planner, Kernel kernel) const override;
  void emit(Emitter& e) const override;
};

class ArgmaxKernel final : public KernelKind {
 public:
  template <class O>
  static constexpr bool computes = is_one_of<O, ir::Argmax>;
  void emit(Emitter& e) const override;
};

/// Sums, maxima and products along axes. Those of many numbers to one are split: a slot a chunk.
class ReductionKernel final : public KernelKind {
 public:
  template <class O>
  static constexpr bool computes = ir::IsReduction<O>;
  /// Whether rows are added to each other in all columns together.
  static bool adds_row_after_row(const ir::Graph& graph, const Kernel& kernel);
  /// Whether several rows of few columns that follow each other in memory are added to each other.
  static bool adds_short_rows(const ir::Graph& graph, const Schedule& schedule, const Kernel& kernel);
  /// How many partial ones a kernel may compute together: their sums are in registers, or in the first-level cache.
  static std::size_t most_together(const ir::Graph& graph, const Kernel& kernel);
  void plan(Planner& planner, Kernel kernel) const override;
  Skips skips_padding(const ir::Graph& graph, const Kernel& kernel) const override;
  void emit(Emitter& e) const override;
};

/// A loop over time.
class ScanKernel final : public KernelKind {
 public:
  template <class O>
  static constexpr bool computes = ir::IsScan<O>;
  void plan(Planner& planner, Kernel kernel) const override;
  Skips skips_padding(const ir::Graph&, const Kernel& kernel) const override { return kernel.is<Kernel::Pack>() ? Skips::nothing : Skips::itself; }
  void limit(const ir::Graph& graph, const Kernel& kernel, const Domain& domain, ChunkLimits& limits) const override;
  void emit(Emitter& e) const override;
};

using KernelKinds = std::tuple<PointwiseKernel, IndexedKernel, PoolKernel, ScatterKernel, CumulativeSumKernel, TopKKernel, ProductKernel,
                               ConvolutionKernel, ConvolutionWeightKernel, SoftmaxKernel, ArgmaxKernel, ReductionKernel, ScanKernel>;

template <class Kind>
inline constexpr Kind the_kind{};

/// The kind that computes an op.
template <class O>
constexpr const KernelKind& kind_for() {
  return []<class... Kinds>(std::type_identity<std::tuple<Kinds...>>) -> const KernelKind& {
    static_assert((Kinds::template computes<O> + ... + 0) > 0,
                  "the code generator has no kernel for this op (see O): write one in codegen/kernels and list the op in codegen/kernels/kinds.h");
    static_assert((Kinds::template computes<O> + ... + 0) < 2, "several kinds of kernels compute this op (see O)");
    const KernelKind* found = &the_kind<PointwiseKernel>;
    ((Kinds::template computes<O> ? void(found = &the_kind<Kinds>) : void()), ...);
    return *found;
  }(std::type_identity<KernelKinds>{});
}
const KernelKind& kind_of(const ir::Op& op);

}  // namespace sinter::codegen
