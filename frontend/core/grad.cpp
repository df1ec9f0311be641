#include "frontend/core/grad.h"

#include <algorithm>
#include <array>

#include "frontend/core/ops.h"
#include "frontend/core/pull_back.h"
#include "frontend/core/record_node.h"
#include "frontend/core/trace.h"

namespace sinter {

namespace {

/// Gradients with respect to `wrt`; undefined where that is undefined or the loss does not depend on it.
std::vector<Tensor> gradients(const Tensor& loss, std::span<const Tensor> wrt, const std::source_location& where) {
  std::vector<Tensor> wanted;
  for (const Tensor& w : wrt)
    if (w.defined()) wanted.push_back(w);
  Trace* trace = Trace::current();
  const std::vector<Tensor> found = trace ? trace->gradients(loss, wanted, where) : pull_back({&loss, 1}, std::array{Tensor(1.0f)}, wanted);
  std::vector<Tensor> result(wrt.size());
  for (std::size_t i = 0, next = 0; i < wrt.size(); ++i)
    if (wrt[i].defined()) result[i] = found[next++];
  return result;
}

Tensor zeros(const Type& type) { return Trace::current() ? broadcast_to(0, type.shape) : Tensor::zeros(type); }

/// `wrt_any`: whether any gradient is asked for that is not known to be 0.
void require_loss(const Tensor& loss, bool wrt_any, const std::string& origin) {
  if (loss.type() != Type{}) throw UserError(origin, str("grad needs a scalar f32 loss, got ", loss.type(), "; take its mean or sum first"));
  if (wrt_any && !Trace::current() && !loss.record())
    throw UserError(origin,
                    "the loss was not computed from trainable parameters or watched tensors, so it has no gradient; was it detached or returned "
                    "by a compiled step?");
}

}  // namespace

std::vector<Tensor> grad(const Tensor& loss, std::span<const Parameter> parameters, GradOptions options, std::source_location where) {
  const std::string origin = Origin::from(where, current_layer()).text();
  std::vector<Tensor> wrt;
  for (const Parameter& p : parameters) wrt.push_back(p.trainable() ? p.read() : Tensor());
  require_loss(loss, std::any_of(wrt.begin(), wrt.end(), [](const Tensor& t) { return t.defined(); }), origin);
  std::vector<Tensor> result = gradients(loss, wrt, where);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (wrt[i].defined() && !options.allow_unused)
      throw UserError(origin, str("the loss does not depend on parameter '", parameters[i].name(), "'; leave it out or pass {.allow_unused = true}"));
    result[i] = zeros(parameters[i].type());
  }
  return result;
}

std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> tensors, GradOptions options, std::source_location where) {
  const std::string origin = Origin::from(where, current_layer()).text();
  require_loss(loss, !tensors.empty(), origin);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_float(tensors[i].dtype())) throw UserError(origin, str("tensor ", i, " is ", tensors[i].type(), ", and only f32 tensors have gradients"));
    if (!tensors[i].is_traced() && !tensors[i].record())
      throw UserError(origin, str("tensor ", i, ", ", tensors[i].type(),
                                  ", is a constant in this computation; compute the loss from watch(x), and its gradient by that"));
  }
  std::vector<Tensor> result = gradients(loss, tensors, where);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (!options.allow_unused)
      throw UserError(origin,
                      str("the loss does not depend on tensor ", i, ", ", tensors[i].type(), "; leave it out or pass {.allow_unused = true}"));
    result[i] = zeros(tensors[i].type());
  }
  return result;
}

Tensor watch(const Tensor& x, std::source_location where) {
  if (!x.defined()) throw UserError(Origin::from(where, current_layer()).text(), "watch: the tensor was never set");
  if (!is_float(x.dtype()))
    throw UserError(Origin::from(where, current_layer()).text(), str("watch: only f32 tensors have gradients, got ", x.type(), "; cast it first"));
  if (Trace::current() || x.record()) return x;
  return {x, make_record(Record::Watched{})};
}

}  // namespace sinter
