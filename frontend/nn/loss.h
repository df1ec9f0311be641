// Losses: scalars, means over the batch.
#pragma once

#include <vector>

#include "frontend/core/ops.h"

namespace sinter::loss {

/// Between predictions p [N, C] and targets, one-hot f32 [N, C] or class numbers (integers, [N]): mean over the batch of -sum(y log q) with
/// q = clip(p / sum(p), 1e-7, 1 - 1e-7), as Keras defines it for probabilities.
Tensor categorical_crossentropy(const Tensor& prediction, const Tensor& target);

/// The same from logits: mean of -sum(y log_softmax(logits)), with nothing clipped.
Tensor categorical_crossentropy_from_logits(const Tensor& logits, const Tensor& target);

/// Both for class numbers [N] alone. Throws UserError for another target.
Tensor sparse_categorical_crossentropy(const Tensor& prediction, const Tensor& target);
Tensor sparse_categorical_crossentropy_from_logits(const Tensor& logits, const Tensor& target);

/// Mean of (p - y)^2 over all elements. Both of one shape.
Tensor mean_squared_error(const Tensor& prediction, const Tensor& target);

/// factor · sum over the parameters of sum(w^2), to be added to a loss.
Tensor l2(float factor, const std::vector<Parameter>& parameters);

}  // namespace sinter::loss
