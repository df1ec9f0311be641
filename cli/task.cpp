#include "cli/task.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/task_kinds.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

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
  const double told = task.encoder && !task.is_self ? task.encoder->unscaled(number) : number;
  throw UserError(where, str("all targets to learn are ", told, ", so there is nothing to learn"));
}

/// All rows to train on.
data::RowSplit all_rows(std::int64_t rows) {
  data::RowSplit all;
  all.train.resize(static_cast<std::size_t>(rows));
  std::iota(all.train.begin(), all.train.end(), std::size_t{0});
  return all;
}

}  // namespace

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

bool is_self(const TaskSettings& s) { return s.target == "self"; }

std::vector<std::int64_t> class_numbers(const Tensor& y) {
  const auto read = [&]<class T>(T) {
    const std::vector<T> values = y.to_vector<T>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  if (!is_index(y.dtype())) return {};
  return y.dtype() == DType::u8 ? read(std::uint8_t{}) : y.dtype() == DType::u32 ? read(std::uint32_t{}) : read(std::int32_t{});
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

TaskData load(const TaskSettings& s) {
  if (s.data.empty()) throw UserError("train", "needs --data; see sinter train --help");
  std::error_code error;  // of what cannot be opened, which its reader says
  const bool is_folder = std::filesystem::is_directory(s.data, error), folder = is_folder && s.text.empty(),
             table = is_folder ? !folder : data::is_table(s.data);
  if (!table && !((s.target.empty() || is_self(s)) && s.categorical.empty() && s.ignore.empty()))
    throw UserError("train", str("--target, --categorical and --ignore name columns of a table, but ", s.data, " is no table; give --labels FILE"));
  for (const auto& [option, value] : {std::pair{"--missing", &s.missing},
                                      {"--thousands", &s.thousands},
                                      {"--strip", &s.strip},
                                      {"--columns", &s.columns},
                                      {"--text", &s.text},
                                      {"--subwords", &s.subwords},
                                      {"--keep", &s.keep},
                                      {"--train-on", &s.train_on},
                                      {"--normalize", &s.normalize}})
    if (!table && !value->empty()) throw UserError(option, str("is for the fields of a table, but ", s.data, " is no table"));
  if (!table && (s.pca != 0 || s.scaling != "standard"))
    throw UserError("train", str("--scaling and --pca are for tables, but ", s.data, " is none"));
  if ((folder || table) && !s.labels.empty())
    throw UserError("--labels", "is for a .npy or IDX file of samples; the target of a table is --target COLUMN");
  TaskData data = folder ? folder_data(s) : table ? table_data(s) : array_data(s);
  data.task = [make = std::move(data.task), where = table || folder || is_self(s) ? s.data : s.labels](const data::RowSplit& rows) {
    Task task = make(rows);
    if (!task.classes) require_different_targets(task, where);
    return task;
  };
  return data;
}

data::RowSplit held_out(const TaskData& data, const TaskSettings& s) {
  if (data.has_test_set && s.stratified) throw UserError("--split", str("is for rows that are held out, but ", s.data, " has a test set"));
  if (data.has_test_set) return all_rows(data.rows);
  const std::vector<std::int64_t> classes = s.stratified ? data.classes() : std::vector<std::int64_t>();
  if (s.stratified && classes.empty()) throw UserError("--split", "stratified is for classes, but the targets are numbers");
  const auto count = static_cast<std::int64_t>(s.validation_split * static_cast<double>(data.rows));  // rounded down
  if (count == data.rows) throw UserError("--validation-split", str("leaves no rows of ", data.rows, " to train on"));
  if (count == 0) return all_rows(data.rows);
  const double share = static_cast<double>(count) / static_cast<double>(data.rows);
  return data::split_rows(static_cast<std::size_t>(data.rows), {.test = share, .seed = s.seed, .stratify = s.stratified, .labels = classes});
}

std::vector<data::RowSplit> folds(const TaskData& data, std::size_t count, const TaskSettings& s) {
  return at("--folds", [&] { return data::k_fold(static_cast<std::size_t>(data.rows), count, {.seed = s.seed, .labels = data.classes()}); });
}

}  // namespace sinter::cli
