// The data of sinter train: a table, arrays, or a folder of images, as samples and targets.
#pragma once

#include <sinter/sinter.h>

#include <optional>
#include <string>
#include <vector>

namespace sinter::cli {

struct TaskSettings {
  std::string data, labels, target, encoding = "utf-8";
  std::string categorical, columns, ignore, missing;  // lists, with commas
  std::string keep, train_on;                         // lists of conditions, with commas
  std::string scaling = "standard";                   // a list of one for all columns and COLUMN=SCALING, with commas
  std::string normalize;
  double pca = 0;                ///< a number of components, or a share of the variance below 1; 0: none
  std::string thousands, strip;  // the latter a list, with spaces or commas
  double validation_split = 0.2;
  std::uint64_t seed = 0;
  std::int64_t classes = 0;  ///< number of classes; 0: the greatest class number + 1, up to a thousand
  char delimiter = ',', decimal = '.';
};

struct Task {
  Dataset train;
  std::optional<Dataset> validation;
  std::optional<data::Encoder> encoder;  ///< of a table
  std::int64_t inputs = 0, outputs = 0;  ///< numbers per sample that the model takes and returns
  bool classes = false;                  ///< the targets are class numbers
  std::vector<std::int64_t> image = {};  ///< {height, width} or {height, width, channels} of samples that are images
  std::string columns;                   ///< how the columns and rows of a table are used, one line each
};

/// From a CSV file (with `target`, a column), a .npy or IDX file (with `labels`, another), or a folder with the four IDX files of MNIST. Rows are
/// held out for validation at random, by the seed; of a folder, the test images are. Throws UserError for what is missing or does not fit.
Task load_task(const TaskSettings& settings);

/// Elements along an axis of an array.
inline std::int64_t extent(const Tensor& array, std::size_t axis) { return array.shape()[axis].factor(); }

/// Samples [n, ...] of a .npy or IDX file as [n, numbers per sample].
Tensor samples_of(const std::string& path);
/// Targets of such a file: class numbers [n], or numbers [n, numbers per sample].
Tensor targets_of(const std::string& path);

/// "a,b" as a and b; an empty list for an empty text.
std::vector<std::string> parts_of(const std::string& list, std::string_view separators = ",");

}  // namespace sinter::cli
