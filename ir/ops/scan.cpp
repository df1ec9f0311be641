#include "ir/ops/scan.h"

#include "ir/scan.h"

namespace sinter::ir {

Shape stacked_shape(const Shape& element, Dim length) { return element.insert(1, length); }

Type Scan::infer(std::span<const Type> in) const {
  if (!body.is_set()) throw UserError("has no body");
  if (carries < 0 || sequences < 0 || carries + sequences == 0)
    throw UserError(str("takes at least one carry or sequence, got ", carries, " and ", sequences));
  if (length.is_batch() || length.is_rows() || length.factor() < 1) throw UserError(str("takes 1 step or more, k or k·T, got ", length));
  const Graph& graph = body.graph();
  const std::size_t inner = carry_count() + sequence_count();
  if (in.size() != graph.inputs().size() || in.size() < inner)
    throw UserError(str("takes ", carries, " carries, ", sequences, " sequences and what else its body reads, ", graph.inputs().size(),
                        " operands, got ", in.size()));
  if (graph.outputs().size() < carry_count() || graph.outputs().empty())
    throw UserError(str("the body has ", graph.outputs().size(), " outputs, ", carries, " of which would be carries"));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Type& inside = graph.inputs()[i].type;
    if (in[i].shape.rank() && in[i].shape[0].is_rows()) throw UserError(str("operand ", i, " is a table, ", in[i], "; gather its rows first"));
    const bool is_sequence = i >= carry_count() && i < inner;
    if (is_sequence && (in[i].shape.rank() < 2 || in[i].shape[1] != length))
      throw UserError(str("operand ", i, " is a sequence of [N,", length, ",...], got ", in[i]));
    const Type element = is_sequence ? Type{in[i].dtype, in[i].shape.erase(1, 2)} : in[i];
    if (element != inside) throw UserError(str("operand ", i, " is ", element, " for a step, its body takes ", inside));
  }
  for (std::size_t i = 0; i < carry_count(); ++i) {
    const Type &before = in[i], after = graph.node(graph.outputs()[i]).type;
    if (!is_float(before.dtype)) throw UserError(str("carry ", i, " is ", before, "; carries are f32"));
    if (before != after) throw UserError(str("carry ", i, " is ", before, ", and the body makes ", after, " of it"));
  }
  check_steps(graph, carry_count(), sequence_count());
  return packed_type;
}

Access Scan::access(std::span<const Type> in, const Shape& result) const {
  Access access = Access::over(result);
  for (const Type& type : in) access.operands.emplace_back(type.shape.rank());
  return access;
}

std::size_t Scan::result_count() const { return body.graph().outputs().size(); }

Type Scan::result(std::size_t index) const {
  const Graph& graph = body.graph();
  const Type& type = graph.node(graph.outputs()[index]).type;
  return index < carry_count() ? type : Type{type.dtype, stacked_shape(type.shape, length)};
}

Type ScanResult::infer(std::span<const Type> in) const {
  require_inputs(in, 1);
  return {dtype, shape};
}

Access ScanResult::access(std::span<const Type>, const Shape& result) const {
  Access access = Access::over(result);
  access.operands.emplace_back();
  return access;
}

}  // namespace sinter::ir
