// A program under construction. Each node is evaluated in double as soon as it is there, in both bindings, so that recipes need not know where an
// op is defined: what is not tame is not used.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "frontend/core/random.h"
#include "fuzz/program/choices.h"
#include "fuzz/program/program.h"

namespace sinter::fuzz {

/// A value would be too large, in size or number; what was added stays unused.
struct Unfit {};

class Builder {
 public:
  explicit Builder(std::span<const std::uint8_t> bytes);

  Choices choose;
  ir::Graph graph{"program"};
  bool specials = false;  ///< whether inputs hold infinities and NaN
  bool wild = false;      ///< whether they hold all magnitudes that f32 has, or one hot element among tame ones
  bool vast = false;      ///< whether samples have millions of elements

  // ---- nodes ----
  /// Throws UserError where the op's shape rule does not hold, and Unfit.
  ir::Value add(ir::Op op, const ir::Values& inputs);
  /// Evaluates the nodes that were added to the graph without `add`. Throws Unfit.
  void settle();
  /// From now on an operand for others, and a result of the program if nothing else uses it.
  void keep(ir::Value value) { kept_.push_back(value); }
  const ir::Values& kept() const { return kept_; }
  const std::array<Binding, 2>& bindings() const { return bindings_; }
  const ir::Array& value(std::size_t binding, ir::Value v) const { return values_[binding][v.id]; }

  // ---- operands: what is there already, or a new leaf ----
  using Fits = std::function<bool(const Shape&)>;
  /// A value of this element type whose shape fits; a leaf of the shape `otherwise` if there is none, and sometimes if there is one.
  ir::Value operand(DType dtype, const Fits& fits, const Shape& otherwise);
  ir::Value floats(const Fits& fits, const Shape& otherwise) { return operand(DType::f32, fits, otherwise); }
  ir::Value floats(const Shape& shape);
  /// A value that broadcasts with the shape.
  ir::Value beside(DType dtype, const Shape& shape);
  /// Of i32, u32 or u8, all elements in [0, bound), on every path.
  ir::Value index(const Shape& shape, std::int64_t bound);
  /// u32 that no float was ever rounded to.
  ir::Value word(const Shape& shape);
  /// A new leaf with values in [low, high]; integers in [low, high).
  ir::Value leaf(const Type& type, double low, double high);
  ir::Value leaf(const Type& type);
  /// A new hidden input with these values. Throws Unfit for too many.
  ir::Value constant(const ir::Array& array);
  /// A data set of which gather_rows picks, as many rows of this shape as it likes.
  ir::Value table(DType dtype, const Shape& row);
  /// A new state.
  ir::Value parameter(const Type& type);

  // ---- numbers and shapes ----
  /// Elements of a vast sample: 10^5 to 1.25·10^7, up to 50 MB.
  std::int64_t vast_extent();
  /// In [from, to].
  std::int64_t number(std::size_t from, std::size_t to) { return static_cast<std::int64_t>(from + choose.below(to - from + 1)); }
  std::int64_t extent();
  /// N, or k·N.
  Dim batch();
  /// T, or k·T; a number in programs without T.
  Dim length();
  bool has_lengths() const { return lengths_; }
  /// Lets the program have values of so many elements, and operations of so many flops: for what only large operands reach.
  void allow(std::int64_t elements, double flops) {
    most_elements_ = std::max(most_elements_, elements);
    most_flops_ = std::max(most_flops_, flops);
  }
  /// Dimensions of which one, or none, is the batch, and one may be the length.
  Shape shape(std::size_t rank);
  Shape shape() { return shape(choose.below(5)); }
  DType dtype();
  /// One that has arithmetic: every other one is f32.
  DType numbers();
  std::size_t axis(const Shape& shape) { return choose.below(shape.rank()); }

 private:
  struct Facts {
    bool exact = false;      ///< the same on every path
    std::int64_t bound = 0;  ///< all elements are in [0, bound); 0: nobody knows
    bool special = false;    ///< infinities or NaN, in it or before it
  };
  Facts facts_of(const ir::Node& node) const;
  /// The node's values; false, and none, if they are not tame.
  bool evaluate(ir::NodeId id);
  /// Infinities and NaN come from such operands alone: where floats overflow, doubles do not.
  bool is_tame(const ir::Array& array, bool special) const;
  ir::Array random_array(const Type& type, Sizes sizes, double low, double high, std::size_t style);
  /// What is left of a batch when its samples become one.
  ir::Value one_sample(ir::Value v);
  Sizes largest_sizes() const;
  ir::Value bind(ir::InputSpec::Kind kind, bool state, const Type& type, double low, double high, std::int64_t bound);

  RandomStream random_;
  bool lengths_;  ///< whether shapes have a T
  std::int64_t most_elements_;
  double most_flops_ = 1'200'000;
  double least_ = 1e-12, largest_ = 1e4;  ///< of values that are not 0
  std::array<Binding, 2> bindings_;
  std::array<std::vector<ir::Array>, 2> values_;                       ///< by node id
  std::array<std::map<ir::NodeId, std::vector<ir::Array>>, 2> scans_;  ///< the results of scans, whose own value is empty
  std::vector<Facts> facts_;                                           ///< by node id
  ir::Values kept_;
};

}  // namespace sinter::fuzz
