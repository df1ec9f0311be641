#include "cli/task.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/task_kinds.h"

namespace sinter::cli {

namespace {

/// Class numbers of any type.
std::vector<std::int64_t> class_numbers(const Tensor& y) {
  const auto read = [&]<class T>(T) {
    const std::vector<T> values = y.to_vector<T>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  return y.dtype() == DType::u8 ? read(std::uint8_t{}) : y.dtype() == DType::u32 ? read(std::uint32_t{}) : read(std::int32_t{});
}

/// The number of classes of a model for these labels. Throws UserError for labels that are no class numbers and, as a likely mistake, for too many.
std::int64_t count_classes(const TaskSettings& s, const std::string& where, const std::vector<std::int64_t>& labels) {
  constexpr std::int64_t most_unasked = 1000;
  const auto [least, greatest] = std::minmax_element(labels.begin(), labels.end());
  const auto place = [&](auto label) { return str("label ", *label, " of sample ", label - labels.begin()); };
  if (*least < 0) throw UserError(where, str(place(least), " is negative; classes are numbered from 0"));
  if (*least == *greatest) throw UserError(where, str("all labels are ", *least, ": with a single class there is nothing to learn"));
  if (*greatest >= std::numeric_limits<std::int32_t>::max()) throw UserError(where, str(place(greatest), " is too large for a class number"));
  if (s.classes) {
    if (*greatest >= s.classes) throw UserError(where, str(place(greatest), " is outside of [0, ", s.classes, "), the classes of --classes"));
    return s.classes;
  }
  if (*greatest >= most_unasked)
    throw UserError(where, str(place(greatest), " needs a model of ", *greatest + 1, " classes; if that is meant, give --classes ", *greatest + 1));
  return *greatest + 1;
}

/// Throws UserError if the numbers to learn are all the same.
void require_different_targets(const Task& task, const std::string& where) {
  const std::vector<float> targets = task.train.y[0].to_vector<float>();
  if (std::adjacent_find(targets.begin(), targets.end(), std::not_equal_to<>()) != targets.end()) return;
  const double number = static_cast<double>(targets[0]);
  throw UserError(where, str("all targets to learn are ", task.encoder ? task.encoder->unscaled(number) : number, ", so there is nothing to learn"));
}

}  // namespace

data::RowSplit split_rows(std::size_t rows, const TaskSettings& s) {
  const auto held_out = static_cast<std::size_t>(s.validation_split * static_cast<double>(rows));
  if (held_out == rows) throw UserError("--validation-split", str("leaves no rows of ", rows, " to train on"));
  if (held_out > 0) return data::split_rows(rows, {.test = static_cast<double>(held_out) / static_cast<double>(rows), .seed = s.seed});
  data::RowSplit all;
  all.train.resize(rows);
  std::iota(all.train.begin(), all.train.end(), std::size_t{0});
  return all;
}

void set_sizes(Task& task, const TaskSettings& s, const std::string& where, const std::vector<Tensor>& y) {
  task.samples = {task.train.x[0].type()};
  task.samples[0].shape = task.samples[0].shape.with(0, Dim::batch());
  if (task.samples[0].dtype == DType::u8) task.samples[0].dtype = DType::f32;  // scaled
  task.classes = is_index(y[0].dtype());
  if (!task.classes) {
    if (s.classes) throw UserError("--classes", str("is for class numbers, but the targets in ", where, " are ", y[0].type()));
    task.outputs = y[0].elements() / y[0].shape()[0].factor();
    return;
  }
  std::vector<std::int64_t> labels;
  for (const Tensor& part : y)
    for (const std::int64_t label : class_numbers(part)) labels.push_back(label);
  task.outputs = count_classes(s, where, labels);
}

Task split(const Dataset& all, const data::RowSplit& rows) {
  Task task;
  task.train = all.select(rows.train);
  if (!rows.test.empty()) task.validation = all.select(rows.test);
  return task;
}

std::vector<std::string> parts_of(const std::string& list, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Task load_task(const TaskSettings& s) {
  if (s.data.empty()) throw UserError("train", "needs --data; see sinter train --help");
  std::error_code error;  // of what cannot be opened, which its reader says
  const bool is_folder = std::filesystem::is_directory(s.data, error), folder = is_folder && s.text.empty(),
             table = is_folder ? !folder : data::is_table(s.data);
  if (!table && !(s.target.empty() && s.categorical.empty() && s.ignore.empty()))
    throw UserError("train", str("--target, --categorical and --ignore name columns of a table, but ", s.data, " is no table; give --labels FILE"));
  for (const auto& [option, value] : {std::pair{"--missing", &s.missing},
                                      {"--thousands", &s.thousands},
                                      {"--strip", &s.strip},
                                      {"--columns", &s.columns},
                                      {"--text", &s.text},
                                      {"--keep", &s.keep},
                                      {"--train-on", &s.train_on},
                                      {"--normalize", &s.normalize}})
    if (!table && !value->empty()) throw UserError(option, str("is for the fields of a table, but ", s.data, " is no table"));
  if (!table && (s.pca != 0 || s.scaling != "standard"))
    throw UserError("train", str("--scaling and --pca are for tables, but ", s.data, " is none"));
  if ((folder || table) && !s.labels.empty())
    throw UserError("--labels", "is for a .npy or IDX file of samples; the target of a table is --target COLUMN");
  Task task = folder ? folder_task(s) : table ? table_task(s) : array_task(s);
  if (!task.classes) require_different_targets(task, table ? s.data : s.labels);
  return task;
}

}  // namespace sinter::cli
