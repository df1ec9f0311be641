// The data of sinter train: a table, arrays, or a folder of images, and the samples and targets that are made of it.
#pragma once

#include <sinter/sinter.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/csv_format.h"

namespace sinter::cli {

struct TaskSettings {
  std::string data, labels, target;
  std::string text;                                   // a column
  std::string categorical, columns, ignore, missing;  // lists, with commas
  std::string keep, train_on;                         // lists of conditions, with commas
  std::string scaling = "standard";                   // a list of one for all columns and COLUMN=SCALING, with commas
  std::string normalize;
  double pca = 0;                ///< a number of components, or a share of the variance below 1; 0: none
  std::string thousands, strip;  // the latter a list, with spaces or commas
  double validation_split = 0.2;
  bool stratified = false;  ///< rows are held out so that each class keeps its share
  std::uint64_t seed = 0;
  std::int64_t classes = 0;                          ///< number of classes; 0: the greatest class number + 1, up to a thousand
  std::int64_t max_words = 20000, max_length = 200;  ///< of a vocabulary; of a text
  std::string keep_words = "last";                   ///< of a text that is longer: first or last
  std::string subwords;                              ///< a SentencePiece model, whose pieces are read in place of words
  std::int64_t channels = 3;                         ///< of images from a folder: 3 for colours, 1 for grey
  bool keeps_shape = false;                          ///< samples stay images or series; else they are rows of numbers
  CsvSettings csv;
  char decimal = '.';
};

struct Task {
  Dataset train;
  std::optional<Dataset> validation;
  std::optional<data::Encoder> encoder;        ///< of a table
  std::optional<data::Vocabulary> vocabulary;  ///< of its texts
  std::vector<Type> samples = {};              ///< what the model takes of each x: [N, ...]
  std::int64_t outputs = 0;                    ///< numbers per sample that it returns
  bool classes = false;                        ///< the targets are class numbers
  bool is_self = false;                        ///< the targets are the samples: an autoencoder
  std::vector<std::string> class_names = {};   ///< of a folder of images: its subfolders
  std::vector<std::int64_t> image = {};        ///< {height, width} or {height, width, channels} of samples that are images
  std::string columns;                         ///< how the columns and rows of a table are used, one line each
};

/// What was read, of which tasks are made that train on some of its rows.
struct TaskData {
  std::int64_t rows = 0;
  /// Trains on some rows and is judged by others: what a task knows of the data before training, it has from the former.
  std::function<Task(const data::RowSplit&)> task;
  std::function<std::vector<std::int64_t>()> classes;  ///< of each row; none if the targets are numbers
  bool has_test_set = false;                           ///< besides the rows: what judges a task that holds out none
};

/// A table (with `target`, and perhaps `text`, columns of it), a .npy or IDX file (with `labels`, another), a folder with a subfolder of images per
/// class, or one with the four IDX files of MNIST. A table is a CSV file, a file of JSON lines (.jsonl or .ndjson) or, with `text`, a folder with a
/// subfolder of texts per class. The target "self" stands for the samples, unless it is a column. Throws UserError for what is missing or does not
/// fit.
TaskData load(const TaskSettings& settings);

/// The rows to train on and those held out, at random by the seed; all to train on if the data has a test set.
data::RowSplit held_out(const TaskData& data, const TaskSettings& settings);
/// `count` times the rows to train on and those held out, each row once; each fold has its share of each class.
std::vector<data::RowSplit> folds(const TaskData& data, std::size_t count, const TaskSettings& settings);

/// Elements along an axis of an array.
inline std::int64_t extent(const Tensor& array, std::size_t axis) { return array.shape()[axis].factor(); }

/// Samples [n, ...] as numbers f32 [n, numbers per sample], bytes as parts of 255: what an autoencoder reproduces.
Tensor numbers_of(const Tensor& samples);

/// Samples [n, ...] of a .npy or IDX file as [n, numbers per sample].
Tensor samples_of(const std::string& path);
/// Targets of such a file: class numbers [n], or numbers [n, numbers per sample].
Tensor targets_of(const std::string& path);

/// Whether a folder has others in it, as one with a subfolder of images per class.
bool has_subfolders(const std::string& folder);

/// A table of a file or, with a text column, of a folder; see load_task.
data::Table read_table(const std::string& path, bool has_text, const data::CsvOptions& options);

/// "a,b" as a and b; an empty list for an empty text.
std::vector<std::string> parts_of(const std::string& list, std::string_view separators = ",");

}  // namespace sinter::cli
