// What sinter train learns from: a table, arrays, or a folder of images, as samples and targets.
#pragma once

#include <sinter/sinter.h>

#include <optional>
#include <string>
#include <vector>

namespace sinter::cli {

struct TaskSettings {
  std::string data, labels, target, encoding = "utf-8";
  std::string categorical, ignore, missing;  // lists, with commas
  double validation_split = 0.2;
  std::uint64_t seed = 0;
  std::int64_t classes = 0;  ///< of class numbers; 0: as many as the greatest asks for, up to a thousand
  char delimiter = ',', decimal = '.';
};

struct Task {
  Dataset train;
  std::optional<Dataset> validation;
  std::optional<data::Encoder> encoder;  ///< of a table
  std::int64_t inputs = 0, outputs = 0;  ///< numbers a sample that the model takes and gives
  bool classes = false;                  ///< the targets are class numbers
  std::string columns;                   ///< what the columns of a table were taken for, a line each
};

/// From a CSV file (with `target`, a column), a .npy or IDX file (with `labels`, another), or a folder with the four IDX files of MNIST. Rows are
/// held out for validation in an order that the seed gives; of a folder, the test images are. Throws UserError for what is missing or does not fit.
Task load_task(const TaskSettings& settings);

/// Samples [n, ...] as [n, numbers a sample].
Tensor flattened(const Tensor& samples);

/// "a,b" as a and b; nothing of an empty text.
std::vector<std::string> parts_of(const std::string& list);

}  // namespace sinter::cli
