// The positions of the k greatest elements of a row.
#include "codegen/emit/emitter.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

/// The best k so far of each row are a heap, in the memory of the result, with the worst of them as its root; a better element replaces it. Then
/// the heap is sorted in place.
void TopKKernel::collect(Emitter& e) const {
  Builder& b = e.builder();
  const std::int64_t count = std::get<ir::TopK>(e.anchor().op).k;
  const ValueId x = e.value_of(e.anchor().inputs[0]);
  const Type& type = e.stored(x).type;
  llvm::AllocaInst* at = e.variable(b.getInt64Ty(), "at");
  const auto [first, last] = e.indices(e.kernel().shape.rank() - 1);
  e.loop(first, last, 1, [&](Value* row) {
    const auto in_row = [&](ValueId value, const Shape& shape, Value* i) {
      return is_flat(shape) ? e.address(value, i, row) : e.address(value, row, i);
    };
    // Whether an element of the row comes before another: NaN, then greater, then first.
    const auto before = [&](Value* element, Value* other) {
      const Vec p = e.load(in_row(x, type.shape, element), type.dtype, 1), q = e.load(in_row(x, type.shape, other), type.dtype, 1);
      Value *nan_p = (p != p).value, *nan_q = (q != q).value, *lower = b.CreateICmpSLT(element, other);
      Value* greater = b.CreateOr((p > q).value, b.CreateAnd((p == q).value, lower));
      return b.CreateSelect(nan_p, b.CreateOr(b.CreateNot(nan_q), lower), b.CreateAnd(b.CreateNot(nan_q), greater));
    };
    const auto place = [&](Value* j) { return in_row(e.kernel().product, e.kernel().shape, j); };
    const auto get = [&](Value* j) { return b.CreateSExt(b.CreateLoad(b.getInt32Ty(), place(j)), b.getInt64Ty()); };
    const auto put = [&](Value* j, Value* element) { b.CreateStore(b.CreateTrunc(element, b.getInt32Ty()), place(j)); };
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
    e.loop(k, e.extent(type.shape.back()), 1, [&](Value* i) {
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
  });
}

}  // namespace sinter::codegen
