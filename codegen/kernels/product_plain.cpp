#include "codegen/kernels/product_plain.h"

#include "codegen/emit/combine.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class PlainProduct {
 public:
  PlainProduct(Emitter& e, const Product& product, const Site& site)
      : e_(e), b_(e.builder()), p_(product), site_(site), left_(e.value_of(product.left)), right_(e.value_of(product.right)) {
    const Shape& shape = e.kernel().shape;
    row_ = is_flat(shape) ? site.last : site.row;
    column_ = is_flat(shape) ? e.number(0) : site.last;
    matrix_ = p_.leading ? b_.CreateUDiv(row_, e.extent(p_.sizes.m)) : e.number(0);
  }

  Vec value() {
    if (!is_flat(e_.kernel().shape) && (!p_.op.transpose_b || p_.sizes.k == Dim(1))) return chain(1, site_.width);
    if (is_flat(e_.kernel().shape) && !p_.leading && (p_.op.transpose_a || p_.sizes.k == Dim(1))) return chain(site_.width, 1);
    return e_.each_lane(site_, DType::f32, [&](const Site& one) { return PlainProduct(e_, p_, one).element(); });
  }

 private:
  Vec element() {
    const bool left_along_k = !p_.op.transpose_a || p_.sizes.m == Dim(1), right_along_k = p_.op.transpose_b || p_.sizes.f == Dim(1);
    return left_along_k && right_along_k ? dot() : chain(1, 1);
  }

  /// In memory of one column, rows follow each other.
  Value* address(ValueId value, Value* row, Value* column) {
    return is_flat(e_.stored(value).type.shape) ? e_.address(value, e_.number(0), b_.CreateAdd(row, column)) : e_.address(value, row, column);
  }
  /// Row `row` of so many of the operand's matrix that belongs to the site.
  Value* in_matrix(Value* row, Dim rows) { return p_.leading ? b_.CreateAdd(b_.CreateMul(matrix_, e_.extent(rows)), row) : row; }
  Value* left(Value* k) {
    if (!p_.op.transpose_a) return address(left_, row_, k);
    return address(left_, in_matrix(k, p_.sizes.k), b_.CreateSub(row_, in_matrix(e_.number(0), p_.sizes.m)));
  }
  Value* right(Value* k) {
    return p_.op.transpose_b ? address(right_, in_matrix(column_, p_.sizes.f), k) : address(right_, in_matrix(k, p_.sizes.k), column_);
  }

  Vec load(ValueId value, Value* from, unsigned own, unsigned width) {
    // Memory of one column has no padding: other rows, of other chunks, may follow.
    const bool ends_early = own == width && site_.valid < width && is_flat(e_.stored(value).type.shape);
    return ends_early ? e_.load_lanes(from, DType::f32, first_lanes(site_.valid, width)) : e_.load(from, DType::f32, width, own < width);
  }

  /// Adds a product to a sum.
  void multiply_add(llvm::AllocaInst* sum, const Vec& x, const Vec& y) { b_.CreateStore(fma(x, y, value_of(sum)).value, sum); }
  Vec value_of(llvm::AllocaInst* sum) { return {b_.CreateLoad(sum->getAllocatedType(), sum), DType::f32}; }
  Vec sum_of_chains(unsigned width, std::int64_t most, const std::function<Vec(Value*, Value*)>& chain) {
    return combine_chains(e_, Combine::sum, DType::f32, width, e_.number(0), e_.extent(p_.sizes.k), most, chain);
  }

  /// Of as many adjacent elements as the operands' widths say: one of them is 1.
  Vec chain(unsigned left_width, unsigned right_width) {
    const unsigned width = std::max(left_width, right_width);
    return sum_of_chains(width, ir::chain_products, [&](Value* first, Value* last) {
      llvm::AllocaInst* sum = neutral_variable(e_, Combine::sum, DType::f32, width, "sum");
      e_.loop(first, last, 1,
              [&](Value* k) { multiply_add(sum, load(left_, left(k), left_width, width), load(right_, right(k), right_width, width)); });
      return value_of(sum);
    });
  }

  /// Of one element whose row and column are contiguous.
  Vec dot() {
    return sum_of_chains(1, ir::chain_products * lanes, [&](Value* first, Value* last) {
      llvm::AllocaInst *wide = neutral_variable(e_, Combine::sum, DType::f32, lanes, "wide"),
                       *one = neutral_variable(e_, Combine::sum, DType::f32, 1, "one");
      const auto add = [&](Value* k, llvm::AllocaInst* to, unsigned width) {
        multiply_add(to, e_.load(left(k), DType::f32, width), e_.load(right(k), DType::f32, width));
      };
      Value* whole = e_.for_each_vector(first, last, 1, [&](Value* k, unsigned) { add(k, wide, lanes); });
      e_.loop(whole, last, 1, [&](Value* k) { add(k, one, 1); });
      return horizontal(value_of(wide), Combine::sum) + value_of(one);
    });
  }

  Emitter& e_;
  Builder& b_;
  const Product& p_;
  const Site& site_;
  ValueId left_, right_;
  Value *row_, *column_, *matrix_;
};

}  // namespace

Vec product_at(Emitter& e, const Product& product, const Site& site) { return PlainProduct(e, product, site).value(); }

}  // namespace sinter::codegen
