// Descriptions as bytes, for keys: two are equal if and only if what they describe is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ir/graph.h"

namespace sinter::codegen {

/// Numbers as in memory, texts and lists after their length: no two sequences of calls give the same bytes.
class Bytes {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
  }
  void add(Dim dim) {
    add(dim.is_batch());
    add(dim.is_length());
    add(dim.is_rows());
    add(dim.factor());
  }
  void add(const Shape& shape) {
    add(shape.rank());
    for (const Dim dim : shape) add(dim);
  }
  void add(const Type& type) {
    add(type.dtype);
    add(type.shape);
  }
  void add(const ir::Body& body) { add(std::string_view(body.text())); }
  void add(std::span<const ir::NodeId> ids) {
    add(ids.size());
    for (const ir::NodeId id : ids) add(id);
  }
  void add(const ir::Op& op) {
    add(ir::name(op));
    const ir::Attributes attributes = ir::attributes(op);
    add(attributes.size());
    for (const auto& [name, value] : attributes) {
      add(std::string_view(name));
      add(value.index());
      std::visit([&](const auto& v) { add(v); }, value);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace sinter::codegen
