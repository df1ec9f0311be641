#include "frontend/compile/index_guard.h"

#include <algorithm>
#include <type_traits>

#include "ir/positions.h"
#include "runtime/isa/kernels.h"

namespace sinter {

std::optional<std::pair<std::size_t, Dim>> index_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (ir::is_leaf(node.op)) return std::nullopt;
  const ir::Access access = ir::access_of(graph, id);
  for (std::size_t k = 0; k < access.operands.size(); ++k)
    for (std::size_t d = 0; d < access.operands[k].size(); ++d)
      if (const auto& through = access.operands[k][d].through) return std::pair{*through, graph.node(node.inputs[k]).type.shape[d]};
  for (const ir::Axis& axis : access.axes)
    if (axis.kind == ir::Axis::Kind::scattered) return std::pair{std::size_t{0}, axis.extent};
  return std::nullopt;
}

namespace {

/// The node whose elements these are, in another shape or as other integers that leave none in or out of range.
ir::NodeId source_of(const ir::Graph& graph, ir::NodeId id) {
  for (;;) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::Reshape>(node.op) && !std::holds_alternative<ir::Cast>(node.op)) return id;
    const DType from = graph.node(node.inputs[0]).type.dtype;
    if (is_float(from) || (node.type.dtype == DType::u8 && size_of(from) > 1)) return id;
    id = node.inputs[0];
  }
}

}  // namespace

std::string fault_message(const ir::Graph& graph, ir::NodeId id, const std::optional<BadIndex>& bad) {
  const ir::Node& node = graph.node(id);
  if (std::holds_alternative<ir::ExactTotal>(node.op)) return str(ir::name(node.op), ": ", ir::total_message(node.type.dtype));
  if (const auto* scan = std::get_if<ir::Scan>(&node.op)) {
    const ir::Graph& body = scan->body.graph();
    for (ir::NodeId inner = 0; inner < body.size(); ++inner)
      if (const auto index = index_of(body, inner))
        return str("scan: ", ir::name(body.node(inner).op), ": an index that a step computes is outside [0, ", index->second,
                   "); check what the step makes of its carries");
    return "scan: an index that a step computes is out of range; check what the step makes of its carries";
  }
  const auto [operand, size] = *index_of(graph, id);
  const ir::Node &source = graph.node(source_of(graph, node.inputs[operand])),
                 &whole = std::holds_alternative<ir::Slice>(source.op) ? graph.node(source.inputs[0]) : source;
  const auto* input = std::get_if<ir::Input>(&whole.op);
  return str(ir::name(node.op), ": ", bad ? ir::outside_message(bad->value, bad->size, bad->place) : str("an index is outside [0, ", size, ") in "),
             input ? str("input '", graph.inputs()[static_cast<std::size_t>(input->index)].name, "'") : "the indices",
             "; check the labels or indices of this batch");
}

namespace {

std::optional<std::size_t> input_of(const ir::Node& node) {
  if (const auto* input = std::get_if<ir::Input>(&node.op)) return static_cast<std::size_t>(input->index);
  return std::nullopt;
}

/// Whether so many rows of indices are all in [0, size).
template <class T>
bool all_below(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t size) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof(std::uint32_t)) {
    if (rows * cols > 1) {  // as u32, a negative index is a great one
      const std::int64_t most = std::is_signed_v<T> ? std::min(size, std::int64_t{1} << 31) : size;
      return runtime::isa::kernels().whole_max.rows(reinterpret_cast<const std::uint32_t*>(data), rows, cols, stride) < most;
    }
  }
  const auto good = [&](T value) { return static_cast<double>(value) >= 0 && static_cast<double>(value) < static_cast<double>(size); };
  for (std::int64_t row = 0; row < rows; ++row)
    if (!std::all_of(data + row * stride, data + row * stride + cols, good)) return false;
  return true;
}

std::int64_t samples_of(const Tensor& tensor) { return tensor.rank() ? tensor.dim(0).factor() : 1; }
std::int64_t columns_of(const Tensor& tensor) { return tensor.rank() < 2 ? 1 : tensor.shape().back().factor(); }

/// Part of a tensor of indices: these samples, and of each row [first_column, last_column). Of a tensor of rank 0 or 1 a sample is an element.
struct Part {
  std::int64_t first, count, first_column, last_column;
};

/// Whether all of its elements are.
bool all_below(const Tensor& indices, const Part& part, std::int64_t size) {
  if (part.count == 0) return true;
  const Layout at = indices.view().layout();
  const bool flat = indices.rank() < 2;
  const std::int64_t rows_of_sample = flat ? 1 : at.rows / indices.dim(0).factor();
  return with_element_type(indices.dtype(), [&]<class T>(T) {
    const T* data = indices.view().as<T>();
    if (flat) return all_below(data + part.first, 1, part.count, part.count, size);
    return all_below(data + part.first * rows_of_sample * at.stride + part.first_column, part.count * rows_of_sample,
                     part.last_column - part.first_column, at.stride, size);
  });
}

/// The first of its elements that is not.
std::optional<BadIndex> first_bad(const Tensor& indices, const Part& part, std::int64_t size) {
  const Layout at = indices.view().layout();
  const std::int64_t each = indices.rank() ? indices.elements() / indices.dim(0).factor() : 1, columns = columns_of(indices);
  return with_element_type(indices.dtype(), [&]<class T>(T) -> std::optional<BadIndex> {
    const T* data = indices.view().as<T>();
    for (std::int64_t i = part.first * each; i < (part.first + part.count) * each; ++i) {
      if (i % columns < part.first_column || i % columns >= part.last_column) continue;
      if (const T value = data[i / at.cols * at.stride + i % at.cols]; !all_below(&value, 1, 1, 1, size))
        return BadIndex{static_cast<std::int64_t>(value), size, ir::place_of(indices.shape(), i)};
    }
    return std::nullopt;
  });
}

}  // namespace

IndexGuard::IndexGuard(const ir::Graph& graph) {
  if (std::none_of(graph.updates().begin(), graph.updates().end(), [](ir::NodeId id) { return id != ir::no_node; })) return;
  for (const ir::NodeId id : graph.topological_order()) {
    if (std::holds_alternative<ir::ExactTotal>(graph.node(id).op)) complete_ = false;
    const auto found = index_of(graph, id);
    if (!found) continue;
    const ir::Node& node = graph.node(id);
    const ir::Node& source = graph.node(source_of(graph, node.inputs[found->first]));
    Indices indices{.node = id, .size = found->second};
    if (std::holds_alternative<ir::Input>(source.op)) {
      indices.values = input_of(source);
    } else if (const auto* slice = std::get_if<ir::Slice>(&source.op)) {
      const Shape& all = graph.node(source.inputs[0]).type.shape;
      const bool has_columns = all.rank() > 1 && static_cast<std::size_t>(slice->axis) + 1 == all.rank();
      if (has_columns && slice->start.is_fixed() && slice->size.is_fixed()) {
        indices.values = input_of(graph.node(source.inputs[0]));
        indices.columns = Columns{slice->start.factor(), slice->start.factor() + slice->size.factor()};
      }
    } else if (std::holds_alternative<ir::GatherRows>(source.op)) {
      indices.rows = input_of(graph.node(source.inputs[1]));
      if (indices.rows) indices.values = input_of(graph.node(source.inputs[0]));
    } else if (std::holds_alternative<ir::Iota>(source.op)) {
      indices.count = source.type.shape.elements();
    }
    // A call of many steps has another N than its steps: what depends on N is left to the step.
    if (source.type.shape.has_batch() && indices.count) indices.count.reset();
    if (indices.size.is_rows()) indices.table = input_of(graph.node(node.inputs[0]));
    const bool is_known = (indices.values || indices.count) && (indices.table || !(indices.size.is_rows() || indices.size.is_batch()));
    if (!is_known) complete_ = false;
    else if (std::find(list_.begin(), list_.end(), indices) == list_.end()) list_.push_back(indices);
  }
}

void IndexGuard::check(const ir::Graph& graph, const InputOf& input, Sizes sizes) const {
  const auto count = [&](std::size_t i) {
    const std::int64_t all = samples_of(input(i));
    return graph.inputs()[i].kind == ir::InputSpec::Kind::batch ? std::min(all, sizes.n) : all;
  };
  const auto bad_of = [&](const Indices& indices) -> std::optional<BadIndex> {
    const std::int64_t size = indices.table ? samples_of(input(*indices.table)) : indices.size.extent(sizes);
    if (indices.count) return indices.count->extent(sizes) <= size ? std::nullopt : std::optional(BadIndex{size, size, {size}});
    const Tensor& values = input(*indices.values);
    const Columns columns = indices.columns.value_or(Columns{0, columns_of(values)});
    const auto in_samples = [&](std::int64_t first, std::int64_t samples) {
      const Part part{first, samples, columns.first, columns.last};
      return all_below(values, part, size) ? std::nullopt : first_bad(values, part, size);
    };
    if (!indices.rows) return in_samples(0, count(*indices.values));
    const Tensor& rows = input(*indices.rows);  // those are indices of another node, which comes first
    const Layout at = rows.view().layout();
    const std::int64_t taken = count(*indices.rows) * (rows.elements() / std::max<std::int64_t>(1, samples_of(rows)));
    return with_element_type(rows.dtype(), [&]<class T>(T) -> std::optional<BadIndex> {
      const T* data = rows.view().as<T>();
      for (std::int64_t i = 0; i < taken; ++i)
        if (auto bad = in_samples(static_cast<std::int64_t>(data[i / at.cols * at.stride + i % at.cols]), 1)) return bad;
      return std::nullopt;
    });
  };
  for (const Indices& indices : list_)
    if (const auto bad = bad_of(indices)) throw UserError(graph.node(indices.node).origin.text(), fault_message(graph, indices.node, bad));
}

}  // namespace sinter
