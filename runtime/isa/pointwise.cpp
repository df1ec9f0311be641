// Pointwise ops: each op's eval on blocks, flat over equal layouts or row by row where operands are broadcast.
#include <array>

#include "runtime/isa/math.h"
#include "runtime/isa/targets.h"

namespace sinter::runtime::isa::SINTER_TARGET {

namespace {

template <class O, class Rule>
inline constexpr bool has_rule = std::is_base_of_v<ir::Elementwise<O::arity, Rule>, O>;

/// Copies, for broadcast.
struct Copy {
  static constexpr int arity = 1;
  template <class S>
  S eval(const S& x) const {
    return x;
  }
};

/// The type of cast in memory decides how its blocks are converted; see ir::Cast for the rules.
template <class To, class From>
BlockOf<To> cast_block(const Block<From>& x, DType to) {
  if constexpr (std::is_same_v<From, float>) {
    using F = Block<float>;
    const F whole = select(x != x, F(0.0f), x);
    if constexpr (std::is_same_v<To, float>) {
      return x;
    } else if constexpr (std::is_same_v<To, std::int32_t>) {
      const Mask above = whole >= F(2147483648.0f);
      const Block<std::int32_t> r = convert<std::int32_t>(select(above, F(0.0f), select(whole < F(-2147483648.0f), F(-2147483648.0f), whole)));
      return select(above, Block<std::int32_t>(2147483647), r);
    } else if constexpr (std::is_same_v<To, std::uint32_t>) {
      const F low = select(whole < F(0.0f), F(0.0f), whole);
      const Mask above = low >= F(4294967296.0f), upper = low >= F(2147483648.0f);
      const F in_range = select(above, F(0.0f), low);
      const Block<std::uint32_t> r = bits<std::uint32_t>(convert<std::int32_t>(select(upper, in_range - F(2147483648.0f), in_range)));
      return select(above, Block<std::uint32_t>(~0u), select(upper, r + Block<std::uint32_t>(0x80000000u), r));
    } else {
      if (to == DType::boolean) return select(x != F(0.0f), Block<std::uint32_t>(1u), Block<std::uint32_t>(0u));
      return bits<std::uint32_t>(convert<std::int32_t>(select(whole < F(0.0f), F(0.0f), select(whole > F(255.0f), F(255.0f), whole))));
    }
  } else {
    if constexpr (std::is_same_v<To, float>) return convert<float>(x);
    else if constexpr (std::is_same_v<To, std::uint8_t>) {
      const Block<std::uint32_t> y = bits<std::uint32_t>(x);
      if (to == DType::boolean) return select(y != Block<std::uint32_t>(0u), Block<std::uint32_t>(1u), Block<std::uint32_t>(0u));
      return y;  // storing keeps the low byte
    } else {
      return bits<To>(x);
    }
  }
}

/// An op with element types in memory: In of the operands (of Select: of the two choices), Out of the result.
template <class O, class In, class Out>
struct Kernel {
  static constexpr bool is_select = std::is_same_v<O, ir::Select>;
  using B = BlockOf<In>;

  /// Operand k at element j of a row (or of everything): one repeated element, a whole block, or the first `count` elements of one.
  template <std::size_t K, bool Whole>
  static auto fetch(const Operand& operand, const std::byte* row, std::int64_t j, std::int64_t count) {
    if constexpr (is_select && K == 0) {
      const auto* p = reinterpret_cast<const std::uint8_t*>(row);
      if (operand.splat) return Block<std::uint32_t>(*p) != Block<std::uint32_t>(0u);
      if constexpr (Whole) return load_mask(p + j);
      else return load(p + j, count) != Block<std::uint32_t>(0u);
    } else {
      const auto* p = reinterpret_cast<const In*>(row);
      if (operand.splat) return B(*p);
      if constexpr (Whole) return load(p + j);
      else return load(p + j, count);
    }
  }

  template <bool Whole>
  static void block(const Pointwise& t, const std::array<const std::byte*, 3>& row, Out* out, std::int64_t j, std::int64_t count) {
    const auto write = [&](const auto& value) {
      if constexpr (Whole) store(out + j, value);
      else store(out + j, value, count);
    };
    const auto x = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) { return fetch<K, Whole>(t.in[K], row[K], j, count); };
    constexpr std::integral_constant<std::size_t, 0> first;
    constexpr std::integral_constant<std::size_t, 1> second;
    constexpr std::integral_constant<std::size_t, 2> third;
    if constexpr (std::is_same_v<O, ir::Cast>) {
      write(cast_block<Out>(x(first), t.dtype));
    } else if constexpr (std::is_same_v<O, Copy>) {
      write(x(first));
    } else {
      const O& op = *static_cast<const O*>(t.op);
      if constexpr (O::arity == 1) write(op.eval(x(first)));
      else if constexpr (O::arity == 2) write(op.eval(x(first), x(second)));
      else write(op.eval(x(first), x(second), x(third)));
    }
  }

  static void run(const Pointwise& t, const std::array<const std::byte*, 3>& row, Out* out, std::int64_t count) {
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) block<true>(t, row, out, j, lanes);
    if (j < count) block<false>(t, row, out, j, count - j);
  }

  static void flat(const Pointwise& t, std::int64_t begin, std::int64_t end) {
    std::array<const std::byte*, 3> row{};
    for (std::size_t k = 0; k < O::arity; ++k) row[k] = t.in[k].data + (t.in[k].splat ? 0 : begin * static_cast<std::int64_t>(size_of_operand(k)));
    run(t, row, reinterpret_cast<Out*>(t.out) + begin, end - begin);
  }

  static void rows(const Pointwise& t, std::int64_t begin, std::int64_t end) {
    Out* out = reinterpret_cast<Out*>(t.out);
    for (std::int64_t r = begin; r < end; ++r) {
      std::array<std::int64_t, 3> at{};
      std::int64_t rest = r;
      for (int d = t.leading; d-- > 0;) {
        const std::int64_t i = t.leading == 1 ? rest : rest % t.extents[static_cast<std::size_t>(d)];
        rest = t.leading == 1 ? 0 : rest / t.extents[static_cast<std::size_t>(d)];
        for (std::size_t k = 0; k < O::arity; ++k) at[k] += i * t.in[k].steps[static_cast<std::size_t>(d)];
      }
      std::array<const std::byte*, 3> row{};
      for (std::size_t k = 0; k < O::arity; ++k) row[k] = t.in[k].data + at[k] * t.in[k].stride * static_cast<std::int64_t>(size_of_operand(k));
      Out* to = out + r * t.layout.stride;
      run(t, row, to, t.layout.stride);  // operands that are not repeated have the same columns, so the same pad lanes
      for (std::int64_t j = t.layout.cols; j < t.layout.stride; ++j) to[j] = Out{};
    }
  }

  static constexpr std::size_t size_of_operand(std::size_t k) { return is_select && k == 0 ? 1 : sizeof(In); }
};

template <class O, bool Flat>
struct Entry {
  template <class In, class Out>
  static void go(const Pointwise& t, std::int64_t begin, std::int64_t end) {
    if constexpr (Flat) Kernel<O, In, Out>::flat(t, begin, end);
    else Kernel<O, In, Out>::rows(t, begin, end);
  }

  template <class In>
  static void cast(const Pointwise& t, std::int64_t begin, std::int64_t end) {
    with_element_type(t.dtype, [&]<class Out>(Out) { go<In, Out>(t, begin, end); });
  }

  /// Chooses by element type. Moving and choosing elements needs only their size.
  static void run(const Pointwise& t, std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<O, ir::Cast>) {
      with_element_type(t.in[0].dtype, [&]<class In>(In) { cast<In>(t, begin, end); });
    } else if constexpr (std::is_same_v<O, ir::Select> || std::is_same_v<O, Copy>) {
      if (size_of(t.dtype) == 1) return go<std::uint8_t, std::uint8_t>(t, begin, end);
      return go<std::uint32_t, std::uint32_t>(t, begin, end);
    } else if constexpr (has_rule<O, ir::Compares>) {
      with_element_type(t.in[0].dtype, [&]<class In>(In) { go<In, std::uint8_t>(t, begin, end); });
    } else if constexpr (has_rule<O, ir::Words>) {
      return go<std::uint32_t, std::uint32_t>(t, begin, end);
    } else if constexpr (has_rule<O, ir::Numbers>) {
      if (t.dtype == DType::i32) return go<std::int32_t, std::int32_t>(t, begin, end);
      if (t.dtype == DType::u32) return go<std::uint32_t, std::uint32_t>(t, begin, end);
      return go<float, float>(t, begin, end);
    } else {
      static_assert(has_rule<O, ir::Floats>,
                    "the interpreter does not know this pointwise op's element types: add its rule to runtime/isa/pointwise.cpp");
      return go<float, float>(t, begin, end);
    }
  }
};

template <class... Ops>
void fill(Kernels& table, std::variant<Ops...>*) {
  std::size_t i = 0;
  const auto add = [&]<class O>(O*) {
    if constexpr (ir::IsElementwise<O>) {
      table.flat[i] = &Entry<O, true>::run;
      table.rows[i] = &Entry<O, false>::run;
    }
    ++i;
  };
  (add(static_cast<Ops*>(nullptr)), ...);
}

}  // namespace

void add_pointwise(Kernels& table) {
  fill(table, static_cast<ir::Op*>(nullptr));
  table.copy = &Entry<Copy, false>::run;
}

}  // namespace sinter::runtime::isa::SINTER_TARGET
