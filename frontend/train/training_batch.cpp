#include "frontend/train/training_batch.h"

#include "frontend/nn/mask.h"

namespace sinter {

TrainingBatch::TrainingBatch(std::span<const Tensor> in, const Trainer::Impl& impl) {
  const std::size_t inputs = impl.x_types.size(), outputs = impl.y_types.size();
  const Tensor& samples = in[inputs + outputs];
  std::size_t next = inputs + outputs + 1;  // of the inputs
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!is_of_sequences(impl.x_types[i])) {
      x.push_back(impl.as_feature(gather_rows(in[i], samples)));
      continue;
    }
    const Tensor &rows = in[next++], &mask = in[next++];
    x.push_back(nn::with_mask(impl.as_feature(padded_steps(in[i], rows, mask)), mask));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    const Tensor& table = in[inputs + i];
    if (!is_of_sequences(impl.y_types[i])) {
      y.push_back(gather_rows(table, samples));
      exists.emplace_back();
      continue;
    }
    const Tensor &rows = in[next++], &mask = in[next++];
    y.push_back(padded_steps(table, rows, mask));
    exists.push_back(mask);
  }
  if (in.size() > next) weights = gather_rows(in.back(), samples);
}

Tensor TrainingBatch::counted(std::size_t output, const Tensor& prediction) const {
  return exists[output].defined() ? exists[output] : nn::mask_of(prediction);
}

BatchLoss::BatchLoss(const Losses& losses, std::span<const Tensor> predictions, const TrainingBatch& batch) {
  if (predictions.size() != losses.size() || batch.y.size() != losses.size())
    throw UserError("Trainer", str("needs as many losses and targets as the model has outputs: the model gives ", predictions.size(), ", there are ",
                                   losses.size(), " losses and ", batch.y.size(), " targets"));
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto& [loss, factor] = losses[i];
    const Tensor counted = batch.counted(i, predictions[i]), &y = batch.y[i], &weights = batch.weights;
    each.push_back(counted.defined()   ? loss.of_steps(predictions[i], y, counted, weights)
                   : weights.defined() ? loss(predictions[i], y, weights)
                                       : loss(predictions[i], y));
    const Tensor part = factor == 1 ? each[i] : each[i] * factor;
    total = total.defined() ? total + part : part;
  }
}

std::vector<Tensor> results_of(const BatchLoss& loss, std::span<const Tensor> predictions, const TrainingBatch& batch, bool for_metrics) {
  std::vector<OutputTypes> types;
  for (std::size_t i = 0; i < predictions.size(); ++i)
    types.push_back({predictions[i].type(), batch.y[i].type(), batch.counted(i, predictions[i]).defined()});
  const ResultLayout layout(types, for_metrics);
  std::vector<Tensor> result(layout.count);
  result[0] = loss.total;
  for (std::size_t i = 0; i < layout.outputs.size(); ++i) {
    const ResultLayout::Output& at = layout.outputs[i];
    const Tensor counted = batch.counted(i, predictions[i]);
    if (at.loss) result[*at.loss] = loss.each[i];
    if (at.counted) result[*at.counted] = sum(counted);
    if (at.correct) {
      const Tensor hit = equal(argmax(predictions[i]), cast(batch.y[i], DType::i32)), greatest = max(predictions[i], {-1});
      const Tensor right = logical_and(hit, equal(greatest, greatest));  // NaN, if there is one, is the greatest
      result[*at.correct] = sum(counted.defined() ? logical_and(right, counted) : right);
    }
    if (at.prediction) result[*at.prediction] = counted.defined() ? nn::where_exists(counted, predictions[i]) : predictions[i];
    if (at.exists) result[*at.exists] = counted;
  }
  return result;
}

}  // namespace sinter
