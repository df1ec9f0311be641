#include "codegen/kernels/unpadded_rows.h"

#include <algorithm>
#include <map>

#include "codegen/emit/emitter.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// A row that is the same for all rows of a shape.
bool is_row(const Shape& shape, const Shape& of) { return shape.rank() && shape.back() == of.back() && shape.product(0, shape.rank() - 1) == Dim(1); }

class UnpaddedRows {
 public:
  explicit UnpaddedRows(Emitter& e) : e_(e), b_(e.builder()), columns_(symbolic_layout(e.kernel().shape).cols.factor()) {}

  void emit() {
    for (const ir::NodeId id : e_.kernel().nodes)
      for (const ir::NodeId input : e_.graph().node(id).inputs)
        if (const Shape& shape = e_.type_of(input).shape; !e_.kernel().has(input) && shape != e_.kernel().shape && shape.elements() != Dim(1))
          keep(input);
    const Rows rows = e_.rows();
    Value *first = b_.CreateMul(rows.first, e_.number(columns_)), *last = b_.CreateMul(rows.last, e_.number(columns_));
    Value* fills_a_vector = b_.CreateICmpSGE(b_.CreateSub(last, first), e_.number(lanes));
    e_.when(fills_a_vector, [&] {
      Value* whole = e_.for_each_vector(first, last, 1, [&](Value* element, unsigned) { store(element, lanes); });
      // The last vector computes elements of the one before again.
      e_.when(b_.CreateICmpNE(whole, last), [&] { store(b_.CreateSub(last, e_.number(lanes)), lanes, true); });
    });
    e_.when(b_.CreateNot(fills_a_vector), [&] { e_.loop(first, last, 1, [&](Value* element) { store(element, 1, true); }); });
    e_.note(str("rows of ", columns_, " elements, in vectors across rows"));
  }

 private:
  /// Keeps a row that is the same for all, over and over until a vector from its last column ends.
  void keep(ir::NodeId id) {
    if (rows_.contains(id)) return;
    const Type& type = e_.type_of(id);
    llvm::Type* element = e_.memory_type(type.dtype, 1);
    llvm::AllocaInst* row = e_.variable(llvm::ArrayType::get(element, static_cast<std::uint64_t>(columns_ + lanes - 1)), "row", 64);
    e_.loop(e_.number(0), e_.number(columns_ + lanes - 1), 1, [&](Value* i) {
      Memo memo;
      Value* x = e_.evaluate(id, e_.kernel().shape, {e_.number(0), b_.CreateURem(i, e_.number(columns_)), 1, 1}, memo).value;
      b_.CreateStore(type.dtype == DType::boolean ? b_.CreateZExt(x, element) : x, b_.CreateInBoundsGEP(element, row, {i}));
    });
    rows_.emplace(id, row);
  }

  /// Elements from `element` on. A chunk begins with a row: where rows fill vectors, its whole vectors begin with the first column, but for those
  /// that are `anywhere`.
  void store(Value* element, unsigned width, bool anywhere = false) {
    Value* column = !anywhere && lanes % columns_ == 0 ? e_.number(0) : b_.CreateURem(element, e_.number(columns_));
    Memo known;
    for (const auto& [id, row] : rows_) {
      const DType dtype = e_.type_of(id).dtype;
      known[id] = e_.load(b_.CreateInBoundsGEP(e_.memory_type(dtype, 1), row, {column}), dtype, width);
    }
    e_.store_results_at({e_.number(0), element, width, width}, std::move(known));
  }

  Emitter& e_;
  Builder& b_;
  const std::int64_t columns_;
  std::map<ir::NodeId, llvm::AllocaInst*> rows_;
};

}  // namespace

bool are_unpadded_rows(const ir::Graph& graph, const Schedule& schedule, const Kernel& kernel) {
  const Shape& rows = kernel.shape;
  if (!kernel.is<Kernel::Group>() || kernel.anchor != ir::no_node || kernel.mask || kernel.counts_elements() || is_flat(rows)) return false;
  const auto is_unpadded = [&](ValueId value) { return schedule.values[value].unpadded && schedule.values[value].type.shape == rows; };
  const auto lies_so = [&](ir::NodeId id) {
    const Shape& shape = graph.node(id).type.shape;
    if (kernel.has(id) || shape.elements() == Dim(1)) return true;
    return shape == rows ? !schedule.facts.recomputable[id] && is_unpadded(schedule.value_of[id]) : is_row(shape, rows);
  };
  return std::all_of(kernel.writes.begin(), kernel.writes.end(), [&](const Write& write) { return is_unpadded(write.value); }) &&
         std::all_of(kernel.nodes.begin(), kernel.nodes.end(), [&](ir::NodeId id) {
           const ir::Node& node = graph.node(id);
           return ir::is_pointwise(node.op) && std::all_of(node.inputs.begin(), node.inputs.end(), lies_so);
         });
}

void emit_unpadded_rows(Emitter& e) { UnpaddedRows(e).emit(); }

}  // namespace sinter::codegen
