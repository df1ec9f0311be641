#include "fuzz/program/motif_parts.h"

namespace sinter::fuzz::motif {

using ir::Value;

bool exactly(Builder& b) { return !b.choose.one_in(4); }

Value link(Builder& b, Value x) {
  if (b.choose.one_in(6)) b.keep(x);
  return x;
}

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

}  // namespace sinter::fuzz::motif
