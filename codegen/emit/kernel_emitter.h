// Emits one kernel as one LLVM function:
//   void kernel_k(ptr noalias buffer..., i64 begin, i64 end, i64 chunk, i64 piece_begin, i64 piece_end, i64 n, ptr ctx)
// (of a checked step also ptr KernelCheck) over the units [begin, end) of its domain; of a single sample over its pieces [piece_begin, piece_end),
// else over all of them.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <optional>

#include "codegen/instrument/check.h"
#include "codegen/instrument/sabotage.h"
#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/memory_plan.h"
#include "codegen/schedule.h"
#include "codegen/vec.h"

namespace sinter::codegen {

/// Lanes of the virtual vector: the same on every target, so that sums have the same bytes.
inline constexpr unsigned lanes = 16;

struct EmitContext;

/// An innermost function that several kernels call: its approximate number of instructions, and the emitter of its body. Modules only declare
/// those that they call; each is then defined in one of them.
struct SharedFunction {
  std::size_t size;
  std::function<void(EmitContext&)> define;
};

/// What kernels of a step share.
struct EmitContext {
  llvm::Module& module;
  const ir::Graph& graph;
  const Schedule& schedule;
  const MemoryPlan& plan;
  ir::NodeId fault = ir::no_node;  ///< node to perturb
  VectorUnit unit;                 ///< registers of the target
  bool named = false;              ///< functions can be looked up by name, for a profiler
  bool checked = false;            ///< accesses to memory are checked (codegen/instrument/check.h)
  Sabotage sabotage;
  std::vector<std::pair<std::size_t, std::string>> notes;  ///< by kernel, the tiles that were chosen, for explain()
  std::map<std::string, SharedFunction> shared;            ///< those that the kernels of this module call, by name
};

/// The declaration of a shared function in this module, made at the first call.
llvm::Function* declare_shared(EmitContext& context, const std::string& name, llvm::FunctionType* type, std::size_t size,
                               const std::function<void(EmitContext&)>& define);

/// chunk_of (ir/step.h) in IR.
llvm::Value* emit_chunk_units(Builder& builder, llvm::Value* units, const ChunkLimits& limits);

/// Elements of the tensors over which a kernel runs: `width` adjacent ones from (row, last), of which the first `valid` exist. The row is that
/// of the shape's row view; for a vector over the batch the row is 0 and `last` counts.
struct Site {
  llvm::Value *row, *last;
  unsigned width = 1, valid = 1;
  unsigned turn = 0;  ///< number of the site within one iteration of an unrolled loop
};

/// Combines two values of a reduction.
enum class Combine : std::uint8_t { sum, max, prod };
/// The neutral element.
double identity(Combine how, DType dtype);

class KernelEmitter {
 public:
  KernelEmitter(EmitContext& context, const Kernel& kernel);
  /// The function without its body: kernels of a step may lie in several modules.
  llvm::Function* declare();
  /// The body; after declare().
  void emit();
  /// Buffers in the order of the function's pointer arguments.
  const std::vector<std::uint32_t>& arguments() const { return arguments_; }

 private:
  friend class ProductEmitter;  // codegen/kernels/product.cpp
  friend class ImageWords;      // codegen/kernels/image_copy.h
  friend class ImageCopy;
  friend class ConvolutionEmitter;  // codegen/kernels/convolution.cpp
  friend class WinogradEmitter;     // codegen/kernels/winograd.cpp
  using Body = std::function<void(llvm::Value*)>;
  using Memo = std::map<ir::NodeId, Vec>;

  // ---- kinds of kernels (codegen/kernels) ----
  void emit_nodes();
  void emit_pointwise();
  void emit_product();
  void emit_pack();
  void emit_collected();
  std::pair<llvm::Value*, llvm::Value*> all_rows();
  void emit_epilogue(llvm::Value* first, llvm::Value* last);
  void emit_epilogue_of_row(llvm::Value* row, llvm::Value* first, llvm::Value* last);
  void collect(const ir::ScatterAddRows& op);
  void collect(const ir::Cumsum& op);
  void collect(const ir::TopK& op);
  void collect(const ir::BatchMatmul& op);
  std::pair<llvm::Value*, llvm::Value*> places_along(std::size_t axes);
  void run_gemm(llvm::Value* a, llvm::Value* b, llvm::Value* c, llvm::Value* m, const ir::ProductExtents& sizes, Dim lda, Dim ldb, Dim ldc,
                bool transpose_a, bool transpose_b);
  void emit_convolution();
  bool emit_winograd();
  void emit_convolution_pack();
  void emit_convolution_weight();
  void collect_grouped(bool transposed);
  void grouped_weight();
  void emit_softmax(bool logarithm);
  void emit_argmax();
  void emit_reduction();
  void emit_row_reduction();
  void emit_column_reduction();
  void emit_partial();
  void emit_combine();
  void emit_copy();

  std::size_t number() const { return static_cast<std::size_t>(&kernel_ - context_.schedule.kernels.data()); }
  void note(std::string text) { context_.notes.emplace_back(number(), std::move(text)); }

  // ---- control flow ----
  llvm::Value* constant(std::int64_t value) const;
  llvm::Value* extent(Dim dim);
  void loop(llvm::Value* begin, llvm::Value* end, std::int64_t step, const Body& body);
  void when(llvm::Value* condition, const Body& body);
  void repeat_while(const std::function<llvm::Value*()>& condition, const Body& body);

  // ---- iteration ----
  static bool is_flat(const Shape& shape);
  llvm::Value* rows_begin(const Shape& shape);
  llvm::Value* rows_end(const Shape& shape);
  /// Calls body for every block of the rows of this shape: vectors, or single elements if `scalar`.
  void for_each_site(const Shape& shape, llvm::Value* begin, llvm::Value* end, bool scalar, const std::function<void(const Site&)>& body,
                     const Body& at_row = {}, unsigned unroll = 1);
  void for_each_block(const Shape& shape, llvm::Value* row, bool scalar, const std::function<void(const Site&)>& body, unsigned unroll = 1);
  /// Whole vectors of [begin, end), `unroll` per iteration while there are so many. Returns the end of the last one.
  llvm::Value* for_each_vector(llvm::Value* begin, llvm::Value* end, unsigned unroll, const std::function<void(llvm::Value*, unsigned)>& body);

  // ---- values ----
  llvm::Type* memory_type(DType dtype, unsigned width) const;
  llvm::Value* pointer(ValueId value);
  llvm::Value* address(ValueId value, llvm::Value* row, llvm::Value* last);
  llvm::Value* element_address(ValueId value, llvm::Value* element);
  Vec load(llvm::Value* address, DType dtype, unsigned width, bool splat);
  void store(const Vec& x, ValueId value, const Site& site);
  /// The position of a site in an operand that broadcasts with `rows`: its row, its index in the row, and whether one element is used for all
  /// lanes.
  struct Place {
    llvm::Value *row, *last;
    bool repeat;
  };
  Place place_of(const Shape& shape, const Shape& rows, const Site& site);
  Vec load_operand(ValueId value, const Shape& rows, const Site& site);
  bool is_vector_friendly(const Shape& operand, const Shape& rows) const;
  bool needs_scalars(const Shape& rows) const;
  /// Whether whole vectors of this anchor's result are within one vector of its operand.
  bool has_vectors(ir::NodeId anchor) const;
  /// The node at a site of the tensors of shape `rows`; `memo` has what was computed before.
  Vec evaluate(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo);
  Vec evaluate_scalar(ir::NodeId id);
  Vec evaluate_node(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo);
  Vec emit_iota(const Shape& shape, const Shape& rows, const Site& site);
  llvm::Value* lane_numbers(llvm::Value* first, unsigned width);
  Vec load_window(const ir::Window& window, const ir::Node& node, const Site& site, llvm::Value* element);
  Vec virtual_anchor(ir::NodeId id, const Site& site);
  // ---- images [N, H, W, C] ----
  struct Pixel {
    llvm::Value *n, *h, *w, *channel;
  };
  Pixel pixel_of(const Shape& shape, const Site& site);
  Vec load_pixel(ValueId value, llvm::Value* n, llvm::Value* h, llvm::Value* w, llvm::Value* channel, unsigned width);
  Vec load_kernel(ValueId value, const ir::Convolution& c, llvm::Value* place, llvm::Value* channel, llvm::Value* feature, unsigned width);
  /// An index along an axis, 0 if it is out of range, and whether it is in range.
  struct AxisPlace {
    llvm::Value *place, *inside;
  };
  AxisPlace axis_place(const ir::SlidingAxis& axis, llvm::Value* o, llvm::Value* k);
  AxisPlace axis_window(const ir::SlidingAxis& axis, llvm::Value* i, llvm::Value* k);
  void add_product(llvm::AllocaInst* sum, const Vec& a, const Vec& b, llvm::Value* condition, unsigned width);
  void for_each_tap(const ir::Sliding& s, bool backwards, const std::function<void(llvm::Value*, llvm::Value*)>& body);
  Vec load_pool(ir::NodeId id, const Site& site);
  Vec load_unpool(ir::NodeId id, const Site& site);
  llvm::Value* table_rows(ValueId table);
  void report_fault(ir::NodeId node);
  llvm::Value* index_value(const Vec& index);
  Vec checked_index(ir::NodeId node, ir::NodeId index, llvm::Value* element, llvm::Value* rows);
  Vec element_of(ir::NodeId id, llvm::Value* element);
  Site site_of_element(const Shape& shape, llvm::Value* element);
  void store_results(const Shape& rows, const Site& site, Memo& memo);
  void zero_pads(const Shape& shape, llvm::Value* row);
  Vec splat(const Vec& scalar, unsigned width);
  Vec perturbed(ir::NodeId id, const Vec& x);
  Vec horizontal(const Vec& x, Combine how);
  Vec reduce_rows(const Shape& in, llvm::Value* begin, llvm::Value* end);
  llvm::AllocaInst* neutral_variable(Combine how, DType dtype, unsigned width, const char* name);
  llvm::Value* slot_count();
  Vec reduce_two(const Vec& a, const Vec& b, Combine how);
  Vec only_valid(const Vec& x, unsigned valid, double fill);
  llvm::AllocaInst* variable(llvm::Type* type, const char* name, unsigned alignment = 0);
  ValueId value_of(ir::NodeId id) const { return context_.schedule.value_of[id]; }
  const Type& type_of(ir::NodeId id) const { return context_.graph.node(id).type; }

  EmitContext& context_;
  const Kernel& kernel_;
  Builder builder_;
  llvm::Function* function_ = nullptr;
  std::vector<std::uint32_t> arguments_;
  llvm::Value *begin_ = nullptr, *end_ = nullptr, *chunk_ = nullptr, *piece_begin_ = nullptr, *piece_end_ = nullptr, *n_ = nullptr, *ctx_ = nullptr;
};

}  // namespace sinter::codegen
