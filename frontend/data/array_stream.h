// Arrays of files a part at a time: neither reading nor writing one takes its size in memory beside what it is read into or written from.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/data/array.h"
#include "frontend/data/narrow.h"

namespace sinter::data {

/// An array that a file holds. Elements are read once, in order.
class ArrayReader {
 public:
  /// Fills `into` with the next bytes of the file.
  using Source = std::function<void(std::span<std::byte> into)>;
  /// `where` is what errors name; `stored_size`: bytes of an element in the file, which `narrow` converts, if it is not null.
  ArrayReader(std::string where, DType dtype, std::vector<std::int64_t> shape, std::size_t stored_size, Narrow narrow, Source source)
      : where_(std::move(where)), dtype_(dtype), shape_(std::move(shape)), stored_size_(stored_size), narrow_(narrow), source_(std::move(source)) {}

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  /// The next elements, as many as `into` has room for. Throws UserError for values that do not fit, and what the file's reader throws.
  void read(std::span<std::byte> into);
  /// All of them.
  HostArray array();

 private:
  std::string where_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::size_t stored_size_;
  Narrow narrow_;
  Source source_;
  std::uint64_t next_ = 0;  ///< element
};

/// Called with each array of a file.
using ArrayVisitor = std::function<void(const std::string& name, ArrayReader& array)>;

/// An array to be written.
struct ArrayWriter {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  /// Fills `into` with the array's bytes, row-major and without padding, from this offset on.
  std::function<void(std::uint64_t offset, std::span<std::byte> into)> read;

  std::uint64_t bytes() const;
};
/// Writers of arrays that outlive them. Throws UserError `[where, name] …` for one whose bytes do not fit its shape.
std::vector<ArrayWriter> writers_of(const std::string& where, const std::vector<std::pair<std::string, HostArray>>& arrays);
/// Throws that error.
void require_bytes(const std::string& where, const HostArray& array);
/// Calls f with the array's bytes, some at a time.
void for_each_part(const ArrayWriter& array, const std::function<void(std::span<const std::byte>)>& f);

}  // namespace sinter::data
