// Data as the model of a file reads them: what sinter predict and sinter evaluate give it.
#pragma once

#include <sinter/sinter.h>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/csv_format.h"

namespace sinter::cli {

/// What is to be read.
struct ReadingSettings {
  std::string model, data, labels;
  std::vector<std::string> images;  ///< PNG or JPEG files, in place of data
  bool invert = false;              ///< images: dark for light
  std::vector<std::string> texts;   ///< in place of data; "-" stands for the lines of standard input
  CsvSettings csv;
};

/// Names and units of predictions, and the true targets if the data has them.
struct Reading {
  Columns x;
  Tensor truth;
  std::string target;
  std::vector<std::string> classes;  ///< none for numbers
  std::vector<std::size_t> rows;     ///< of the data, from 1; empty if the encoder leaves none out
  double unit = 1, offset = 0;       ///< a number is prediction · unit + offset
  bool is_self = false;              ///< the model reproduces its samples, and predictions are its errors

  /// Judges predictions by the truth, which must be defined: a line for each metric. Those of a model that reproduces its samples are the truth.
  void judge(const Tensor& prediction, std::ostream& out) const;
};

/// A table or texts for a model that sinter train made of a table, arrays for others. Throws UserError for data that the model cannot take.
Reading read_for(Trainer& trainer, const ReadingSettings& settings);

/// What was read, for errors.
std::string name_of(const ReadingSettings& settings);

/// Options that say what is read.
void add_reading_options(CLI::App& command, ReadingSettings& settings);

/// The model's predictions: numbers, probabilities of classes or, of a model that reproduces its samples, the mean of the squared differences between
/// the numbers of a sample and those that it makes of them.
Tensor predictions_of(Trainer& trainer, const Reading& reading, const ReadingSettings& settings);

}  // namespace sinter::cli
