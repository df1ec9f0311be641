#include "ir/access.h"

#include <algorithm>

#include "ir/error.h"
#include "ir/polynomial.h"

namespace sinter::ir {

namespace {

using Count = Polynomial<std::int64_t>;

/// The greatest value of terms that are never negative.
std::optional<Count> greatest(std::span<const Index::Term> terms, std::span<const Axis> axes) {
  Count sum;
  for (const Index::Term& term : terms) {
    const Dim extent = axes[term.axis].extent;
    if (term.scale.factor() < 0 || term.part != 1) return std::nullopt;
    const std::optional<Dim> all = product(term.scale, extent);
    if (!all) return std::nullopt;
    sum += Count::of(*all);
    sum += Count::of(-term.scale);
  }
  return sum;
}

}  // namespace

Index along(std::size_t axis) {
  Index index;
  index.terms.push_back({axis});
  return index;
}

bool is_along(const Index& index, std::size_t axis) { return index == along(axis); }

Access Access::over(const Shape& result, double flops) {
  Access access;
  for (const Dim extent : result) access.axes.push_back({Axis::Kind::parallel, extent});
  access.flops = flops;
  return access;
}

std::size_t Access::reduce(Dim extent) {
  axes.push_back({Axis::Kind::reduced, extent});
  return axes.size() - 1;
}

void Access::add_aligned(std::size_t rank, std::size_t first) {
  Map& map = operands.emplace_back();
  for (std::size_t axis = 0; axis < rank; ++axis) map.push_back(along(first + axis));
}

Access pointwise_access(std::span<const Type> in, const Shape& result, double flops) {
  Access access = Access::over(result, flops);
  for (const Type& operand : in) {
    const std::size_t lead = result.rank() - operand.shape.rank();
    Map& map = access.operands.emplace_back();
    for (std::size_t axis = 0; axis < operand.shape.rank(); ++axis)
      map.push_back(operand.shape[axis] == result[lead + axis] ? along(lead + axis) : Index{});
  }
  return access;
}

Index simplified(Index index, std::span<const Axis> axes) {
  if (index.through || index.offset != Dim(0) || index.exact) return index;
  std::erase_if(index.terms, [&](const Index::Term& term) { return axes[term.axis].extent == Dim(1); });
  if (index.wrap != Dim(0))  // whole turns
    if (const std::optional<Dim> turn = product(index.divide, index.wrap))
      std::erase_if(index.terms, [&](const Index::Term& term) { return quotient(term.scale, *turn).has_value(); });
  // (g a + b) / (g d) = a / d where b < g.
  const auto divided_by = [&](Dim common) {
    const std::optional<Dim> divide = quotient(index.divide, common);
    if (!divide || common == Dim(1)) return false;
    std::vector<Index::Term> multiples, rest;
    for (const Index::Term& term : index.terms) (quotient(term.scale, common) ? multiples : rest).push_back(term);
    const std::optional<Count> most = greatest(rest, axes);
    if (!most || !most->always_less(Count::of(common))) return false;
    for (Index::Term& term : multiples) term.scale = *quotient(term.scale, common);
    index.terms = multiples;
    index.divide = *divide;
    return true;
  };
  if (!divided_by(index.divide))
    for (std::size_t t = 0; t < index.terms.size(); ++t)
      if (divided_by(index.terms[t].scale)) break;
  if (index.wrap != Dim(0)) {
    const std::optional<Count> most = greatest(index.terms, axes);
    const std::optional<Dim> turn = product(index.divide, index.wrap);
    if (most && turn && most->always_less(Count::of(*turn))) index.wrap = 0;
  }
  return index;
}

std::optional<std::int64_t> position(const Index& index, std::span<const std::int64_t> point, Sizes sizes) {
  std::int64_t sum = index.offset.extent(sizes);
  for (const Index::Term& term : index.terms) sum += term.scale.extent(sizes) * (point[term.axis] / term.part);
  const std::int64_t divide = index.divide.extent(sizes), rest = (sum % divide + divide) % divide;
  if (index.exact && rest != 0) return std::nullopt;
  const std::int64_t quotient = (sum - rest) / divide;
  return index.wrap == Dim(0) ? quotient : quotient % index.wrap.extent(sizes);
}

Dim terms(const Access& access) {
  Dim count = 1;
  for (const Axis& axis : access.axes)
    if (axis.kind != Axis::Kind::parallel && axis.kind != Axis::Kind::scattered) count = count * axis.extent;
  return count;
}

bool reads_own_samples(const Access& access, std::size_t operand, const Shape& shape) {
  if (access.axes.empty() || access.axes[0].kind != Axis::Kind::parallel || !access.axes[0].extent.is_batch()) return false;
  if (shape.rank() == 0 || !shape[0].is_batch()) return false;
  const Index& index = access.operands[operand][0];
  if (index.through || index.wrap != Dim(0) || !index.offset.is_fixed() || index.offset.factor() < 0) return false;
  // In a sample s, the result's positions are k s to k s + k - 1: the sum is a s plus at most `most`.
  const std::optional<Dim> own = product(shape[0].per_sample(), index.divide);
  std::optional<Dim> per_sample;
  Count most = Count::of(index.offset);
  for (const Index::Term& term : index.terms) {
    const Dim extent = term.axis == 0 ? access.axes[0].extent.per_sample() : access.axes[term.axis].extent;
    const std::optional<Dim> reach = product(term.scale, extent);
    if (!reach || reach->is_batch() || term.part != 1 || term.scale.factor() < 0) return false;
    if (term.axis == 0) per_sample = reach;
    most += Count::of(*reach);
    most += Count::of(-term.scale);
  }
  return own && per_sample == own && most.always_less(Count::of(*own));
}

namespace {

std::size_t result_rank(const Access& access) {
  return static_cast<std::size_t>(
      std::count_if(access.axes.begin(), access.axes.end(), [](const Axis& axis) { return axis.kind != Axis::Kind::reduced; }));
}

}  // namespace

bool reads_own_units(const Access& access, std::size_t operand, const Shape& shape, Dim units) {
  // How many of the first dimensions have so many elements together.
  const auto leading = [&](std::size_t rank, const auto& extent) -> std::optional<std::size_t> {
    std::optional<Dim> all = Dim(1);
    for (std::size_t d = 0; d < rank; ++d)
      if (all = product(*all, extent(d)); !all || *all == units) return all ? std::optional(d + 1) : std::nullopt;
    return std::nullopt;
  };
  const auto of_result = leading(result_rank(access), [&](std::size_t d) { return access.axes[d].extent; });
  const auto of_operand = leading(shape.rank(), [&](std::size_t d) { return shape[d]; });
  if (!of_result || !of_operand) return false;
  // The number of the unit, whose digits are the positions in the operand.
  Index unit;
  Dim scale = 1;
  for (std::size_t axis = *of_result; axis-- > 0; scale = scale * access.axes[axis].extent) {
    if (access.axes[axis].kind != Axis::Kind::parallel) return false;
    unit.terms.insert(unit.terms.begin(), {axis, scale});
  }
  for (std::size_t d = 0; d < *of_operand; ++d) {
    Index digit = unit;
    digit.divide = shape.product(d + 1, *of_operand);
    if (d > 0) digit.wrap = shape[d];
    if (simplified(access.operands[operand][d], access.axes) != simplified(digit, access.axes)) return false;
  }
  return true;
}

bool reads_same_element(const Access& access, std::size_t operand, const Shape& shape) {
  if (access.axes.size() != shape.rank()) return false;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    if (access.axes[axis] != Axis{Axis::Kind::parallel, shape[axis]} || !is_along(access.operands[operand][axis], axis)) return false;
  return true;
}

namespace {

std::string name_of(std::size_t axis) { return axis < 18 ? std::string(1, static_cast<char>('i' + axis)) : str("x", axis); }

std::string to_string(const Index& index) {
  if (index.through) return str("#", *index.through);
  std::string sum;
  for (const Index::Term& term : index.terms) {
    if (!sum.empty()) sum += " + ";
    if (term.scale != Dim(1)) sum += str(term.scale, " ");
    sum += term.part == 1 ? name_of(term.axis) : str("(", name_of(term.axis), " / ", term.part, ")");
  }
  if (index.offset != Dim(0) || sum.empty()) sum += str(sum.empty() ? "" : " + ", index.offset);
  if (index.divide != Dim(1)) sum = str("(", sum, ") / ", index.divide, index.exact ? " exactly" : "");
  if (index.wrap != Dim(0)) sum = str("(", sum, ") mod ", index.wrap);
  return index.partial ? sum + " if inside" : sum;
}

}  // namespace

std::string to_string(const Access& access) {
  std::string text;
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    const Axis::Kind kind = access.axes[axis].kind;
    if (axis) text += ",";
    if (kind == Axis::Kind::reduced) text += "+";
    text += name_of(axis);
    if (kind == Axis::Kind::ordered) text += "<";
    if (kind == Axis::Kind::whole) text += "*";
    if (kind == Axis::Kind::scattered) text += "?";
  }
  text += ":";
  for (const Map& map : access.operands) {
    text += " [";
    for (std::size_t d = 0; d < map.size(); ++d) text += (d ? "," : "") + to_string(map[d]);
    text += "]";
  }
  return text;
}

}  // namespace sinter::ir
