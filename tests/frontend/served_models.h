// Small models in files, for tests of what serves them.
#pragma once

#include "tests/frontend/helpers.h"

namespace sinter::test {

/// In the mode that this build has.
inline const serve::ScorerOptions here{.mode = modes().back()};

/// A table of payments: a number, a category, and what they are.
inline data::Table payments() {
  return {{"amount", "town", "kind"},
          {{"1", "2.5", "", "40", "3"}, {"Bonn", "Ulm", "Bonn", "", "Ulm"}, {"normal", "normal", "normal", "fraud", "odd"}}};
}

/// Writes a model without training, with the weights of a seed: `outputs` logits of classes or numbers of a dense layer, from `inputs` numbers.
inline void save_dense(const std::string& path, std::int64_t inputs, std::int64_t outputs, bool classes, std::uint64_t weights = 1,
                       const data::Encoder* encoder = nullptr) {
  seed(weights);
  nn::Sequential model{nn::Dense(inputs, outputs, Activation::none, {.bias = init::normal(0, 1)})};
  Trainer trainer(model, classes ? loss::sparse_categorical_crossentropy_from_logits : loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  const Tensor y = classes ? random_labels(4, static_cast<std::uint32_t>(outputs), 2) : random({4, outputs}, 3);
  (void)trainer.evaluate({random({4, inputs}, 1), y});
  if (encoder) trainer.set_metadata("encoder", encoder->to_json());
  else trainer.set_metadata("task", classes ? "classes" : "numbers");
  trainer.save(path);
}

/// A model of a table with its encoder.
inline data::Encoder save_model_of(const std::string& path, const data::Table& table, const data::EncoderOptions& options,
                                   std::uint64_t weights = 1) {
  const data::Encoder encoder = data::Encoder::fit(table, options);
  const bool classes = encoder.is_classification();
  save_dense(path, encoder.width(), classes ? static_cast<std::int64_t>(encoder.classes().size()) : 1, classes, weights, &encoder);
  return encoder;
}

}  // namespace sinter::test
