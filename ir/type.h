// Element types, dimensions with the symbolic batch size N and length T, and shapes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

enum class DType : std::uint8_t { f32, i32, u32, u8, boolean };

std::string_view name(DType type);
/// Bytes an element takes in memory; a boolean is one byte, 0 or 1.
std::size_t size_of(DType type);
/// Calls f with a value of the C++ type of the elements: float, std::int32_t, std::uint32_t, or std::uint8_t, which booleans are too.
template <class F>
decltype(auto) with_element_type(DType type, F&& f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::u8:
    case DType::boolean:
      break;
  }
  return f(std::uint8_t{});
}

inline bool is_float(DType type) { return type == DType::f32; }
inline bool is_index(DType type) { return type == DType::i32 || type == DType::u32 || type == DType::u8; }

/// What each call decides: the batch size N and the length T. A number is a batch size.
struct Sizes {
  std::int64_t n = 1, t = 1;
  constexpr Sizes(std::int64_t batch = 1, std::int64_t length = 1) : n(batch), t(length) {}  // NOLINT
  constexpr bool operator==(const Sizes&) const = default;
};

/// One dimension: a fixed extent `k`; a multiple of the batch size, of the length or of both, `k·N`, `k·T`, `k·N·T`; or `R`, the free row count of a
/// table. A graph has one N and one T. Each table input has its own R, which only `gather_rows` consumes.
class Dim {
 public:
  constexpr Dim(std::int64_t extent = 1) : factor_(extent) {}  // NOLINT: a number is a dimension
  static constexpr Dim batch(std::int64_t factor = 1) { return Dim(factor, in_n); }
  static constexpr Dim length(std::int64_t factor = 1) { return Dim(factor, in_t); }
  static constexpr Dim rows() { return Dim(1, in_r); }

  constexpr bool is_fixed() const { return symbols_ == 0; }
  /// Whether it is a multiple of N; of T.
  constexpr bool is_batch() const { return symbols_ & in_n; }
  constexpr bool is_length() const { return symbols_ & in_t; }
  constexpr bool is_rows() const { return symbols_ & in_r; }
  /// k.
  constexpr std::int64_t factor() const { return factor_; }
  /// Its symbols times another number: 1 to compare them.
  constexpr Dim with_factor(std::int64_t factor) const { return Dim(factor, symbols_); }
  /// What a sample has of it: without N.
  constexpr Dim per_sample() const { return Dim(factor_, static_cast<std::uint8_t>(symbols_ & ~in_n)); }
  /// The number of elements of a call. A table's row count is not known here: throws InternalError.
  std::int64_t extent(Sizes sizes) const;

  constexpr Dim operator-() const { return Dim(-factor_, symbols_); }
  constexpr bool operator==(const Dim&) const = default;
  /// The product; nothing if both have the same symbol, one is R, or it is too large.
  friend std::optional<Dim> product(Dim a, Dim b);
  /// a / b, if b divides a for every N and T.
  friend std::optional<Dim> quotient(Dim a, Dim b);

 private:
  static constexpr std::uint8_t in_n = 1, in_t = 2, in_r = 4;
  constexpr Dim(std::int64_t factor, std::uint8_t symbols) : factor_(factor), symbols_(symbols) {}
  std::int64_t factor_;
  std::uint8_t symbols_ = 0;
};
std::optional<Dim> product(Dim a, Dim b);
std::optional<Dim> quotient(Dim a, Dim b);

/// The product, such as k·N times a fixed number. At most one of the two may be a batch dimension, and one a length: throws UserError.
Dim operator*(Dim a, Dim b);

/// Up to max_rank dimensions, at most one of which is a batch dimension, and one a length. A scalar has rank 0.
class Shape {
 public:
  static constexpr std::size_t max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  /// Throws UserError for more than max_rank dimensions, a negative extent, two batch dimensions or two lengths.
  explicit Shape(std::span<const Dim> dims);
  /// Fixed dimensions.
  Shape(const std::vector<std::int64_t>& extents) : Shape(fixed(extents)) {}  // NOLINT: a list of numbers is a shape
  static Shape fixed(std::span<const std::int64_t> extents);

  std::size_t rank() const { return rank_; }
  Dim operator[](std::size_t axis) const { return dims_[axis]; }
  Dim back() const { return dims_[rank_ - 1]; }
  const Dim* begin() const { return dims_.data(); }
  const Dim* end() const { return dims_.data() + rank_; }

  bool is_scalar() const { return rank_ == 0; }
  bool has_batch() const;
  bool has_length() const;
  bool is_fixed() const;
  /// The product of the dimensions in [first, last).
  Dim product(std::size_t first, std::size_t last) const;
  Dim elements() const { return product(0, rank_); }
  std::vector<std::int64_t> extents(Sizes sizes) const;
  /// With numbers in place of N and T. Allocates nothing.
  Shape at(Sizes sizes) const;
  /// This shape with its axis replaced, inserted before, or removed.
  Shape with(std::size_t axis, Dim dim) const;
  Shape insert(std::size_t axis, Dim dim) const;
  Shape erase(std::size_t first, std::size_t last) const;

  bool operator==(const Shape& other) const;

 private:
  std::array<Dim, max_rank> dims_{};
  std::uint8_t rank_ = 0;
};

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const Type&) const = default;
};

std::string to_string(Dim dim);
std::string to_string(const Shape& shape);  ///< "[N,70]"
std::string to_string(const Type& type);    ///< "f32[N,70]"
std::ostream& operator<<(std::ostream& out, DType type);
std::ostream& operator<<(std::ostream& out, Dim dim);
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Type& type);
/// Reads what to_string writes. Throws UserError.
Dim parse_dim(std::string_view text);
Shape parse_shape(std::string_view text);
DType parse_dtype(std::string_view text);

/// NumPy broadcasting: shapes are aligned at the last axis and a dimension of 1 is repeated. N broadcasts with N or 1 only.
/// Throws UserError naming both shapes.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace sinter
