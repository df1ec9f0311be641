// What kernels load, compute and store at a site.
#include <algorithm>
#include <limits>

#include "codegen/emit/kernel_emitter.h"
#include "codegen/support.h"
#include "ir/kernel.h"

namespace sinter::codegen {

using llvm::Value;

llvm::Type* KernelEmitter::memory_type(DType dtype, unsigned width) const {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::Type* element = is_float(dtype) ? llvm::Type::getFloatTy(llvm) : llvm::IntegerType::get(llvm, static_cast<unsigned>(size_of(dtype) * 8));
  return width == 1 ? element : llvm::FixedVectorType::get(element, width);
}

Value* KernelEmitter::pointer(ValueId value) {
  const auto found = std::find(arguments_.begin(), arguments_.end(), context_.plan.buffer_of[value]);
  if (found == arguments_.end())
    throw InternalError("codegen", str("kernel reads value ", context_.schedule.values[value].name, " that the schedule does not list"));
  return function_->getArg(static_cast<unsigned>(found - arguments_.begin()));
}

/// For flat shapes the row is ignored and `last` counts rows.
Value* KernelEmitter::address(ValueId value, Value* row, Value* last) {
  const Type& type = context_.schedule.values[value].type;
  const SymbolicLayout at = symbolic_layout(type.shape);
  Value* offset = is_flat(type.shape) ? last : builder_.CreateAdd(builder_.CreateMul(row, extent(at.stride), "", true, true), last, "", true, true);
  return builder_.CreateInBoundsGEP(memory_type(type.dtype, 1), pointer(value), {offset});
}

/// The address of element number `element` in row-major order.
Value* KernelEmitter::element_address(ValueId value, Value* element) {
  const Type& type = context_.schedule.values[value].type;
  const SymbolicLayout at = symbolic_layout(type.shape);
  const bool one_row = at.rows == Dim(1) && !(type.shape.rank() && type.shape[0].is_rows());  // a table's rows are not counted in its layout
  if (is_flat(type.shape) || one_row) return address(value, constant(0), element);
  Value* cols = extent(at.cols);
  Value* row = builder_.CreateUDiv(element, cols);
  return address(value, row, builder_.CreateURem(element, cols));
}

/// The site of element number `element`, in row-major order, in a kernel over this shape.
Site KernelEmitter::site_of_element(const Shape& shape, Value* element) {
  const SymbolicLayout at = symbolic_layout(shape);
  if (is_flat(shape) || at.rows == Dim(1)) return {constant(0), element};
  Value* cols = extent(at.cols);
  return {builder_.CreateUDiv(element, cols), builder_.CreateURem(element, cols)};
}

Vec KernelEmitter::splat(const Vec& scalar, unsigned width) {
  return width == 1 ? scalar : Vec(builder_.CreateVectorSplat(width, scalar.value), scalar.dtype);
}

Vec KernelEmitter::load(Value* where, DType dtype, unsigned width, bool repeat) {
  Value* raw = builder_.CreateAlignedLoad(memory_type(dtype, repeat ? 1 : width), where, llvm::Align(size_of(dtype)));
  if (dtype == DType::boolean) raw = builder_.CreateICmpNE(raw, llvm::ConstantInt::get(raw->getType(), 0));
  const Vec result(raw, dtype);
  return repeat ? splat(result, width) : result;
}

Vec KernelEmitter::only_valid(const Vec& x, unsigned valid, double fill) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.value->getType());
  if (!vector || valid == vector->getNumElements()) return x;
  std::vector<llvm::Constant*> mask;
  for (unsigned i = 0; i < vector->getNumElements(); ++i) mask.push_back(builder_.getInt1(i < valid));
  return {builder_.CreateSelect(llvm::ConstantVector::get(mask), x.value, materialize(Vec(fill), x)), x.dtype};
}

void KernelEmitter::store(const Vec& x, ValueId value, const Site& site) {
  Value* raw = only_valid(x, site.valid, 0).value;
  if (x.dtype == DType::boolean) raw = builder_.CreateZExt(raw, memory_type(DType::boolean, site.width));
  builder_.CreateAlignedStore(raw, address(value, site.row, site.last), llvm::Align(size_of(x.dtype)));
}

/// Whether the lanes of a vector over `rows` are adjacent, or all the same, in an operand that broadcasts with it.
bool KernelEmitter::is_vector_friendly(const Shape& operand, const Shape& rows) const {
  if (!is_flat(rows)) return true;
  if (operand.elements() == Dim(1)) return true;
  return is_flat(operand) && operand.rank() == rows.rank() && std::equal(operand.begin(), operand.end(), rows.begin());
}

KernelEmitter::Place KernelEmitter::place_of(const Shape& shape, const Shape& rows, const Site& site) {
  if (shape.elements() == Dim(1)) return {constant(0), constant(0), true};
  if (shape == rows) return {site.row, site.last, false};
  // Index along each axis of `rows`, from the row and the index in the last axis.
  const std::size_t rank = rows.rank();
  std::vector<Value*> at(rank);
  Value* rest = is_flat(rows) ? site.last : site.row;
  if (is_flat(rows) && rank > 1) at[rank - 1] = constant(0);
  else at[rank - 1] = site.last;
  if (!(is_flat(rows) && rank == 1))
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      Value* size = extent(rows[axis]);
      at[axis] = axis ? builder_.CreateURem(rest, size) : rest;
      if (axis) rest = builder_.CreateUDiv(rest, size);
    }
  const std::size_t lead = rank - shape.rank();
  Value* row = constant(0);
  for (std::size_t axis = 0; axis + 1 < shape.rank(); ++axis) {
    row = builder_.CreateMul(row, extent(shape[axis]));
    if (shape[axis] != Dim(1)) row = builder_.CreateAdd(row, at[lead + axis]);
  }
  const bool repeat = shape.back() == Dim(1) && rows.back() != Dim(1);
  Value* last = shape.back() == Dim(1) ? constant(0) : at[rank - 1];
  if (is_flat(shape) && shape.rank() > 1) last = row;  // one column: rows count
  return {row, last, repeat};
}

Vec KernelEmitter::load_operand(ValueId value, const Shape& rows, const Site& site) {
  const Type& type = context_.schedule.values[value].type;
  const Place place = place_of(type.shape, rows, site);
  return load(address(value, place.row, place.last), type.dtype, site.width, place.repeat);
}

/// first, first + 1, …
Value* KernelEmitter::lane_numbers(Value* first, unsigned width) {
  if (width == 1) return first;
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < width; ++i) steps.push_back(llvm::ConstantInt::get(first->getType(), i));
  return builder_.CreateAdd(builder_.CreateVectorSplat(width, first), llvm::ConstantVector::get(steps));
}

/// The row-major numbers of the elements of a tensor that broadcasts with `rows`.
Vec KernelEmitter::emit_iota(const Shape& shape, const Shape& rows, const Site& site) {
  const Place place = place_of(shape, rows, site);
  const SymbolicLayout at = symbolic_layout(shape);
  Value* first = is_flat(shape) || at.rows == Dim(1) ? place.last : builder_.CreateAdd(builder_.CreateMul(place.row, extent(at.cols)), place.last);
  first = builder_.CreateTrunc(first, builder_.getInt32Ty());
  return {place.repeat ? (site.width == 1 ? first : builder_.CreateVectorSplat(site.width, first)) : lane_numbers(first, site.width), DType::u32};
}

Vec KernelEmitter::evaluate_scalar(ir::NodeId id) {
  Memo memo;
  return evaluate(id, {}, {constant(0), constant(0), 1, 1}, memo);
}

Vec KernelEmitter::perturbed(ir::NodeId id, const Vec& x) {
  if (id != context_.fault) return x;
  return is_float(x.dtype) ? x * Vec(1.001f) : x.dtype == DType::boolean ? Vec(builder_.CreateNot(x.value), x.dtype) : x + Vec(1.0f);
}

Vec KernelEmitter::evaluate(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo) {
  // Post-order with an explicit stack: chains of pointwise nodes can be long.
  std::vector<ir::NodeId> stack{id};
  while (!stack.empty()) {
    const ir::NodeId next = stack.back();
    if (memo.contains(next)) {
      stack.pop_back();
      continue;
    }
    const ir::Node& node = context_.graph.node(next);
    const bool in_kernel = std::find(kernel_.nodes.begin(), kernel_.nodes.end(), next) != kernel_.nodes.end();
    const bool computed = in_kernel || ir::is_recomputable(context_.graph, next);
    if (!computed) {
      memo[next] = load_operand(value_of(next), rows, site);
      stack.pop_back();
      continue;
    }
    bool ready = true;
    if (!ir::is_anchor(node.op))
      for (const ir::NodeId input : node.inputs)
        if (!memo.contains(input)) {
          stack.push_back(input);
          ready = false;
        }
    if (!ready) continue;
    memo[next] = perturbed(next, evaluate_node(next, rows, site, memo));
    stack.pop_back();
  }
  return memo[id];
}

Vec KernelEmitter::evaluate_node(ir::NodeId id, const Shape& rows, const Site& site, Memo& memo) {
  const ir::Node& node = context_.graph.node(id);
  const auto in = [&](std::size_t i) -> const Vec& { return memo.at(node.inputs[i]); };
  return std::visit(
      [&]<class O>(const O& op) -> Vec {
        if constexpr (std::is_same_v<O, ir::Constant>) {
          llvm::Type* type = op.dtype == DType::boolean ? builder_.getInt1Ty() : memory_type(op.dtype, 1);
          llvm::Constant* number = is_float(op.dtype) ? llvm::ConstantFP::get(type, op.value)
                                                      : llvm::ConstantInt::get(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(op.value)));
          return splat(Vec(number, op.dtype), site.width);
        } else if constexpr (std::is_same_v<O, ir::Extent>) {
          return splat(Vec(builder_.CreateSIToFP(extent(op.dim), builder_.getFloatTy()), DType::f32), site.width);
        } else if constexpr (std::is_same_v<O, ir::Iota>) {
          return emit_iota(node.type.shape, rows, site);
        } else if constexpr (std::is_same_v<O, ir::Cast>) {
          return convert(in(0), op.dtype);
        } else if constexpr (std::is_same_v<O, ir::Broadcast>) {
          return in(0);
        } else if constexpr (std::is_same_v<O, ir::Select>) {
          return op.eval(VecMask{in(0).value}, in(1), in(2));
        } else if constexpr (ir::IsElementwise<O>) {
          if constexpr (O::arity == 1) return op.eval(in(0));
          else {
            using Result = decltype(op.eval(in(0), in(1)));
            if constexpr (std::is_same_v<Result, VecMask>) return Vec(op.eval(in(0), in(1)).value, DType::boolean);
            else return op.eval(in(0), in(1));
          }
        } else {
          return virtual_anchor(id, site);
        }
      },
      node.op);
}

void KernelEmitter::store_results(const Shape& rows, const Site& site, Memo& memo) {
  // Everything is read before anything is written: a state may be updated in place.
  std::vector<std::pair<ValueId, Vec>> results;
  for (const Write& write : kernel_.writes) results.emplace_back(write.value, evaluate(write.node, rows, site, memo));
  for (const auto& [value, x] : results) store(x, value, site);
}

void KernelEmitter::zero_pads(const Shape& shape, Value* row) {
  const SymbolicLayout at = symbolic_layout(shape);
  if (!at.cols.is_fixed() || at.cols == at.stride) return;
  for (const Write& write : kernel_.writes) {
    const Type& type = context_.schedule.values[write.value].type;
    loop(constant(at.cols.factor()), constant(at.stride.factor()), 1,
         [&](Value* c) { builder_.CreateStore(llvm::Constant::getNullValue(memory_type(type.dtype, 1)), address(write.value, row, c)); });
  }
}

/// A scalar in every kernel that reads it and a vector where the kernel's rows need one: scalar nodes are computed at the site's width.
bool KernelEmitter::needs_scalars(const Shape& rows) const {
  for (const ir::NodeId id : kernel_.nodes)
    if (id != kernel_.anchor && ir::is_anchor(context_.graph.node(id).op) && !has_vectors(id)) return true;
  if (!is_flat(rows)) return false;
  for (const ir::NodeId id : kernel_.nodes)
    for (const ir::NodeId input : context_.graph.node(id).inputs) {
      const bool outside = std::find(kernel_.nodes.begin(), kernel_.nodes.end(), input) == kernel_.nodes.end();
      if (outside && !ir::is_recomputable(context_.graph, input) && ir::is_pointwise(context_.graph.node(id).op) &&
          !is_vector_friendly(type_of(input).shape, rows))
        return true;
    }
  return false;
}

double identity(Combine how, DType dtype) {
  if (how != Combine::max) return how == Combine::prod ? 1 : 0;
  if (dtype == DType::u32) return 0;
  return dtype == DType::i32 ? std::numeric_limits<std::int32_t>::min() : -std::numeric_limits<double>::infinity();
}

Vec KernelEmitter::reduce_two(const Vec& a, const Vec& b, Combine how) {
  if (how == Combine::sum) return a + b;
  if (how == Combine::prod) return a * b;
  return select(a != a, a, select(b <= a, a, b));  // NaN passes
}

/// Lanes are combined as a fixed tree: 16, 8, 4, 2, 1.
Vec KernelEmitter::horizontal(const Vec& x, Combine how) {
  Vec current = x;
  for (unsigned width = llvm::cast<llvm::FixedVectorType>(x.value->getType())->getNumElements(); width > 1; width /= 2) {
    std::vector<int> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    const Vec a(builder_.CreateShuffleVector(current.value, low), x.dtype), b(builder_.CreateShuffleVector(current.value, high), x.dtype);
    current = reduce_two(a, b, how);
  }
  return {builder_.CreateExtractElement(current.value, std::uint64_t{0}), x.dtype};
}

}  // namespace sinter::codegen
