// The positions of the k greatest elements of a row: the best so far in a heap, or all in order by radix (ir/radix.h).
#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"
#include "ir/radix.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Positions of elements in the rows of a call.
class RowElements {
 public:
  explicit RowElements(Emitter& e) : e_(e), x_(e.value_of(e.anchor().inputs[0])), type_(e.stored(x_).type) {}

  std::int64_t count() const { return type_.shape.back().factor(); }
  std::int64_t k() const { return std::get<ir::TopK>(e_.anchor().op).k; }
  Vec element(Value* row, Value* i) { return e_.load(in_row(x_, type_.shape, row, i), type_.dtype, 1); }
  /// Memory of the result.
  Value* place(Value* row, Value* j) { return in_row(e_.memory(Memory::collected), e_.kernel().shape, row, j); }

 private:
  Value* in_row(ValueId value, const Shape& shape, Value* row, Value* i) {
    return is_flat(shape) ? e_.address(value, i, row) : e_.address(value, row, i);
  }

  Emitter& e_;
  ValueId x_;
  const Type& type_;
};

/// The best k so far of a row are a heap, in the memory of the result, with the worst of them as its root; a better element replaces it. Then the
/// heap is sorted in place.
void collect_by_heap(Emitter& e, RowElements of_row, Value* row) {
  Builder& b = e.builder();
  const std::int64_t count = of_row.k();
  llvm::AllocaInst* at = e.variable(b.getInt64Ty(), "at");
  // Whether an element of the row comes before another: NaN, then greater, then first.
  const auto before = [&](Value* element, Value* other) {
    const Vec p = of_row.element(row, element), q = of_row.element(row, other);
    Value *nan_p = (p != p).value, *nan_q = (q != q).value, *lower = b.CreateICmpSLT(element, other);
    Value* greater = b.CreateOr((p > q).value, b.CreateAnd((p == q).value, lower));
    return b.CreateSelect(nan_p, b.CreateOr(b.CreateNot(nan_q), lower), b.CreateAnd(b.CreateNot(nan_q), greater));
  };
  const auto get = [&](Value* j) { return b.CreateSExt(b.CreateLoad(b.getInt32Ty(), of_row.place(row, j)), b.getInt64Ty()); };
  const auto put = [&](Value* j, Value* element) { b.CreateStore(b.CreateTrunc(element, b.getInt32Ty()), of_row.place(row, j)); };
  // Sifts down while a child comes after the element.
  const auto sift = [&](Value* from, Value* size) {
    b.CreateStore(from, at);
    const auto parent = [&] { return b.CreateLoad(b.getInt64Ty(), at); };
    const auto child_of = [&](Value* j) { return b.CreateAdd(b.CreateShl(j, 1), e.number(1)); };
    e.repeat_while([&] { return b.CreateICmpSLT(child_of(parent()), size); },
                   [&] {
                     Value *up = parent(), *left = child_of(up), *right = b.CreateAdd(left, e.number(1));
                     right = b.CreateSelect(b.CreateICmpSLT(right, size), right, left);
                     Value* down = b.CreateSelect(before(get(left), get(right)), right, left);
                     Value *upper = get(up), *lower = get(down), *exchange = before(upper, lower);
                     put(up, b.CreateSelect(exchange, lower, upper));
                     put(down, b.CreateSelect(exchange, upper, lower));
                     b.CreateStore(b.CreateSelect(exchange, down, size), at);
                   });
  };
  Value *root = e.number(0), *k = e.number(count);
  e.loop(root, k, 1, [&](Value* j) { put(j, j); });
  e.loop(root, e.number(count / 2), 1, [&](Value* j) { sift(b.CreateSub(e.number(count / 2 - 1), j), k); });
  e.loop(k, e.number(of_row.count()), 1, [&](Value* i) {
    e.when(before(i, get(root)), [&] {
      put(root, i);
      sift(root, k);
    });
  });
  e.loop(root, e.number(count - 1), 1, [&](Value* j) {
    Value *end = b.CreateSub(e.number(count - 1), j), *latest = get(root);
    put(root, get(end));
    put(end, latest);
    sift(root, end);
  });
}

// Staging memory of a radix sort, in u32: for each pass where the next item of each digit goes; then items, keys with places, twice.
constexpr std::int64_t tables = ir::radix_passes * ir::radix_size;
constexpr std::int64_t staged(std::int64_t elements) { return tables + 2 * 2 * elements; }

/// ir::order_key.
Value* order_key(Builder& b, const Vec& x) {
  if (x.dtype == DType::u32) return b.CreateNot(x.value);
  Value *bits = b.CreateBitCast(x.value, b.getInt32Ty()), *flipped = b.CreateXor(bits, b.getInt32(0x7fffffff));
  if (x.dtype == DType::i32) return flipped;
  Value* key = b.CreateSelect(b.CreateICmpSLT(bits, b.getInt32(0)), bits, flipped);
  key = b.CreateSelect((x == Vec(0.0)).value, b.getInt32(0x7fffffff), key);
  return b.CreateSelect((x != x).value, b.getInt32(0), key);
}

void collect_by_radix(Emitter& e, RowElements of_row, Value* row) {
  Builder& b = e.builder();
  Value *memory = e.pointer(e.memory(Memory::staging)), *zero = e.number(0), *elements = e.number(of_row.count());
  const auto next = [&](unsigned pass, Value* digit) {
    return b.CreateInBoundsGEP(b.getInt32Ty(), memory, {b.CreateAdd(e.number(pass * ir::radix_size), digit)});
  };
  const auto item_at = [&](unsigned half, Value* i) {
    return b.CreateInBoundsGEP(b.getInt64Ty(), memory, {b.CreateAdd(e.number(tables / 2 + half * of_row.count()), i)});
  };
  // An item: the key above the place.
  const auto item = [&](Value* i) { return b.CreateOr(b.CreateShl(b.CreateZExt(order_key(b, of_row.element(row, i)), b.getInt64Ty()), 32), i); };
  const auto digit = [&](unsigned pass, Value* item) {
    return b.CreateAnd(b.CreateLShr(item, 32 + pass * ir::radix_bits), e.number(ir::radix_size - 1));
  };
  /// The value of a counter, to which `by` is added.
  const auto count = [&](Value* counter, Value* by) {
    Value* before = b.CreateLoad(b.getInt32Ty(), counter);
    b.CreateStore(b.CreateAdd(before, by), counter);
    return b.CreateZExt(before, b.getInt64Ty());
  };

  llvm::Value* none = llvm::Constant::getNullValue(e.memory_type(DType::u32, lanes));
  e.loop(zero, e.number(tables), lanes, [&](Value* i) { b.CreateAlignedStore(none, next(0, i), llvm::Align(4)); });
  e.loop(zero, elements, 1, [&](Value* i) {
    Value* of = item(i);
    for (unsigned pass = 0; pass < ir::radix_passes; ++pass) count(next(pass, digit(pass, of)), b.getInt32(1));
  });
  llvm::AllocaInst* sums = e.variable(llvm::ArrayType::get(b.getInt32Ty(), ir::radix_passes), "sums");
  const auto sum = [&](unsigned pass) { return b.CreateConstInBoundsGEP1_64(b.getInt32Ty(), sums, pass); };
  for (unsigned pass = 0; pass < ir::radix_passes; ++pass) b.CreateStore(b.getInt32(0), sum(pass));
  e.loop(zero, e.number(ir::radix_size), 1, [&](Value* i) {
    for (unsigned pass = 0; pass < ir::radix_passes; ++pass) {
      Value* of = b.CreateLoad(b.getInt32Ty(), next(pass, i));
      b.CreateStore(b.CreateTrunc(count(sum(pass), of), b.getInt32Ty()), next(pass, i));
    }
  });
  const auto move = [&](unsigned pass, Value* item) { return count(next(pass, digit(pass, item)), b.getInt32(1)); };
  static_assert(ir::radix_passes == 3);
  e.loop(zero, elements, 1, [&](Value* i) {
    Value* of = item(i);
    b.CreateStore(of, item_at(0, move(0, of)));
  });
  e.loop(zero, elements, 1, [&](Value* i) {
    Value* of = b.CreateLoad(b.getInt64Ty(), item_at(0, i));
    b.CreateStore(of, item_at(1, move(1, of)));
  });
  e.loop(zero, elements, 1, [&](Value* i) {
    Value *of = b.CreateLoad(b.getInt64Ty(), item_at(1, i)), *to = move(2, of);
    e.when(b.CreateICmpSLT(to, e.number(of_row.k())), [&] { b.CreateStore(b.CreateTrunc(of, b.getInt32Ty()), of_row.place(row, to)); });
  });
}

bool by_radix(const ir::Graph& graph, ir::NodeId anchor) {
  const ir::Node& node = graph.node(anchor);
  return ir::orders_whole_rows(std::get<ir::TopK>(node.op).k, graph.node(node.inputs[0]).type.shape.back().factor());
}

}  // namespace

void TopKKernel::plan(Planner& planner, Kernel kernel) const {
  plan_samples(planner, kernel);
  plan_memory_in_place(planner, kernel);
  if (by_radix(planner.graph(), kernel.anchor)) {
    const Dim elements = planner.graph().node(planner.graph().node(kernel.anchor).inputs[0]).type.shape.back();
    kernel.memory.push_back({Memory::staging, planner.temporary({DType::u32, {staged(elements.factor())}}, str("order of ", kernel.anchor)), true});
  }
  planner.add(std::move(kernel));
}

void TopKKernel::collect(Emitter& e) const {
  const auto [first, last] = e.indices(e.kernel().shape.rank() - 1);
  const bool radix = by_radix(e.graph(), e.kernel().anchor);
  if (radix) e.note("rows ordered by radix");
  e.loop(first, last, 1, [&](Value* row) { (radix ? collect_by_radix : collect_by_heap)(e, RowElements(e), row); });
}

}  // namespace sinter::codegen
