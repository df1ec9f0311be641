#include "fuzz/program/motifs.h"

#include "fuzz/program/images.h"
#include "fuzz/program/recipes.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

/// The form that is recognised, or now and then another one.
bool exactly(Builder& b) { return !b.choose.one_in(4); }

/// A value in the middle of a chain: now and then others read it too.
Value link(Builder& b, Value x) {
  if (b.choose.one_in(6)) b.keep(x);
  return x;
}

Value floats_of(Builder& b, std::size_t rank) {
  return b.floats([&](const Shape& s) { return s.rank() == rank; }, b.shape(rank));
}

/// Up to three pointwise ops, most of them with constants, on numbers of any type; the result is of floats.
Value arithmetic(Builder& b, Value x) {
  constexpr double numbers[] = {0.5, -1, 2, 0.25};
  const bool whole = !is_float(x.type().dtype) && x.type().dtype != DType::boolean;
  if (whole && x.type().dtype != DType::u8 && b.choose.one_in(3)) x = b.add(ir::Add{}, {x, b.add(ir::Constant{1, x.type().dtype}, {})});
  if (!is_float(x.type().dtype)) x = b.add(ir::Cast{{}, DType::f32}, {x});
  for (std::size_t more = b.choose.below(4); more > 0; --more) {
    const auto constant = [&] {
      const Value c = b.add(ir::Constant{b.choose.among(numbers)}, {});
      return b.choose.one_in(8) ? b.add(ir::Add{}, {c, c}) : c;
    };
    switch (b.choose.below(7)) {
      case 0:
        x = b.add(ir::Mul{}, {x, constant()});
        break;
      case 1:
        x = b.add(ir::Add{}, {constant(), x});
        break;
      case 2:
        x = b.add(ir::Relu{}, {x});
        break;
      case 3:
        x = b.add(ir::Sigmoid{}, {x});
        break;
      case 4:
        x = b.add(ir::Neg{}, {x});
        break;
      case 5:
        x = b.add(ir::Sub{}, {x, b.beside(DType::f32, x.shape())});
        break;
      default:
        x = b.add(ir::Mul{}, {x, x});
    }
    x = link(b, x);
  }
  return x;
}

/// A product of a matrix, as either operand and whichever way round.
Value product_with(Builder& b, Value x) {
  const bool ta = b.choose.one_in(3), tb = b.choose.below(2);
  const bool left = exactly(b);
  const Dim k = x.shape()[left ? (ta ? 0 : 1) : (tb ? 1 : 0)];
  const Dim other = x.shape()[left ? (ta ? 1 : 0) : (tb ? 0 : 1)];
  const auto side = [&](bool transposed, bool k_first) {
    const bool first = transposed != k_first;
    const auto fits = [&](const Shape& s) { return s.rank() == 2 && s[first ? 0 : 1] == k && !(other.is_batch() && s[first ? 1 : 0].is_batch()); };
    const Dim extent = b.extent();
    return b.floats(fits, first ? Shape{k, extent} : Shape{extent, k});
  };
  if (left) {
    if (!ta && !tb && b.choose.below(2) && k.is_fixed()) {
      const Value w = b.floats([&](const Shape& s) { return s.rank() == 2 && s[0] == k && s[1].is_fixed(); }, {k, b.extent()});
      return b.add(ir::Dense{}, {x, w, b.floats(Shape{w.shape()[1]})});
    }
    return b.add(ir::Matmul{ta, tb}, {x, side(tb, true)});
  }
  return b.add(ir::Matmul{ta, tb}, {side(ta, false), x});
}

/// The rows of a table that an index picks: mostly of a matrix by a list, as an input or a parameter of any kind.
Value picked(Builder& b) {
  const DType dtype = b.choose.one_in(4) ? b.dtype() : DType::f32;
  const std::size_t row_rank = exactly(b) ? 1 : b.choose.below(3);
  Shape row;
  for (std::size_t i = 0; i < row_rank; ++i) row = row.insert(0, b.extent());
  const std::int64_t rows = b.extent();
  const Shape index_shape = exactly(b) ? Shape{b.choose.one_in(3) ? Dim(b.extent()) : b.batch()} : b.shape(b.choose.below(3));
  const Value table = b.choose.one_in(3) ? b.table(dtype, row) : b.leaf({dtype, row.insert(0, rows)});
  return b.add(ir::GatherRows{}, {table, b.index(index_shape, b.value(0, table).extents[0])});
}

/// Rows of a data set, as they are or converted, and what multiplies them.
Value product_of_picked_rows(Builder& b) {
  const Value x = link(b, arithmetic(b, picked(b)));
  if (x.shape().rank() != 2) throw Unfit{};
  if (b.choose.one_in(3)) {  // the gradient of their weight
    const Dim rows = x.shape()[0];
    const auto fits = [&](const Shape& s) { return s.rank() == 2 && s[0] == rows && s[1].is_fixed(); };
    b.keep(b.add(ir::Matmul{true, false}, {x, b.floats(fits, {rows, b.extent()})}));
    if (b.choose.below(2)) return b.kept().back();
  }
  return arithmetic(b, link(b, product_with(b, x)));
}

/// An embedding, averaged while it is read: a gather, arithmetic, and a reduction over some axes.
Value reduction_of_picked_rows(Builder& b) {
  const Shape lead = exactly(b) ? Shape{b.batch(), b.extent()} : b.shape(1 + b.choose.below(2));
  const std::int64_t rows = b.extent();
  const Value table = b.leaf({DType::f32, exactly(b) ? Shape{rows, b.extent()} : b.shape(b.choose.below(2)).at(2).insert(0, rows)});
  const Value x = link(b, arithmetic(b, b.add(ir::GatherRows{}, {table, b.index(lead, rows)})));
  const std::size_t first = exactly(b) ? lead.rank() - 1 : b.axis(x.shape());
  const auto last = exactly(b) ? first + 1 : first + 1 + b.choose.below(x.shape().rank() - first);
  const ir::Op ops[] = {ir::Sum{}, ir::Sum{}, ir::Max{}, ir::Prod{}};
  const auto reduce = [&]<class O>(O op) -> Value {
    if constexpr (ir::IsReduction<O>) {
      op.first = static_cast<std::int64_t>(first);
      op.last = static_cast<std::int64_t>(last);
      return b.add(op, {x});
    } else throw Unfit{};
  };
  return arithmetic(b, link(b, std::visit(reduce, b.choose.among(ops))));
}

/// What a scatter adds is repeated, computed, or both.
Value scatter_of_repeated_rows(Builder& b) {
  const Shape updates = b.shape(1 + b.choose.below(3)), index = updates.erase(1 + b.choose.below(updates.rank()), updates.rank());
  Value x = b.beside(DType::f32, updates);
  if (x.shape().rank() > updates.rank()) throw Unfit{};
  if (exactly(b)) x = b.add(ir::Broadcast{broadcast(x.shape(), updates)}, {x});
  const std::int64_t rows = b.extent();
  x = arithmetic(b, x);
  if (x.shape().rank() < index.rank()) throw Unfit{};
  return arithmetic(b, b.add(ir::ScatterAddRows{rows}, {b.index(x.shape().erase(index.rank(), x.shape().rank()), rows), x}));
}

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

Value maybe_transposed(Builder& b, Value x) {
  for (std::size_t times = b.choose.below(3); times > 0; --times) x = link(b, b.add(ir::Transpose{}, {x}));
  return x;
}

/// Transposes around a product.
Value transposed_product(Builder& b) {
  const Value x = maybe_transposed(b, floats_of(b, 2));
  return arithmetic(b, maybe_transposed(b, link(b, product_with(b, x))));
}

/// Convolution, bias, activation and pool.
Value image_layer(Builder& b) {
  Value x = link(b, b.choose.one_in(4) ? make(b, ir::Conv2DTranspose{}) : make(b, ir::Conv2D{}));
  x = link(b, b.add(ir::Add{}, {x, exactly(b) ? b.floats(Shape{x.shape()[3]}) : b.beside(DType::f32, x.shape())}));
  x = link(b, exactly(b) ? b.add(ir::Relu{}, {x}) : arithmetic(b, x));
  if (b.choose.one_in(3)) return x;
  return b.choose.one_in(4) ? pool_of(b, ir::AveragePool{}, x) : pool_of(b, ir::MaxPool{}, x);
}

/// A convolution with so many channels and features that few multiplications pay, or one of its gradients.
Value convolution_of_many_channels(Builder& b) {
  constexpr std::int64_t many[] = {16, 8, 17, 12, 7}, extents[] = {8, 4, 8, 6, 5, 9, 7};
  const std::int64_t size = b.choose.one_in(3) ? 5 : 3, channels = b.choose.among(many), features = b.choose.among(many);
  const bool same = exactly(b);
  const auto pad = [&] { return same ? size / 2 : b.number(0, 3); };
  const Shape w{size, size, channels, features};
  const Shape x{b.choose.below(3) ? Dim(b.number(1, 2)) : Dim::batch(), b.choose.among(extents), b.choose.among(extents), channels};
  ir::Conv2D op;
  op.pads = {pad(), pad(), pad(), pad()};
  if (!exactly(b)) op.strides = {b.number(1, 2), b.number(1, 2)};
  const auto y = [&] { return b.floats(ir::convolution_of(op, x, w).y()); };
  switch (b.choose.below(3)) {
    case 0:
      return arithmetic(b, b.add(op, {b.floats(x), b.floats(w)}));
    case 1:
      return arithmetic(b, b.add(ir::Conv2DTranspose{op.strides, op.dilations, op.pads, op.groups, {x[1], x[2]}}, {y(), b.floats(w)}));
    default:
      return arithmetic(b, b.add(ir::Conv2DWeight{op.strides, op.dilations, op.pads, op.groups, {size, size}}, {b.floats(x), y()}));
  }
}

/// relu before a max pool, and the form of their gradient: with the pool's own windows, image and place, or with others.
Value rectified_pool(Builder& b) {
  const Value image = b.floats(is_image, image_shape(b)), y = b.add(ir::Relu{}, {image});
  ir::MaxPool pool;
  choose_windows(b, pool);
  const Value pooled = b.add(pool, {y});
  b.keep(pooled);
  if (b.choose.one_in(3)) return pooled;
  ir::MaxPoolPlace place{pool.kernel, pool.strides, pool.pads};
  if (!exactly(b)) choose_windows(b, place);
  ir::PoolPut put{place.kernel, place.strides, place.pads, {y.shape()[1], y.shape()[2]}};
  if (!exactly(b)) choose_windows(b, put);
  if (!exactly(b)) put.image = {b.number(1, 9), b.number(1, 9)};
  const Value where = link(b, b.add(place, {exactly(b) ? y : image})), dy = b.floats(where.shape());
  const Value zero = b.add(ir::Constant{exactly(b) ? 0.0 : 0.5}, {}), back = link(b, b.add(put, {where, dy}));
  const Value mask = link(b, b.add(ir::LessEqual{}, {exactly(b) ? y : image, exactly(b) ? zero : b.beside(DType::f32, y.shape())}));
  return b.add(ir::Select{}, exactly(b) ? ir::Values{mask, zero, back} : ir::Values{mask, back, zero});
}

/// log(softmax(x)), and the form of its gradient.
Value log_of_softmax(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0 && s.back().is_fixed(); }, b.shape(b.choose.below(4)).insert(0, b.extent()));
  if (!x.shape().back().is_fixed()) throw Unfit{};
  const Value y = link(b, b.add(ir::Softmax{}, {x})), log_y = b.add(ir::Log{}, {y});
  b.keep(log_y);
  if (b.choose.one_in(3)) return log_y;
  const Value d = link(b, b.add(ir::Div{}, {exactly(b) ? b.floats(y.shape()) : b.beside(DType::f32, y.shape()), y}));
  const Value product = b.add(ir::Mul{}, {d, y});
  const auto rank = static_cast<std::int64_t>(product.shape().rank()), last = exactly(b) ? rank : b.number(1, static_cast<std::size_t>(rank));
  const Value total = link(b, b.add(ir::Sum{last - 1, last}, {product}));
  const Value row = b.add(ir::Reshape{product.shape().with(static_cast<std::size_t>(last - 1), 1)}, {total});
  return b.add(ir::Mul{}, {link(b, b.add(ir::Sub{}, {d, row})), y});
}

/// Two neighbouring axes as one.
Shape joined(Builder& b, const Shape& shape, bool keep_columns) {
  if (shape.rank() < (keep_columns ? 3u : 2u)) return shape.insert(b.choose.below(shape.rank() + (keep_columns ? 0 : 1)), 1);
  const std::size_t axis = b.choose.below(shape.rank() - (keep_columns ? 2 : 1));
  const Dim product = shape[axis] * shape[axis + 1];
  return shape.erase(axis, axis + 2).insert(axis, product);
}

/// Reshapes that keep the columns, or not, with pointwise ops and a sum between them.
Value reshapes(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(2 + b.choose.below(3)));
  const Shape joint = joined(b, x.shape(), exactly(b));
  const bool split = b.choose.below(2);
  Value y = link(b, b.add(ir::Reshape{joint}, {x}));
  if (y.shape().rank() && y.shape().back().is_fixed() && exactly(b)) y = link(b, b.add(ir::Add{}, {y, b.floats(Shape{y.shape().back()})}));
  y = link(b, arithmetic(b, y));
  if (b.choose.below(2) && y.shape().rank()) {
    const std::size_t first = b.axis(y.shape());
    return b.add(ir::Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + 1 + b.choose.below(y.shape().rank() - first))}, {y});
  }
  if (!split) return y;
  return y.shape().elements() == x.shape().elements() ? b.add(ir::Reshape{x.shape()}, {y}) : y;
}

/// A state whose next value is made of its old one: in the same places, or of others too.
Value state_update(Builder& b) {
  const Shape shape = b.choose.one_in(4) ? b.shape(b.choose.below(4)).at(2) : Shape{b.extent(), b.extent()};
  const std::size_t index = b.graph.states().size();
  const Value s = b.parameter({DType::f32, shape});
  Value next = s;
  const auto rank = shape.rank();
  switch (b.choose.below(9)) {
    case 0:
      if (rank) next = b.add(ir::Softmax{}, {s});
      break;
    case 1:
      if (rank) next = b.add(ir::Cumsum{static_cast<std::int64_t>(b.axis(shape)), b.choose.below(2) == 1}, {s});
      break;
    case 2:
      if (rank) next = b.add(ir::GatherRows{}, {s, b.index({shape[0]}, shape[0].factor())});
      break;
    case 3:
      if (rank) next = b.add(ir::ScatterAddRows{shape[0].factor()}, {b.index({shape[0]}, shape[0].factor()), s});
      break;
    case 4:
      if (rank) next = b.add(ir::TakeAlong{}, {s, b.index(shape, shape.back().factor())});
      break;
    case 5:
      if (rank == 2) next = b.add(ir::Matmul{}, {s, b.floats(Shape{shape[1], shape[1]})});
      break;
    case 6:
      if (rank >= 2 && shape[rank - 1] == shape[rank - 2]) next = b.add(ir::Transpose{}, {s});
      break;
    case 7: {  // rolled
      if (!rank || shape[0].factor() < 2) break;
      const std::int64_t at = b.number(1, static_cast<std::size_t>(shape[0].factor() - 1));
      next = b.add(ir::Concat{0}, {b.add(ir::Slice{0, at, shape[0].factor() - at}, {s}), b.add(ir::Slice{0, 0, at}, {s})});
      break;
    }
    default:
      break;
  }
  next = arithmetic(b, link(b, next));
  if (next.type() == s.type()) b.graph.set_update(index, next.id);
  return next;
}

/// More numbers than one chunk adds up.
Value long_reduction(Builder& b) {
  constexpr std::int64_t lengths[] = {1025, 1100, 2048, 1024, 3000};
  const Shape shape = b.choose.below(2) ? Shape{b.choose.among(lengths)} : Shape{b.number(30, 50), b.number(30, 50)};
  const Value x = arithmetic(b, b.floats(shape));
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  return arithmetic(b, b.choose.one_in(3) ? b.add(ir::Max{0, rank}, {x}) : b.add(ir::Sum{0, rank}, {x}));
}

/// softmax(q kᵀ) v over one or two leading dimensions.
Value attention(Builder& b) {
  const Shape lead = b.choose.below(2) ? Shape{b.batch()} : b.shape(2);
  const Dim queries = b.extent(), keys = b.extent(), width = b.extent();
  const auto matrices = [&](Dim rows, Dim columns) { return b.floats(lead.insert(lead.rank(), rows).insert(lead.rank() + 1, columns)); };
  const Value scores = link(b, arithmetic(b, b.add(ir::BatchMatmul{false, true}, {matrices(queries, width), matrices(keys, width)})));
  return arithmetic(b, b.add(ir::BatchMatmul{}, {link(b, b.add(ir::Softmax{}, {scores})), matrices(keys, width)}));
}

/// A counter, or another scalar, that several kernels compute for themselves.
Value scalar_in_every_kernel(Builder& b) {
  const DType dtype = b.choose.one_in(3) ? DType::i32 : DType::f32;
  const std::size_t index = b.graph.states().size();
  const Value t = b.parameter({dtype, {}}), next = b.add(ir::Add{}, {t, b.add(ir::Constant{1, dtype}, {})});
  if (exactly(b)) b.graph.set_update(index, next.id);
  const Value scale = link(b, arithmetic(b, next));
  for (std::size_t readers = b.choose.below(3); readers > 0; --readers)
    b.keep(b.add(ir::Mul{}, {b.floats([](const Shape&) { return true; }, b.shape()), scale}));
  return b.add(ir::Add{}, {b.floats([](const Shape&) { return true; }, b.shape()), scale});
}

/// Dropout: random words by place, compared with a rate.
Value dropout(Builder& b) {
  const Value x = b.floats([](const Shape&) { return true; }, b.shape());
  const Value place = b.add(ir::Iota{exactly(b) ? x.shape() : b.shape()}, {});
  ir::Philox philox;
  philox.stream = b.number(0, 1000);
  const Value word = link(b, b.add(philox, {place, b.word({})}));
  const Value rate = b.add(ir::Constant{1e9, DType::u32}, {});
  return b.add(ir::Select{}, {link(b, b.add(ir::Less{}, {word, rate})), b.add(ir::Constant{0}, {}), arithmetic(b, x)});
}

/// An index that is computed, and what is read or written by it.
Value computed_index(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0 && s.rank() < 4 && s.back().is_fixed(); }, b.shape(1).at(2).insert(0, b.batch()));
  if (!x.shape().back().is_fixed()) throw Unfit{};
  const std::int64_t columns = x.shape().back().factor();
  const Value best = link(b, b.choose.below(2) ? b.add(ir::Argmax{}, {x}) : b.add(ir::TopK{b.number(1, static_cast<std::size_t>(columns))}, {x}));
  switch (b.choose.below(4)) {
    case 0:
      return b.add(ir::OneHot{columns}, {best});
    case 1:
      return b.add(ir::GatherRows{}, {b.floats(Shape{columns, b.extent()}), best});
    case 2:
      return b.add(ir::ScatterAddRows{columns}, {best, b.floats(best.shape().insert(best.shape().rank(), b.extent()))});
    default:
      return best.shape().rank() == x.shape().rank() ? b.add(ir::TakeAlong{}, {x, best}) : best;
  }
}

/// Less its mean, over its deviation, along some axes.
Value normalized(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(1 + b.choose.below(4)));
  const std::size_t rank = x.shape().rank(), first = b.axis(x.shape()), last = first + 1 + b.choose.below(rank - first);
  Shape kept = x.shape();
  Dim count = 1;
  for (std::size_t axis = first; axis < last; ++axis) {
    count = count * kept[axis];
    kept = kept.with(axis, 1);
  }
  const auto mean = [&](Value v) {
    const Value total = link(b, b.add(ir::Sum{static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)}, {v}));
    return b.add(ir::Reshape{kept}, {b.add(ir::Div{}, {total, b.add(ir::Extent{count}, {})})});
  };
  const Value centred = link(b, b.add(ir::Sub{}, {x, mean(x)}));
  if (b.choose.below(2)) return arithmetic(b, centred);
  const Value variance = b.add(ir::Add{}, {mean(b.add(ir::Square{}, {centred})), b.add(ir::Constant{0.01f}, {})});
  return arithmetic(b, b.add(ir::Mul{}, {centred, link(b, b.add(ir::Rsqrt{}, {variance}))}));
}

/// What becomes of a permutation of axes: transposes of the last two of three, each after a reshape.
Value permutation(Builder& b) {
  Value x = b.operand(b.choose.one_in(4) ? b.dtype() : DType::f32, [](const Shape& s) { return s.rank() >= 3; }, b.shape(3 + b.choose.below(2)));
  for (std::size_t more = 1 + b.choose.below(3); more > 0; --more) {
    const Shape& s = x.shape();
    const std::size_t first = b.choose.below(s.rank() - 1), second = first + 1 + b.choose.below(s.rank() - first - 1);
    const Shape blocks{s.product(0, first), s.product(first, second), s.product(second, s.rank())};
    std::vector<Dim> dims(s.begin(), s.begin() + first);
    dims.insert(dims.end(), s.begin() + second, s.end());
    dims.insert(dims.end(), s.begin() + first, s.begin() + second);
    x = b.add(ir::Transpose{}, {ir::reshape(x, blocks)});
    if (exactly(b)) x = b.add(ir::Reshape{Shape(std::span<const Dim>(dims))}, {x});
    x = link(b, x);
    if (is_float(x.type().dtype) && b.choose.one_in(3)) x = arithmetic(b, x);
  }
  return x;
}

/// A count: a sum or running sums of what was compared, as integers.
Value count(Builder& b) {
  const Value x = b.floats([](const Shape& s) { return s.rank() > 0; }, b.shape(1 + b.choose.below(3)));
  const Value yes = link(b, b.add(ir::Less{}, {b.beside(DType::f32, x.shape()), x}));
  const Value one = b.add(ir::Cast{{}, exactly(b) ? DType::i32 : DType::u32}, {yes});
  const auto rank = static_cast<std::int64_t>(one.shape().rank());
  if (rank == 0 || b.choose.one_in(3)) return b.add(ir::Cumsum{static_cast<std::int64_t>(b.axis(one.shape())), false}, {one});
  return b.add(ir::Cast{{}, DType::f32}, {link(b, b.add(ir::Sum{b.choose.below(2) ? 0 : rank - 1, rank}, {one}))});
}

/// Those that need the most luck are here several times.
constexpr Value (*motifs[])(Builder&) = {
    convolution_of_many_channels,
    convolution_of_many_channels,
    convolution_of_many_channels,
    product_of_picked_rows,
    product_of_picked_rows,
    packed_product,
    packed_product,
    dense_layer,
    dense_layer,
    transposed_product,
    image_layer,
    rectified_pool,
    log_of_softmax,
    reshapes,
    reduction_of_picked_rows,
    scatter_of_repeated_rows,
    long_reduction,
    normalized,
    attention,
    state_update,
    scalar_in_every_kernel,
    dropout,
    computed_index,
    permutation,
    count,
};

}  // namespace

Value add_motif(Builder& b) { return b.choose.among(motifs)(b); }

}  // namespace sinter::fuzz
