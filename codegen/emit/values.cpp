// What kernels load, compute and store at a site.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/emit/index.h"
#include "codegen/emit/walk.h"
#include "codegen/kernels/kinds.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

llvm::Type* Emitter::memory_type(DType dtype, unsigned width) const {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::Type* element = is_float(dtype) ? llvm::Type::getFloatTy(llvm) : llvm::IntegerType::get(llvm, static_cast<unsigned>(size_of(dtype) * 8));
  return width == 1 ? element : llvm::FixedVectorType::get(element, width);
}

Value* Emitter::pointer(ValueId value) {
  const auto found = std::find(arguments_.begin(), arguments_.end(), context_.plan.buffer_of[value]);
  if (found == arguments_.end()) throw InternalError("codegen", str("kernel reads value ", stored(value).name, " that the schedule does not list"));
  return function_->getArg(static_cast<unsigned>(found - arguments_.begin()));
}

Value* Emitter::address(ValueId value, Value* row, Value* last) {
  const Type& type = stored(value).type;
  const SymbolicLayout at = stored(value).layout();
  if (const Dim length = stored(value).length; length != Dim(0)) {  // between the samples lie those of the other steps
    const Dim rows = at.rows.is_batch() ? at.rows.per_sample() : quotient(at.rows, type.shape[0]).value();
    if (rows == Dim(1)) row = builder_.CreateMul(row, extent(length), "", true, true);
    else {
      Value* own = extent(rows);
      Value* sample = builder_.CreateMul(builder_.CreateUDiv(row, own), builder_.CreateMul(own, extent(length)));
      row = builder_.CreateAdd(sample, builder_.CreateURem(row, own));
    }
  }
  Value* offset = is_flat(type.shape) ? last : builder_.CreateAdd(builder_.CreateMul(row, extent(at.stride), "", true, true), last, "", true, true);
  return builder_.CreateInBoundsGEP(memory_type(type.dtype, 1), pointer(value), {offset});
}

Value* Emitter::element_address(ValueId value, Value* element) {
  const Type& type = stored(value).type;
  const SymbolicLayout at = stored(value).layout();
  const bool one_row = at.rows == Dim(1) && !(type.shape.rank() && type.shape[0].is_rows());  // a table's rows are not counted in its layout
  if (is_flat(type.shape) || one_row || stored(value).unpadded) return address(value, number(0), element);
  Value* cols = extent(at.cols);
  Value* row = builder_.CreateUDiv(element, cols);
  return address(value, row, builder_.CreateURem(element, cols));
}

Vec Emitter::load(Value* where, DType dtype, unsigned width, bool repeat) {
  Value* raw = builder_.CreateAlignedLoad(memory_type(dtype, repeat ? 1 : width), where, llvm::Align(size_of(dtype)));
  if (dtype == DType::boolean) raw = builder_.CreateICmpNE(raw, llvm::ConstantInt::get(raw->getType(), 0));
  const Vec result(raw, dtype);
  return repeat ? splat(result, width) : result;
}

Vec Emitter::load_lanes(Value* where, DType dtype, Value* lanes) {
  llvm::Type* vector = memory_type(dtype, llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements());
  Value* raw = builder_.CreateMaskedLoad(vector, where, llvm::Align(size_of(dtype)), lanes, llvm::Constant::getNullValue(vector));
  if (dtype == DType::boolean) raw = builder_.CreateICmpNE(raw, llvm::Constant::getNullValue(vector));
  return {raw, dtype};
}

void Emitter::store(const Vec& x, ValueId value, const Site& site) {
  const bool ends_row = site.valid < site.width && stored(value).unpadded;  // the next one follows
  Value* raw = ends_row ? x.value : only_valid(x, site.valid, 0).value;
  if (x.dtype == DType::boolean) raw = builder_.CreateZExt(raw, memory_type(DType::boolean, site.width));
  Value* to = address(value, site.row, site.last);
  const auto store_at = [&](Value* part, unsigned first) {
    builder_.CreateAlignedStore(part, builder_.CreateConstInBoundsGEP1_64(memory_type(x.dtype, 1), to, first), llvm::Align(size_of(x.dtype)));
  };
  if (!ends_row) return store_at(raw, 0);
  for (unsigned first = 0, width = std::bit_floor(site.valid); first < site.valid; first += width, width = std::bit_floor(site.valid - first)) {
    std::vector<int> places(width);
    std::iota(places.begin(), places.end(), static_cast<int>(first));
    store_at(width == 1 ? builder_.CreateExtractElement(raw, first) : builder_.CreateShuffleVector(raw, places), first);
  }
}

Vec Emitter::each_lane(const Site& site, DType dtype, const std::function<Vec(const Site&)>& element) {
  if (site.width == 1) return element(site);
  llvm::Type* vector = memory_type(dtype, site.width);
  llvm::AllocaInst* gathered = variable(vector, "gathered", 64);
  if (site.valid < site.width) builder_.CreateStore(llvm::Constant::getNullValue(vector), gathered);
  loop(number(0), number(site.valid), 1, [&](Value* i) {
    const Vec x = element({site.row, builder_.CreateAdd(site.last, i)});
    Value* raw = dtype == DType::boolean ? builder_.CreateZExt(x.value, memory_type(dtype, 1)) : x.value;
    builder_.CreateStore(raw, builder_.CreateInBoundsGEP(memory_type(dtype, 1), gathered, {i}));
  });
  return load(gathered, dtype, site.width);
}

Vec Emitter::load_operand(ValueId value, const Shape& rows, const Site& site) {
  const Type& type = stored(value).type;
  if (type.shape == rows) return load(address(value, site.row, site.last), type.dtype, site.width);
  const ir::Access access = ir::pointwise_access({&type, 1}, rows, 0);
  if (site.width == 1 || lanes_of(access, 0, rows, type.shape) != Lanes::scattered) return Walk(*this, access, rows, site).load(0, value);
  return each_lane(site, type.dtype, [&](const Site& one) { return Walk(*this, access, rows, one).load(0, value); });
}

Vec Emitter::evaluate_scalar(ir::NodeId id) {
  Memo memo;
  return evaluate(id, {}, {number(0), number(0), 1, 1}, memo);
}

Vec Emitter::perturbed(ir::NodeId id, const Vec& x) {
  if (id != context_.fault.node || context_.fault.of_step != ir::no_node) return x;
  return is_float(x.dtype) ? x * Vec(1.001f) : x.dtype == DType::boolean ? Vec(builder_.CreateNot(x.value), x.dtype) : x + Vec(1.0f);
}

bool Emitter::computes(ir::NodeId id) const { return kernel_.has(id) || recomputable(id); }

namespace {

/// The value of a node at a site, from those of its operands.
struct NodeValue {
  Emitter& e;
  ir::NodeId id;
  const Shape& rows;
  const Site& site;
  const Memo& memo;

  const Vec& in(std::size_t i) const { return memo.at(e.graph().node(id).inputs[i]); }
  static Vec number(const Vec& x) { return x; }
  static Vec number(const VecMask& x) { return {x.value, DType::boolean}; }

  Vec operator()(const ir::Constant& op) const {
    llvm::Type* type = op.dtype == DType::boolean ? e.builder().getInt1Ty() : e.memory_type(op.dtype, 1);
    const auto whole = [&] { return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(op.value))); };
    return splat({is_float(op.dtype) ? llvm::ConstantFP::get(type, op.value) : whole(), op.dtype}, site.width);
  }
  Vec operator()(const ir::Extent& op) const {
    return splat({e.builder().CreateSIToFP(e.extent(op.dim), e.builder().getFloatTy()), DType::f32}, site.width);
  }
  /// The row-major numbers of the elements of a tensor that broadcasts with `rows`.
  Vec operator()(const ir::Iota& op) const {
    const Type& type = e.type_of(id);
    const ir::Access access = ir::pointwise_access({&type, 1}, rows, 0);
    const Lanes lanes = lanes_of(access, 0, rows, type.shape);
    if (site.width > 1 && lanes == Lanes::scattered)
      return e.each_lane(site, type.dtype, [&](const Site& one) { return NodeValue{e, id, rows, one, memo}(op); });
    const Walk::Place at = Walk(e, access, rows, site).place(0, type.shape);
    const Vec first(e.builder().CreateTrunc(element_at(e, type.shape, {at.row, at.last}), e.builder().getInt32Ty()), type.dtype);
    return lanes == Lanes::repeated ? splat(first, site.width) : Vec(lane_numbers(first.value, site.width), type.dtype);
  }
  Vec operator()(const ir::Cast& op) const { return convert(in(0), op.dtype); }
  Vec operator()(const ir::Broadcast&) const { return in(0); }
  Vec operator()(const ir::Select& op) const { return op.eval(VecMask{in(0).value}, in(1), in(2)); }
  template <ir::IsElementwise O>
  Vec operator()(const O& op) const {
    if constexpr (O::arity == 1) return number(op.eval(in(0)));
    else return number(op.eval(in(0), in(1)));
  }
  template <class O>
  Vec operator()(const O&) const {
    return kind_of(e.graph().node(id).op).element(e, id, site);
  }
};

}  // namespace

Vec Emitter::evaluate(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo) {
  // Post-order with an explicit stack: chains of pointwise nodes can be long.
  std::vector<ir::NodeId> stack{id};
  while (!stack.empty()) {
    const ir::NodeId next = stack.back();
    if (memo.contains(next)) {
      stack.pop_back();
      continue;
    }
    const ir::Node& node = graph().node(next);
    if (!computes(next)) {
      memo[next] = load_operand(value_of(next), rows, site);
      stack.pop_back();
      continue;
    }
    bool ready = true;
    if (!ir::is_anchor(node.op) && !ir::moves_elements(node.op))
      for (const ir::NodeId input : node.inputs)
        if (!memo.contains(input)) {
          stack.push_back(input);
          ready = false;
        }
    if (!ready) continue;
    memo[next] = perturbed(next, std::visit(NodeValue{*this, next, rows, site, memo}, node.op));
    stack.pop_back();
  }
  return memo[id];
}

void Emitter::store_results_at(const Site& site, const Vec* anchor) {
  Memo memo;
  if (anchor) memo[kernel_.anchor] = perturbed(kernel_.anchor, *anchor);
  store_results_at(site, std::move(memo));
}

void Emitter::store_results_at(const Site& site, Memo memo) {
  // Everything is read before anything is written: a state may be updated in place.
  std::vector<std::pair<ValueId, Vec>> results;
  for (const Write& write : kernel_.writes) results.emplace_back(write.value, evaluate(write.node, kernel_.shape, site, memo));
  for (const auto& [value, x] : results) store(x, value, site);
}

void Emitter::store_results(Rows rows, bool scalar, const std::function<Vec(const Site&)>& anchor, const Body& at_row) {
  const Shape& shape = kernel_.shape;
  const auto store_at = [&](const Site& site) {
    if (!anchor) return store_results_at(site);
    const Vec x = anchor(site);
    store_results_at(site, &x);
  };
  if (kernel_.counts_elements()) {
    loop(begin_, end_, 1, [&](Value* element) {
      const Site site = site_of_element(*this, shape, element);
      store_at(site);
      if (const SymbolicLayout at = symbolic_layout(shape); at.cols != at.stride)
        when(builder_.CreateICmpEQ(site.last, number(at.cols.factor() - 1)), [&] { zero_pads(site.row); });
    });
    return;
  }
  for_each_site(shape, rows, scalar, store_at, at_row);
  if (scalar && !is_flat(shape)) loop(rows.first, rows.last, 1, [&](Value* row) { zero_pads(row); });
}

void Emitter::store_results_of_row(Value* row, Value* first, Value* last) {
  const SymbolicLayout at = symbolic_layout(kernel_.shape);
  const std::int64_t columns = at.cols.factor(), whole = columns / lanes * lanes;
  const auto least = [&](std::int64_t most) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, number(most)); };
  loop(first, least(whole), lanes, [&](Value* column) { store_results_at({row, column, lanes, lanes}); });
  if (columns == whole && columns == at.stride.factor()) return;
  when(builder_.CreateICmpSGE(last, number(columns)), [&] {
    const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, at.stride.factor() - whole));
    if (whole < columns) store_results_at({row, number(whole), width, static_cast<unsigned>(columns - whole)});
  });
}

void Emitter::zero_pads(Value* row) {
  const SymbolicLayout at = symbolic_layout(kernel_.shape);
  if (!at.cols.is_fixed() || at.cols == at.stride) return;
  for (const Write& write : kernel_.writes)
    if (!stored(write.value).unpadded)
      loop(number(at.cols.factor()), number(at.stride.factor()), 1, [&](Value* c) {
        builder_.CreateStore(llvm::Constant::getNullValue(memory_type(stored(write.value).type.dtype, 1)), address(write.value, row, c));
      });
}

}  // namespace sinter::codegen
