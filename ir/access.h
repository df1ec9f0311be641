// How an op walks: from which elements of its operands each element of its result is computed. What may share a loop, which elements a chunk
// reads, the number of operations and the length of a sum follow from this one declaration, which each op makes (`access`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/type.h"

namespace sinter::ir {

/// One loop of a walk.
struct Axis {
  enum class Kind : std::uint8_t {
    parallel,   ///< a dimension of the result whose elements are computed independently
    ordered,    ///< one whose elements are each computed from those before: a running sum
    whole,      ///< one whose elements are each computed from all of the operand along it: softmax
    scattered,  ///< one along which an operand's index says what belongs where
    reduced,    ///< not a dimension of the result: what is read along it is combined
  };
  Kind kind = Kind::parallel;
  Dim extent = 1;
  bool operator==(const Axis&) const = default;
};

/// A position along one dimension of an operand: floor((Σ scale · floor(axis / part) + offset) / divide) mod wrap.
struct Index {
  struct Term {
    std::size_t axis = 0;
    Dim scale = 1;
    std::int64_t part = 1;
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms = {};
  Dim offset = 0, divide = 1;
  Dim wrap = 0;          ///< 0: as it is
  bool exact = false;    ///< nothing is read where the division leaves a remainder
  bool partial = false;  ///< nothing is read where the position is outside of the operand
  /// Instead of all that: any position; the element of this operand, at its own map, says which.
  std::optional<std::size_t> through = std::nullopt;

  bool operator==(const Index&) const = default;
};
/// The position itself along an axis of the walk.
Index along(std::size_t axis);
/// Whether it is that.
bool is_along(const Index& index, std::size_t axis);

/// One position a dimension of the operand.
using Map = std::vector<Index>;

/// A walk. Its first axes are the dimensions of the result, in order; the reduced ones follow.
struct Access {
  std::vector<Axis> axes;
  std::vector<Map> operands;
  double flops = 0;  ///< operations a point of the walk; scattered axes have no points of their own

  /// A walk over this shape, without operands.
  static Access over(const Shape& result, double flops = 0);
  /// Adds a reduced axis and returns its number.
  std::size_t reduce(Dim extent);
  /// Adds an operand of this rank that is read at the positions of the walk itself, from axis `first` on.
  void add_aligned(std::size_t rank, std::size_t first = 0);

  bool operator==(const Access&) const = default;
};

/// The walk of pointwise ops and of broadcast: operands are aligned at the last axis, and dimensions of 1 repeated.
Access pointwise_access(std::span<const Type> in, const Shape& result, double flops);
/// An equal index in fewer terms, where there is one: [N, 6] as [N, 2, 3] is n, then 3 a + b, without divisions.
Index simplified(Index index, std::span<const Axis> axes);

/// The position at a point of the walk; nothing if the division leaves a remainder that it may not. Not for `through`.
std::optional<std::int64_t> position(const Index& index, std::span<const std::int64_t> point, Sizes sizes);
/// The number of elements that one element of the result combines.
Dim terms(const Access& access);

/// Whether a chunk of the result's leading dimension, k·N, reads of the operand only the same samples of its leading dimension.
bool reads_own_samples(const Access& access, std::size_t operand, const Shape& shape);
/// The same where a chunk is a range of so many units: the first dimensions of the result, and those of the operand, taken as one.
bool reads_own_units(const Access& access, std::size_t operand, const Shape& shape, Dim units);

/// Whether each element of the result is computed from the same element of the operand alone, so that they may share memory.
bool reads_same_element(const Access& access, std::size_t operand, const Shape& shape);

/// "i,j,+k: [i,k] [k,j]": the result's dimensions, then the reduced ones; the operands. Other kinds of axes are marked: i< ordered, i* whole,
/// i? scattered.
std::string to_string(const Access& access);

}  // namespace sinter::ir
