#include "frontend/core/apply.h"

#include <array>

#include "frontend/core/record_node.h"
#include "frontend/core/reshaped.h"
#include "frontend/core/trace.h"
#include "runtime/interpreter.h"

namespace sinter {

namespace {

constexpr std::size_t most_fixed_operands = 4;  // ops with more allocate for them

Tensor evaluate(const ir::Op& op, std::span<const Tensor* const> in, const std::source_location& where) {
  std::array<Type, most_fixed_operands> fixed_types;
  std::array<runtime::View, most_fixed_operands> fixed_views;
  std::vector<Type> more_types(in.size() > most_fixed_operands ? in.size() : 0);
  std::vector<runtime::View> more_views(more_types.size());
  const std::span<Type> types = more_types.empty() ? std::span(fixed_types.data(), in.size()) : std::span(more_types);
  const std::span<runtime::View> views = more_views.empty() ? std::span(fixed_views.data(), in.size()) : std::span(more_views);
  bool recorded = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]->is_traced())
      throw UserError(str("operand ", *in[i], " is traced, and its trace has ended; return it from the compiled function instead"));
    if (!in[i]->defined()) throw UserError(str("operand ", i, " was never set"));
    types[i] = in[i]->type();
    views[i] = in[i]->view();
    recorded = recorded || in[i]->record();
  }
  const Type type = ir::infer(op, types);
  Tensor result = in.size() == 1 ? reshaped_in_place(op, *in[0], type) : Tensor();
  if (!result.defined()) {
    result = Tensor::result(type);
    runtime::evaluate(op, views, result.view());
  }
  if (!recorded || !is_float(type.dtype) || !ir::is_differentiable(op)) return result;
  Record::Applied applied{op, {}, where};
  applied.inputs.reserve(in.size());
  for (const Tensor* tensor : in) applied.inputs.push_back(*tensor);
  return {result, make_record(std::move(applied))};
}

}  // namespace

Tensor apply(const ir::Op& op, std::span<const Tensor* const> in, const std::source_location& where) {
  const auto made_here = [&](Tensor result) {
    result.set_made(where);
    return result;
  };
  if (Trace* trace = Trace::current()) return made_here(trace->apply(op, in, where));
  try {
    return made_here(evaluate(op, in, where));
  } catch (const UserError&) {
    rethrow_at(Origin::from(where, current_layer()).text(), str(ir::name(op), ": "));
  }
}

Tensor Tensor::detach() const {
  if (!is_traced()) return {*this, RecordRef()};
  return is_float(dtype()) ? apply(ir::StopGradient{}, {this}, std::source_location::current()) : *this;
}

}  // namespace sinter
