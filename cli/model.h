// What the subcommands share about model files.
#pragma once

#include <sinter/sinter.h>

#include <optional>
#include <string>
#include <vector>

namespace sinter::cli {

/// Numbers per sample that the model of the file `path` predicts. Throws UserError unless it takes one input and returns f32[N, numbers].
std::int64_t outputs_of(Trainer& trainer, const std::string& path);

/// Probabilities [N, classes] of a classifier's predictions: logits or, where the model ends in softmax or sigmoid, probabilities; [N, 1] of two
/// classes is of the second.
Tensor class_probabilities(Trainer& trainer, const Tensor& prediction);

/// The shape of a sample that it takes. Throws UserError unless it takes one input of samples of one shape.
Shape sample_of(Trainer& trainer, const std::string& path);

/// Whether the model reproduces its samples (sinter train --target self), so that what tells is its error.
bool is_autoencoder(const Trainer& trainer);

/// The name of the column of texts that a model of sinter train reads; none if it reads no texts.
std::optional<std::string> text_column_of(const Trainer& trainer);

/// "20000 words", "8000 pieces".
std::string counted_entries(const data::Vocabulary& vocabulary);

/// The encoder that sinter train put into the file. Throws UserError unless it fits the model.
data::Encoder encoder_of(Trainer& trainer, const std::string& path);

/// Names as text for a model's file, and back. Throws UserError for text that is damaged.
std::string names_json(const std::vector<std::string>& names);
std::vector<std::string> names_of(const std::string& text, const std::string& path);

/// Whether a state of a trainer is one of its optimizer's, as adam/step is.
bool is_of_optimizer(const Parameter& state);

/// A step of a model file: train or predict.
StepCore& step_of(Trainer& trainer, const std::string& name);

/// Inputs for a step: `samples` samples, uniform in [-1, 1) (f32), 0 (integers) or true, and tables of as many rows; sequences have 32 steps.
std::vector<Tensor> sample_inputs(const StepCore& step, std::int64_t samples);

}  // namespace sinter::cli
