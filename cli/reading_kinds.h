// The kinds of data that a model reads, and what they share.
#pragma once

#include "cli/reading.h"

namespace sinter::cli {

/// A table, or texts, for a model with this encoder.
Reading read_table_for(Trainer& trainer, const ReadingSettings& settings, const data::Encoder& encoder);
/// Texts for a model that a program saved with its vocabulary.
Reading read_texts_for(Trainer& trainer, const ReadingSettings& settings);
/// A .npy or IDX file with that of --labels, images, a folder of images, or one with MNIST's files, whose test set is read.
Reading read_arrays_for(Trainer& trainer, const ReadingSettings& settings);

/// What a model predicts whose data name no target: classes, if the file says so, else numbers as they are.
Reading of_outputs(const Trainer& trainer, const std::string& path, std::int64_t outputs);

}  // namespace sinter::cli
