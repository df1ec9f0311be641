#include "frontend/core/apply.h"

#include <array>

#include "frontend/core/record_node.h"
#include "frontend/core/trace.h"

namespace sinter {

namespace {

constexpr std::size_t most_operands = 4;

Tensor evaluate(const ir::Op& op, std::span<const Tensor* const> in, const std::source_location& where) {
  std::array<Type, most_operands> types;
  std::array<runtime::View, most_operands> views;
  bool recorded = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]->is_traced())
      throw UserError(str("operand ", *in[i], " is traced, and its trace is over; return it from the compiled function instead"));
    if (!in[i]->defined()) throw UserError(str("operand ", i, " was never set"));
    types[i] = in[i]->type();
    views[i] = in[i]->view();
    recorded = recorded || in[i]->record();
  }
  const Type type = ir::infer(op, std::span(types.data(), in.size()));
  runtime::Buffer buffer = runtime::Buffer::allocate(runtime::storage_bytes(type));
  runtime::evaluate(op, std::span(views.data(), in.size()), {type, buffer.data()});
  if (!recorded || !is_float(type.dtype) || !ir::is_differentiable(op)) return {type, std::move(buffer)};
  auto* record = new Record;
  record->op = op;
  record->where = where;
  record->inputs.reserve(in.size());
  for (const Tensor* tensor : in) record->inputs.push_back(*tensor);
  return {type, std::move(buffer), RecordRef(record)};
}

}  // namespace

Tensor apply(const ir::Op& op, std::initializer_list<const Tensor*> in, const std::source_location& where) {
  const std::span operands(in.begin(), in.size());
  if (Trace* trace = Trace::current()) return trace->apply(op, operands, where);
  try {
    return evaluate(op, operands, where);
  } catch (const UserError& error) {
    throw UserError(Origin::from(where, current_layer()).text(), str(ir::name(op), ": ", error.what()));
  }
}

Tensor Tensor::detach() const {
  if (!is_traced()) return {type_, buffer_};
  return is_float(dtype()) ? apply(ir::StopGradient{}, {this}, std::source_location::current()) : *this;
}

}  // namespace sinter
