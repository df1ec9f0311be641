// The words in which kernels are written. A kernel is one LLVM function:
//   void kernel_k(ptr noalias buffer..., i64 begin, i64 end, i64 chunk, i64 piece_begin, i64 piece_end, i64 n, i64 t, ptr ctx)
// (of a checked step also ptr KernelCheck) over the units [begin, end) of its domain; of a single sample over its pieces [piece_begin, piece_end),
// else over all of them.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "codegen/emit/context.h"
#include "codegen/vec.h"

namespace sinter::codegen {

/// Lanes of the virtual vector: the same on every target, so that sums have the same bytes.
inline constexpr unsigned lanes = 16;

/// Elements of the tensors over which a kernel runs: `width` adjacent ones from (row, last), of which the first `valid` exist. The row is that
/// of the shape's row view; for a vector over the batch the row is 0 and `last` counts.
struct Site {
  llvm::Value *row, *last;
  unsigned width = 1, valid = 1;
  unsigned turn = 0;  ///< number of the site within one iteration of an unrolled loop
};

/// [first, last): of rows of tensors, or of columns.
struct Range {
  llvm::Value *first, *last;
};
using Rows = Range;

/// Values of nodes at a site that are computed already.
using Memo = std::map<ir::NodeId, Vec>;

/// Whether the tensors are one column, whose rows lie in the lanes of a vector.
bool is_flat(const Shape& shape);

class Emitter {
 public:
  using Body = std::function<void(llvm::Value*)>;
  using SiteBody = std::function<void(const Site&)>;

  /// `section`: one of ScanPlan::sections(), instead of the whole kernel.
  Emitter(EmitContext& context, const Kernel& kernel, std::optional<std::size_t> section = {});
  /// The function without its body: kernels of a step may lie in several modules.
  llvm::Function* declare();
  /// The function of a kernel of the step of this loop over time, emitted where it is asked for first; it is called with that kernel's buffers, a
  /// CallRange and add_step_arguments.
  llvm::Function* emit_step_kernel(std::size_t k);
  void add_step_arguments(std::vector<llvm::Value*>& arguments);
  /// The body; after declare().
  void emit();

  // ---- what is emitted ----
  EmitContext& context() const { return context_; }
  const ir::Graph& graph() const { return context_.graph; }
  const Kernel& kernel() const { return kernel_; }
  std::optional<std::size_t> section() const { return section_; }
  const ir::Node& anchor() const { return graph().node(kernel_.anchor); }
  const VectorUnit& unit() const { return context_.unit; }
  Builder& builder() { return builder_; }
  const Type& type_of(ir::NodeId id) const { return graph().node(id).type; }
  ValueId value_of(ir::NodeId id) const { return context_.schedule.value_of[id]; }
  /// The kernel's memory for this purpose; no_value if it has none.
  ValueId memory(Memory::Purpose purpose) const { return kernel_.memory_for(purpose); }
  const StoredValue& stored(ValueId value) const { return context_.schedule.values[value]; }
  /// Whether every kernel that reads the node computes it for itself.
  bool recomputable(ir::NodeId id) const { return context_.schedule.facts.recomputable[id]; }
  /// Adds a line to explain().
  void note(std::string text);

  // ---- the part of the domain that a call has ----
  llvm::Value* begin() const { return begin_; }
  llvm::Value* end() const { return end_; }
  llvm::Value* chunk() const { return chunk_; }
  llvm::Value* piece_begin() const { return piece_begin_; }
  llvm::Value* piece_end() const { return piece_end_; }
  /// Its rows of tensors of the kernel's shape.
  Rows rows();
  /// Its indices along the first axes of that shape, where chunks are samples or there is one.
  Rows indices(std::size_t axes);
  /// From the first step that the kernel's mask has of a sample to the one behind the last; none: both are the same.
  Range masked_steps(llvm::Value* sample);
  /// Of rows that are steps of samples, one behind the other: calls body for each sample with those of its rows that are among them, and with those
  /// of these from the first to the last that the kernel's mask has.
  void for_each_masked_sample(Rows rows, const std::function<void(Rows all, Rows masked)>& body);

  // ---- numbers and control flow ----
  llvm::Value* number(std::int64_t value) const;
  llvm::Value* extent(Dim dim);
  /// Units of a loop's chunks.
  llvm::Value* chunk_units(const Loop& loop);
  void loop(llvm::Value* begin, llvm::Value* end, std::int64_t step, const Body& body);
  void when(llvm::Value* condition, const std::function<void()>& body);
  void repeat_while(const std::function<llvm::Value*()>& condition, const std::function<void()>& body);
  llvm::AllocaInst* variable(llvm::Type* type, const char* name, unsigned alignment = 0);
  /// A field of the StepContext.
  llvm::Value* field(std::size_t offset, llvm::Type* type);
  /// Reports to the launcher that this node met an index out of range.
  void fault(ir::NodeId node);

  // ---- iteration ----
  /// Calls body for every block of these rows: vectors, or single elements if `scalar`.
  void for_each_site(const Shape& shape, Rows rows, bool scalar, const SiteBody& body, const Body& at_row = {}, unsigned unroll = 1);
  /// The same for one row.
  void for_each_block(const Shape& shape, llvm::Value* row, bool scalar, const SiteBody& body, unsigned unroll = 1);
  /// The same for columns [first, last) of it: `first` is a multiple of the lanes, and so is `last`, or it is the end of the row.
  void for_each_block_of(const Shape& shape, llvm::Value* row, Range columns, const SiteBody& body, unsigned unroll = 1);
  /// Whole vectors of [begin, end), `unroll` per iteration while there are so many. Returns the end of the last one.
  llvm::Value* for_each_vector(llvm::Value* begin, llvm::Value* end, unsigned unroll, const std::function<void(llvm::Value*, unsigned)>& body);

  // ---- memory ----
  llvm::Type* memory_type(DType dtype, unsigned width) const;
  llvm::Value* pointer(ValueId value);
  /// For flat shapes the row is ignored and `last` counts rows.
  llvm::Value* address(ValueId value, llvm::Value* row, llvm::Value* last);
  /// The address of element number `element` in row-major order.
  llvm::Value* element_address(ValueId value, llvm::Value* element);
  Vec load(llvm::Value* address, DType dtype, unsigned width, bool repeat = false);
  /// A vector of which only some lanes are read (a vector of i1 says which); the others are 0.
  Vec load_lanes(llvm::Value* address, DType dtype, llvm::Value* lanes);
  void store(const Vec& x, ValueId value, const Site& site);

  // ---- values ----
  /// The node at a site of the tensors of shape `rows`; `memo` has what was computed before.
  Vec evaluate(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo);
  Vec evaluate_scalar(ir::NodeId id);
  /// A vector of what `element` computes for each lane of a site.
  Vec each_lane(const Site& site, DType dtype, const std::function<Vec(const Site&)>& element);
  /// A stored value at a site of tensors with whose shape its own broadcasts.
  Vec load_operand(ValueId value, const Shape& rows, const Site& site);
  /// Stores the kernel's results at every site of the rows, and zeros in the padding. `anchor`: that node's value at a site; without it, it is
  /// evaluated like others. `scalar`: at single elements, which may be the units of the domain.
  void store_results(Rows rows, bool scalar = false, const std::function<Vec(const Site&)>& anchor = {}, const Body& at_row = {});
  /// The same at one site.
  void store_results_at(const Site& site, const Vec* anchor = nullptr);
  /// The same where `known` has values of nodes at the site.
  void store_results_at(const Site& site, Memo known);
  /// The same for columns [first, last) of a row; whole vectors from `first`, up to the last column or to a multiple of them.
  void store_results_of_row(llvm::Value* row, llvm::Value* first, llvm::Value* last);
  /// Stores zeros in these rows of a value.
  void store_zeros(ValueId value, Rows rows);

 private:
  /// What the kernel computes, for the rows of steps that its mask has, sample after sample.
  void emit_masked_steps();
  bool computes(ir::NodeId id) const;
  Vec perturbed(ir::NodeId id, const Vec& x);
  void zero_pads(llvm::Value* row);
  std::size_t kernel_number() const { return static_cast<std::size_t>(&kernel_ - context_.schedule.kernels.data()); }

  EmitContext& context_;
  const Kernel& kernel_;
  std::optional<std::size_t> section_;
  Builder builder_;
  std::vector<std::uint32_t> arguments_;  ///< buffers, in the order of the function's pointers
  llvm::Function* function_ = nullptr;
  std::optional<Rows> masked_rows_;  ///< while a kernel with a mask is emitted: those of a sample's steps
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *chunk_ = nullptr, *piece_begin_ = nullptr, *piece_end_ = nullptr, *n_ = nullptr, *t_ = nullptr,
              *ctx_ = nullptr;
};

}  // namespace sinter::codegen
