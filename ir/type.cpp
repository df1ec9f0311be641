#include "ir/type.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "ir/error.h"

namespace sinter {

namespace {
/// Ends an error.
constexpr const char* at_most_one_batch =
    "; sum over N first, as x^T y does, or give the batch a size, with which [N, N] is a shape: TrainerOptions::fixed_batch or Spec::fixed";
constexpr std::array<std::string_view, 5> dtype_names{"f32", "i32", "u32", "u8", "bool"};
}  // namespace

std::string_view name(DType type) { return dtype_names[static_cast<std::size_t>(type)]; }

std::size_t size_of(DType type) { return type == DType::u8 || type == DType::boolean ? 1 : 4; }

std::int64_t Dim::extent(Sizes sizes) const {
  if (is_rows()) throw InternalError("shape", "the row count of a table was asked for as a dimension");
  std::int64_t result = factor_;
  const bool overflows =
      (is_batch() && __builtin_mul_overflow(result, sizes.n, &result)) || (is_length() && __builtin_mul_overflow(result, sizes.t, &result));
  if (overflows) throw UserError("shape", str("too many elements: ", *this, " with N = ", sizes.n, is_length() ? str(" and T = ", sizes.t) : ""));
  return result;
}

std::optional<Dim> product(Dim a, Dim b) {
  std::int64_t factor = 0;
  if (a.is_rows() || b.is_rows() || (a.symbols_ & b.symbols_) || __builtin_mul_overflow(a.factor_, b.factor_, &factor)) return std::nullopt;
  return Dim(factor, static_cast<std::uint8_t>(a.symbols_ | b.symbols_));
}

std::optional<Dim> quotient(Dim a, Dim b) {
  if (b.factor_ == 0 || a.factor_ % b.factor_ != 0 || (b.symbols_ & ~a.symbols_)) return std::nullopt;
  return Dim(a.factor_ / b.factor_, static_cast<std::uint8_t>(a.symbols_ & ~b.symbols_));
}

Dim operator*(Dim a, Dim b) {
  if (a.is_rows() || b.is_rows()) throw UserError("shape", "a table's row count cannot be multiplied; only gather_rows reads a table");
  if (a.is_batch() && b.is_batch()) throw UserError("shape", str("at most one batch dimension per shape, got ", a, " times ", b, at_most_one_batch));
  if (a.is_length() && b.is_length())
    throw UserError("shape", str("at most one length per shape, got ", a, " times ", b, "; sum over T first, or declare a fixed length"));
  const std::optional<Dim> result = product(a, b);
  if (!result) throw UserError("shape", str("too many elements: ", a, " times ", b));
  return *result;
}

Shape::Shape(std::span<const Dim> dims) {
  if (dims.size() > max_rank) throw UserError("shape", str("at most ", max_rank, " dimensions, got ", dims.size()));
  rank_ = static_cast<std::uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
  int batches = 0, lengths = 0;
  for (const Dim d : *this) {
    if (d.factor() < 0) throw UserError("shape", str("a dimension cannot be negative, got ", d));
    batches += d.is_batch();
    lengths += d.is_length();
  }
  if (lengths > 1) throw UserError("shape", str("at most one length per shape, got ", *this, "; sum over T first, or declare a fixed length"));
  if (batches > 1) throw UserError("shape", str("at most one batch dimension per shape, got ", *this, at_most_one_batch));
}

Shape Shape::fixed(std::span<const std::int64_t> extents) {
  std::vector<Dim> dims(extents.begin(), extents.end());
  return Shape(std::span<const Dim>(dims));
}

bool Shape::has_batch() const {
  return std::any_of(begin(), end(), [](Dim d) { return d.is_batch(); });
}

bool Shape::has_length() const {
  return std::any_of(begin(), end(), [](Dim d) { return d.is_length(); });
}

bool Shape::is_fixed() const {
  return std::all_of(begin(), end(), [](Dim d) { return d.is_fixed(); });
}

Dim Shape::product(std::size_t first, std::size_t last) const {
  Dim result = 1;
  for (std::size_t i = first; i < last; ++i) result = result * dims_[i];
  return result;
}

std::vector<std::int64_t> Shape::extents(Sizes sizes) const {
  std::vector<std::int64_t> result;
  for (const Dim d : *this) result.push_back(d.extent(sizes));
  return result;
}

Shape Shape::at(Sizes sizes) const {
  Shape result = *this;
  for (std::size_t i = 0; i < rank_; ++i)
    if (!dims_[i].is_rows()) result.dims_[i] = dims_[i].extent(sizes);
  return result;
}

Shape Shape::with(std::size_t axis, Dim dim) const {
  std::vector<Dim> dims(begin(), end());
  dims.at(axis) = dim;
  return Shape(std::span<const Dim>(dims));
}

Shape Shape::insert(std::size_t axis, Dim dim) const {
  std::vector<Dim> dims(begin(), end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), dim);
  return Shape(std::span<const Dim>(dims));
}

Shape Shape::erase(std::size_t first, std::size_t last) const {
  std::vector<Dim> dims(begin(), end());
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.begin() + static_cast<std::ptrdiff_t>(last));
  return Shape(std::span<const Dim>(dims));
}

bool Shape::operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

std::string to_string(Dim dim) {
  if (dim.is_rows()) return "R";
  if (dim.is_fixed()) return std::to_string(dim.factor());
  return (dim.factor() == 1 ? "" : std::to_string(dim.factor())) + (dim.is_batch() ? "N" : "") + (dim.is_length() ? "T" : "");
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim d : shape) text += (text.size() > 1 ? "," : "") + to_string(d);
  return text + "]";
}

std::string to_string(const Type& type) { return std::string(name(type.dtype)) + to_string(type.shape); }

std::ostream& operator<<(std::ostream& out, DType type) { return out << name(type); }
std::ostream& operator<<(std::ostream& out, Dim dim) { return out << to_string(dim); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }
std::ostream& operator<<(std::ostream& out, const Type& type) { return out << to_string(type); }

Dim parse_dim(std::string_view text) {
  if (text == "R") return Dim::rows();
  std::string_view digits = text;
  const auto ends_with = [&](char symbol) {
    if (!digits.ends_with(symbol)) return false;
    digits.remove_suffix(1);
    return true;
  };
  const bool length = ends_with('T'), batch = ends_with('N');
  std::int64_t factor = 1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size() && factor >= 0;
  if (!is_number && !(digits.empty() && (length || batch)))
    throw UserError("shape", str("a dimension is k, N, T or R, or kN, kT or kNT, got '", text, "'"));
  const Dim symbols = (batch ? Dim::batch() : Dim(1)) * (length ? Dim::length() : Dim(1));
  return symbols.with_factor(factor);
}

Shape parse_shape(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') throw UserError("shape", str("a shape is written [N,70], got '", text, "'"));
  text = text.substr(1, text.size() - 2);
  std::vector<Dim> dims;
  while (!text.empty()) {
    const auto comma = text.find(',');
    dims.push_back(parse_dim(text.substr(0, comma)));
    text = comma == text.npos ? "" : text.substr(comma + 1);
  }
  return Shape(std::span<const Dim>(dims));
}

DType parse_dtype(std::string_view text) {
  const auto found = std::find(dtype_names.begin(), dtype_names.end(), text);
  if (found == dtype_names.end()) throw UserError("dtype", str("an element type is f32, i32, u32, u8 or bool, got '", text, "'"));
  return static_cast<DType>(found - dtype_names.begin());
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  const std::size_t lead = longer.rank() - shorter.rank();
  std::vector<Dim> dims(longer.begin(), longer.end());
  for (std::size_t i = 0; i < shorter.rank(); ++i) {
    const Dim x = longer[lead + i], y = shorter[i];
    if (x != y && x != Dim(1) && y != Dim(1))
      throw UserError(str("shapes ", a, " and ", b, " do not broadcast: ", x, " against ", y, "; equal dimensions or 1 are needed"));
    dims[lead + i] = x == Dim(1) ? y : x;
  }
  return Shape(std::span<const Dim>(dims));
}

}  // namespace sinter
