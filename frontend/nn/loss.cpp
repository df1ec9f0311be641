#include "frontend/nn/loss.h"

#include "frontend/core/trace.h"

namespace sinter::loss {

namespace {

constexpr float epsilon = 1e-7f;

/// One-hot targets [N, C], of class numbers [N] if need be.
Tensor one_hot_targets(const Tensor& prediction, const Tensor& target, const char* loss) {
  if (prediction.rank() != 2) throw UserError(loss, str("predictions must be [batch, classes], got ", prediction.type()));
  if (!is_index(target.dtype())) {
    if (target.shape() != prediction.shape())
      throw UserError(loss, str("targets must be class numbers [batch] or one-hot ", prediction.shape(), ", got ", target.type()));
    return target;
  }
  if (target.rank() != 1 || target.dim(0) != prediction.dim(0))
    throw UserError(loss, str("class numbers must be [", prediction.dim(0), "], got ", target.type()));
  return one_hot(target, prediction.dim(1).factor());
}

void require_class_numbers(const Tensor& target, const char* loss) {
  if (!is_index(target.dtype()))
    throw UserError(
        loss, str("targets must be class numbers (integers, [batch]), got ", target.type(), "; categorical_crossentropy takes one-hot targets"));
}

/// Mean over the batch of -sum(y log q).
Tensor mean_negative(const Tensor& y, const Tensor& log_q) { return mean(-sum(y * log_q, {-1})); }

}  // namespace

Tensor categorical_crossentropy(const Tensor& prediction, const Tensor& target) {
  const Tensor y = one_hot_targets(prediction, target, "categorical_crossentropy");
  const Tensor q = clip(prediction / sum(prediction, {-1}, true), epsilon, 1 - epsilon);
  return mean_negative(y, log(q));
}

Tensor categorical_crossentropy_from_logits(const Tensor& logits, const Tensor& target) {
  return mean_negative(one_hot_targets(logits, target, "categorical_crossentropy_from_logits"), log_softmax(logits));
}

Tensor sparse_categorical_crossentropy(const Tensor& prediction, const Tensor& target) {
  require_class_numbers(target, "sparse_categorical_crossentropy");
  return categorical_crossentropy(prediction, target);
}

Tensor sparse_categorical_crossentropy_from_logits(const Tensor& logits, const Tensor& target) {
  require_class_numbers(target, "sparse_categorical_crossentropy_from_logits");
  return categorical_crossentropy_from_logits(logits, target);
}

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target) {
  if (prediction.shape() != target.shape())
    throw UserError("mean_squared_error", str("prediction and target must have one shape, got ", prediction.type(), " and ", target.type()));
  return mean(square(prediction - target));
}

Tensor l2(float factor, const std::vector<Parameter>& parameters) {
  if (parameters.empty()) throw UserError("l2", "needs at least one parameter");
  Tensor total;
  for (const Parameter& parameter : parameters) {
    const Tensor squares = sum(square(parameter));
    total = total.defined() ? total + squares : squares;
  }
  return total * factor;
}

}  // namespace sinter::loss
