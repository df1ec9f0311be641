// What the subcommands share about model files.
#pragma once

#include <sinter/sinter.h>

#include <string>

namespace sinter::cli {

/// Numbers per sample that the model of the file `path` predicts. Throws UserError unless it takes one input and returns f32[N, numbers].
std::int64_t outputs_of(Trainer& trainer, const std::string& path);

/// Probabilities [N, classes] of a classifier's predictions: logits or, where the model ends in softmax or sigmoid, probabilities; [N, 1] of two
/// classes is of the second.
Tensor class_probabilities(Trainer& trainer, const Tensor& prediction);

/// Numbers per sample that it takes. Throws UserError unless its samples are rows of numbers.
std::int64_t inputs_of(Trainer& trainer, const std::string& path);

/// The encoder that sinter train put into the file. Throws UserError unless it fits the model.
data::Encoder encoder_of(Trainer& trainer, const std::string& path);

/// A step of a model file: train or predict.
StepCore& step_of(Trainer& trainer, const std::string& name);

/// Inputs for a step: `samples` samples, uniform in [-1, 1) (f32) or 0 (integers), and tables of as many rows.
std::vector<Tensor> sample_inputs(const StepCore& step, std::int64_t samples);

}  // namespace sinter::cli
