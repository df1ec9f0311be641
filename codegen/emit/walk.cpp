#include "codegen/emit/walk.h"

#include <algorithm>

#include "codegen/emit/index.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Axes of which a row counts the indices: all but the last, or the one of a vector over the batch.
std::size_t row_axes(const Shape& shape) { return shape.rank() == 1 && is_flat(shape) ? 1 : shape.rank() ? shape.rank() - 1 : 0; }

bool in_lanes(const ir::Index::Term& term, const Shape& result) {
  return result[term.axis] != Dim(1) && (is_flat(result) || term.axis + 1 == result.rank());
}

/// Whether the sum of an index before it is divided is a multiple of `lanes` in the first lane, and one more in each next: vectors of columns begin
/// at such multiples.
bool counts_aligned(const ir::Index& index, const Shape& result) {
  const auto is_multiple = [](Dim x) { return x.factor() % lanes == 0; };
  return !is_flat(result) && is_multiple(index.offset) && std::all_of(index.terms.begin(), index.terms.end(), [&](const ir::Index::Term& term) {
    return in_lanes(term, result) ? term.scale == Dim(1) && term.part == 1 : is_multiple(term.scale);
  });
}

/// Whether an index changes from lane to lane.
bool moves_with_lanes(const ir::Index& index, const Shape& result) {
  if (std::none_of(index.terms.begin(), index.terms.end(), [&](const ir::Index::Term& term) { return in_lanes(term, result); })) return false;
  return index.divide == Dim(1) || index.divide.factor() % lanes != 0 || !counts_aligned(index, result);
}

/// Whether it is one more in each next lane.
bool counts_lanes(const ir::Index& index, const Shape& result) {
  const auto moves = [&](const ir::Index::Term& term) { return in_lanes(term, result); };
  const auto lane = std::find_if(index.terms.begin(), index.terms.end(), moves);
  if (index.divide != Dim(1) || lane->scale != Dim(1) || lane->part != 1) return false;
  if (index.wrap != Dim(0) && (index.wrap.factor() % lanes != 0 || !counts_aligned(index, result))) return false;
  if (std::count_if(index.terms.begin(), index.terms.end(), moves) != 1) return false;
  // Lanes are rows: these count a single axis.
  return !is_flat(result) || std::count_if(result.begin(), result.end(), [](Dim extent) { return extent != Dim(1); }) == 1;
}

}  // namespace

Lanes lanes_of(const ir::Access& access, std::size_t operand, const Shape& result, const Shape& shape) {
  const ir::Map& map = access.operands[operand];
  Lanes found = Lanes::repeated;
  for (std::size_t d = 0; d < map.size(); ++d) {
    if (map[d].through) {
      const ir::Map& index = access.operands[*map[d].through];
      if (std::any_of(index.begin(), index.end(), [&](const ir::Index& i) { return moves_with_lanes(i, result); })) return Lanes::scattered;
      continue;
    }
    if (!moves_with_lanes(map[d], result)) continue;
    if (map[d].partial && is_flat(shape)) return Lanes::scattered;  // some lanes may be outside
    const bool innermost = is_flat(shape) ? shape[d] != Dim(1) && shape.product(d + 1, shape.rank()) == Dim(1) : d + 1 == shape.rank();
    if (found == Lanes::adjacent || !innermost || !counts_lanes(map[d], result)) {
      // Rows of one column that are the same in both.
      const bool same = is_flat(result) && is_flat(shape) && result == shape && std::all_of(map.begin(), map.end(), [&](const ir::Index& i) {
                          return ir::is_along(i, static_cast<std::size_t>(&i - map.data()));
                        });
      return same ? Lanes::adjacent : Lanes::scattered;
    }
    found = Lanes::adjacent;
  }
  return found;
}

Walk::Walk(Emitter& e, const ir::Access& access, const Shape& result, const Site& site, ir::NodeId node)
    : e_(e), b_(e.builder()), access_(access), result_(result), site_(site), node_(node) {}

/// The row's indices along so many axes from `first` on, as one number.
Value* Walk::part_of_row(std::size_t first, std::size_t count) {
  Value* row = is_flat(result_) ? site_.last : site_.row;
  const std::size_t axes = row_axes(result_), end = first + count;
  if (end < axes) row = b_.CreateUDiv(row, e_.extent(result_.product(end, axes)));
  return first ? b_.CreateURem(row, e_.extent(result_.product(first, end))) : row;
}

Value* Walk::coordinate(std::size_t axis) {
  if (axis < row_axes(result_)) return part_of_row(axis, 1);
  return is_flat(result_) ? e_.number(0) : site_.last;
}

/// What the index says that an operand of the node holds, a number below `size`.
Value* Walk::position_through(std::size_t operand, Value* size) {
  const ir::NodeId from = e_.graph().node(node_).inputs[operand];
  const auto load = [&] {
    const Place at = place(operand, e_.type_of(from).shape);
    return e_.load(e_.address(e_.value_of(from), at.row, at.last), e_.type_of(from).dtype, 1);
  };
  return checked_index(e_, node_, e_.recomputable(from) ? e_.evaluate_scalar(from) : load(), size);
}

Value* Walk::position(const ir::Index& index) {
  Value* sum = nullptr;
  const auto add = [&](Value* x) { sum = sum ? b_.CreateAdd(sum, x) : x; };
  for (const ir::Index::Term& term : index.terms) {
    Value* at = coordinate(term.axis);
    if (term.part != 1) at = b_.CreateUDiv(at, e_.number(term.part));
    add(term.scale == Dim(1) ? at : b_.CreateMul(at, e_.extent(term.scale)));
  }
  if (!sum || index.offset.factor() != 0) add(e_.extent(index.offset));
  if (index.divide != Dim(1)) sum = b_.CreateUDiv(sum, e_.extent(index.divide));  // of sums that are never negative
  return index.wrap == Dim(0) ? sum : b_.CreateURem(sum, e_.extent(index.wrap));
}

/// How many dimensions of the operand, from this one on, are the same adjacent ones of the result's row.
std::size_t Walk::dims_in_place(const ir::Map& map, const Shape& shape, std::size_t from) const {
  std::size_t count = 0;
  for (; from + count < row_axes(shape); ++count) {
    const ir::Index& index = map[from + count];
    if (index.through || index.terms.size() != 1) break;
    const std::size_t axis = count ? map[from].terms[0].axis + count : index.terms[0].axis;
    if (!ir::is_along(index, axis) || axis >= row_axes(result_) || result_[axis] != shape[from + count]) break;
  }
  return count;
}

Walk::Place Walk::place(std::size_t operand, const Shape& shape, ValueId table) {
  const ir::Map& map = access_.operands[operand];
  Place place{e_.number(0), e_.number(0)};
  const auto check = [&](Value* at, Dim extent) {
    Value* inside = b_.CreateICmpULT(at, e_.extent(extent));
    place.inside = place.inside ? b_.CreateAnd(place.inside, inside) : inside;
    return b_.CreateSelect(inside, at, e_.number(0));
  };
  const auto position = [&](std::size_t d) {
    if (!map[d].through) return this->position(map[d]);
    return position_through(*map[d].through, shape[d].is_rows() ? table_rows(e_, table) : e_.extent(shape[d]));
  };
  for (std::size_t d = 0; d < row_axes(shape);) {
    const std::size_t same = dims_in_place(map, shape, d), count = std::max<std::size_t>(same, 1);
    if (d) place.row = b_.CreateMul(place.row, e_.extent(shape.product(d, d + count)));
    Value* at = same ? part_of_row(map[d].terms[0].axis, same) : position(d);
    if (!same && map[d].partial) at = check(at, shape[d]);
    place.row = d ? b_.CreateAdd(place.row, at) : at;
    d += count;
  }
  if (shape.rank() && row_axes(shape) < shape.rank()) {
    const ir::Index& index = map.back();
    place.last = position(shape.rank() - 1);
    if (index.partial && site_.width > 1 && !is_flat(shape) && moves_with_lanes(index, result_)) place.first_lane = place.last;
    else if (index.partial) place.last = check(place.last, shape.back());
  }
  if (is_flat(shape)) place.last = place.row;
  return place;
}

Vec Walk::load(std::size_t operand, ValueId value, const Vec* others) {
  const Type& type = e_.stored(value).type;
  const Place at = place(operand, type.shape, value);
  const bool repeat = site_.width > 1 && lanes_of(access_, operand, result_, type.shape) == Lanes::repeated;
  // Vectors end in their row, which other rows, of other chunks, may follow.
  const bool ends_early = site_.valid < site_.width && !repeat && type.shape.rank() && result_.rank() &&
                          !(type.shape.back() == result_.back() && ir::is_along(access_.operands[operand].back(), result_.rank() - 1));
  Vec x;
  if (at.first_lane || ends_early) {
    Value* exists = first_lanes(site_.valid, site_.width);
    if (at.first_lane) {
      Value* size = b_.CreateVectorSplat(site_.width, e_.extent(type.shape.back()));
      exists = b_.CreateAnd(exists, b_.CreateICmpULT(lane_numbers(at.first_lane, site_.width), size));
    }
    if (at.inside) exists = b_.CreateAnd(exists, b_.CreateVectorSplat(site_.width, at.inside));
    // The first lane may lie before the row.
    Value* from = b_.CreateGEP(e_.memory_type(type.dtype, 1), e_.address(value, at.row, e_.number(0)), {at.last});
    x = e_.load_lanes(is_flat(type.shape) ? e_.address(value, at.row, at.last) : from, type.dtype, exists);
    return others ? select(VecMask{exists}, x, *others) : x;
  }
  x = e_.load(e_.address(value, at.row, at.last), type.dtype, site_.width, repeat);
  return at.inside && others ? select(VecMask{at.inside}, x, *others) : x;
}

}  // namespace sinter::codegen
