// Products: what is before, around and behind them.
#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

namespace {

Value floats_of(Builder& b, std::size_t rank) {
  return b.floats([&](const Shape& s) { return s.rank() == rank; }, b.shape(rank));
}

Value maybe_transposed(Builder& b, Value x) {
  for (std::size_t times = b.choose.below(3); times > 0; --times) x = link(b, b.add(ir::Transpose{}, {x}));
  return x;
}

}  // namespace

/// A dense layer: product, bias of some shape, activation.
Value dense_layer(Builder& b) {
  const Value y = link(b, product_with(b, floats_of(b, 2)));
  const Shape row{y.shape()[1]};
  const Value bias = exactly(b) && y.shape()[1].is_fixed() ? b.floats(row) : b.beside(DType::f32, y.shape());
  ir::Values in{y, bias};
  if (b.choose.one_in(3)) std::swap(in[0], in[1]);
  return arithmetic(b, link(b, b.add(ir::Add{}, in)));
}

/// A product so wide, or so large and read transposed, that its right operand is packed.
Value packed_product(Builder& b) {
  constexpr std::int64_t wide[] = {512, 520, 530, 640};
  const bool transposed = b.choose.one_in(3);
  const std::int64_t features = transposed ? b.number(120, 136) : b.choose.among(wide), k = transposed ? b.number(120, 140) : b.number(1, 7);
  const Dim m = b.choose.one_in(3) ? Dim(b.number(1, 40)) : b.batch();
  const Value x = b.floats(b.choose.one_in(4) ? Shape{k, m} : Shape{m, k});
  const bool ta = x.shape()[0] == Dim(k) && x.shape()[1] == m && Dim(k) != m;
  return arithmetic(b, b.add(ir::Matmul{ta, transposed}, {x, b.floats(transposed ? Shape{features, k} : Shape{k, features})}));
}

/// A product of a small batch whose right operand is so large that its columns are divided: read in place, packed, or transposed.
Value divided_product(Builder& b) {
  const bool transposed = b.choose.one_in(3), wide = b.choose.below(2);
  const std::int64_t features = wide ? b.number(512, 530) : b.number(257, 270), k = wide ? b.number(512, 524) : b.number(1024, 1040);
  b.allow(k * features, 2.0 * 8 * static_cast<double>(k * features));
  const Value x = b.floats({b.batch(), k});
  return arithmetic(b, b.add(ir::Matmul{false, transposed}, {x, b.floats(transposed ? Shape{features, k} : Shape{k, features})}));
}

/// The gradient of a weight, whose terms are the rows of a batch: summed in slots, pieces of its rows apart.
Value weight_gradient(Builder& b) {
  const Dim terms = b.has_lengths() && b.choose.below(2) ? b.batch() * b.length() : b.batch();
  const std::int64_t inputs = b.number(33, 70), units = b.number(113, 130);
  const auto pick = [&](std::int64_t columns) {
    const Value x = b.floats({terms, columns});
    return exactly(b) ? x : arithmetic(b, x);
  };
  return arithmetic(b, b.add(ir::Matmul{true, false}, {pick(inputs), pick(units)}));
}

/// Transposes around a product.
Value transposed_product(Builder& b) {
  const Value x = maybe_transposed(b, floats_of(b, 2));
  return arithmetic(b, maybe_transposed(b, link(b, product_with(b, x))));
}

/// softmax(q kᵀ) v over one or two leading dimensions.
Value attention(Builder& b) {
  const Shape lead = b.choose.below(2) ? Shape{b.batch()} : b.shape(2);
  const Dim queries = b.extent(), keys = b.extent(), width = b.extent();
  const auto matrices = [&](Dim rows, Dim columns) { return b.floats(lead.insert(lead.rank(), rows).insert(lead.rank() + 1, columns)); };
  const Value scores = link(b, arithmetic(b, b.add(ir::BatchMatmul{false, true}, {matrices(queries, width), matrices(keys, width)})));
  return arithmetic(b, b.add(ir::BatchMatmul{}, {link(b, b.add(ir::Softmax{}, {scores})), matrices(keys, width)}));
}

}  // namespace sinter::fuzz::motif
