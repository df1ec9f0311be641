// Tensors of doubles to and from the padded memory of the runtime, and what the tests of this room measure.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ir/reference.h"
#include "runtime/buffer.h"
#include "runtime/interpreter.h"
#include "runtime/isa/kernels.h"
#include "runtime/team.h"

namespace sinter::runtime {

/// A tensor of fixed shape with the values of a reference array.
struct Tensor {
  Type type;
  Buffer buffer;
  bool unpadded;

  /// Garbage, pad lanes and what follows included: whoever writes it has to write everything, and nothing else.
  explicit Tensor(const Type& t, bool without_pads = false)
      : type(t), buffer(Buffer::allocate(storage_bytes(t, {}, without_pads))), unpadded(without_pads) {
    std::memset(buffer.data(), 0x5a, size() + 64);
  }
  explicit Tensor(const ir::Array& array, bool without_pads = false) : Tensor(Type{array.dtype, Shape::fixed(array.extents)}, without_pads) {
    std::memset(buffer.data(), 0, size());
    for (std::int64_t i = 0; i < array.elements(); ++i) set(i, array.data[static_cast<std::size_t>(i)]);
  }

  View view() const { return {type, buffer.data(), unpadded}; }
  std::size_t size() const { return storage_bytes(type, {}, unpadded); }
  std::int64_t place(std::int64_t i) const {
    const Layout l = view().layout();
    return i / l.cols * l.stride + i % l.cols;
  }
  void set(std::int64_t i, double value) {
    with_element_type(type.dtype, [&]<class T>(T) { view().as<T>()[place(i)] = static_cast<T>(value); });
  }
  double get(std::int64_t i) const { return at(place(i)); }
  double at(std::int64_t place) const {
    return with_element_type(type.dtype, [&]<class T>(T) -> double { return view().as<T>()[place]; });
  }
  std::vector<double> values() const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < view().layout().elements(); ++i) result.push_back(get(i));
    return result;
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(buffer.data()), size()}; }
  bool ends_where_it_ends() const {
    const std::byte* end = buffer.data() + size();
    return std::all_of(end, end + 64, [](std::byte x) { return x == std::byte{0x5a}; });
  }
  bool pads_are_zero() const {
    const Layout l = view().layout();
    for (std::int64_t r = 0; r < l.rows; ++r)
      for (std::int64_t j = l.cols; j < l.stride; ++j)
        if (at(r * l.stride + j) != 0) return false;
    return true;
  }
};

inline ir::Array array(DType dtype, std::vector<std::int64_t> extents, std::vector<double> values) {
  ir::Array result(dtype, std::move(extents));
  result.data = std::move(values);
  return result;
}

/// Uniform values of the sample's range, exact in their type.
inline ir::Array random_array(const Type& type, double low, double high, std::mt19937& random) {
  ir::Array result(type.dtype, type.shape.extents(0));
  for (double& x : result.data) {
    x = low + (high - low) * (static_cast<double>(random()) / 4294967296.0);
    x = is_float(type.dtype) ? static_cast<double>(static_cast<float>(x)) : ir::wrap(type.dtype, std::floor(x));
  }
  return result;
}

inline ir::Array reference(const ir::Op& op, const Type& type, const std::vector<ir::Array>& in) {
  std::vector<const ir::Array*> pointers;
  for (const ir::Array& a : in) pointers.push_back(&a);
  return ir::evaluate(op, type, pointers, 1);
}

inline Type result_type(const ir::Op& op, const std::vector<ir::Array>& in) {
  std::vector<Type> types;
  for (const ir::Array& a : in) types.push_back({a.dtype, Shape::fixed(a.extents)});
  return ir::infer(op, types);
}

/// The op through the interpreter.
inline Tensor run(const ir::Op& op, const std::vector<ir::Array>& in) {
  std::vector<Tensor> tensors(in.begin(), in.end());
  std::vector<View> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  Tensor out(result_type(op, in));
  evaluate(op, views, out.view());
  return out;
}

/// Forces a number of threads while it lives.
struct ForcedThreads {
  explicit ForcedThreads(int threads) { force_threads(threads); }
  ~ForcedThreads() { force_threads(0); }
};

/// Calls f with each target that this CPU can run in use.
template <class F>
void for_each_target(F&& f) {
  for (std::size_t i = 0; i < isa::target_count(); ++i) {
    isa::use_target(i);
    SCOPED_TRACE(std::string(isa::kernels().target));
    f();
  }
  isa::use_target(isa::target_count() - 1);
}

}  // namespace sinter::runtime
