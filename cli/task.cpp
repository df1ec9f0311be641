#include "cli/task.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <span>
#include <sstream>

namespace sinter::cli {

namespace {

/// Row numbers in an order of their own, so that the part held out is no special one.
std::vector<std::size_t> shuffled_rows(std::size_t count, std::uint64_t seed_value) {
  seed(seed_value);
  const std::vector<float> key = init::uniform(0, 1)({static_cast<std::int64_t>(count)}).to_vector<float>();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  return order;
}

/// The rows to train on and those held out.
struct Split {
  std::vector<std::size_t> train, held_out;

  Split(std::size_t rows, const TaskSettings& s) : train(shuffled_rows(rows, s.seed)) {
    const auto kept = rows - static_cast<std::size_t>(s.validation_split * static_cast<double>(rows));
    if (kept == 0) throw UserError("--validation-split", str("leaves no rows of ", rows, " to train on"));
    held_out.assign(train.begin() + static_cast<std::ptrdiff_t>(kept), train.end());
    train.resize(kept);
  }
};

data::Table picked(const data::Table& table, std::span<const std::size_t> rows) {
  data::Table result{table.names, {}};
  for (const auto& column : table.columns) {
    result.columns.emplace_back();
    for (const std::size_t row : rows) result.columns.back().push_back(column[row]);
  }
  return result;
}

Tensor picked(const Tensor& tensor, std::span<const std::size_t> rows) {
  const std::vector<std::int32_t> numbers(rows.begin(), rows.end());
  return gather_rows(tensor, Tensor(numbers, {static_cast<std::int64_t>(numbers.size())}));
}

/// Images of one byte a pixel are scaled to [0, 1].
float scale_of(const Tensor& x) { return x.dtype() == DType::u8 ? 1.0f / 255 : 1.0f; }

void set_sizes(Task& task) {
  const Tensor &x = task.train.x, &y = task.train.y;
  task.inputs = x.elements() / x.shape()[0].factor();
  task.classes = is_index(y.dtype());
  if (!task.classes) {
    task.outputs = y.elements() / y.shape()[0].factor();
    return;
  }
  const std::vector<std::int32_t> numbers = cast(y, DType::i32).to_vector<std::int32_t>();
  task.outputs = 1 + *std::max_element(numbers.begin(), numbers.end());
}

Task from_table(const TaskSettings& s) {
  if (s.target.empty()) throw UserError("train", "needs --data FILE.csv and --target COLUMN; see sinter train --help");
  const data::Table table = data::read_csv(s.data, {.delimiter = s.delimiter});
  const Split split(table.rows(), s);
  // Means, deviations and categories are those of the rows that are trained on.
  const data::Table training = picked(table, split.train);
  Task task;
  task.encoder = data::Encoder::fit(training, {.target = s.target, .categorical = parts_of(s.categorical), .ignore = parts_of(s.ignore)});
  task.train = task.encoder->dataset(training);
  if (!split.held_out.empty()) task.validation = task.encoder->dataset(picked(table, split.held_out));
  set_sizes(task);
  task.outputs = task.classes ? static_cast<std::int64_t>(task.encoder->classes().size()) : 1;
  return task;
}

Task from_arrays(const TaskSettings& s) {
  if (s.labels.empty()) throw UserError("train", str("needs --labels FILE with the targets of ", s.data, "; see sinter train --help"));
  const Tensor x = flattened(data::array(s.data)), read = data::array(s.labels), y = is_index(read.dtype()) ? read : flattened(read);
  const Dataset all{x, y, scale_of(x)};
  all.check("train");
  if (is_index(y.dtype()) && y.rank() != 1) throw UserError(s.labels, str("class numbers must be [samples], got ", y.type()));
  const Split split(static_cast<std::size_t>(all.size()), s);
  Task task;
  task.train = {picked(x, split.train), picked(y, split.train), all.scale};
  if (!split.held_out.empty()) task.validation = Dataset{picked(x, split.held_out), picked(y, split.held_out), all.scale};
  set_sizes(task);
  return task;
}

Task from_folder(const TaskSettings& s) {
  Task task;
  std::tie(task.train, task.validation) = data::mnist(s.data);
  set_sizes(task);
  return task;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

Tensor flattened(const Tensor& samples) {
  if (samples.rank() < 1) throw UserError("train", str("an array must have samples as its first dimension, got ", samples.type()));
  return samples.rank() == 2 ? samples
                             : reshape(samples, {samples.dim(0), samples.elements() / std::max<std::int64_t>(1, samples.shape()[0].factor())});
}

Task load_task(const TaskSettings& s) {
  if (s.data.empty()) throw UserError("train", "needs --data; see sinter train --help");
  const bool folder = std::filesystem::is_directory(s.data), table = !folder && data::is_table(s.data);
  if (!table && !(s.target.empty() && s.categorical.empty() && s.ignore.empty()))
    throw UserError("train", str("--target, --categorical and --ignore name columns of a table, but ", s.data, " is none; give --labels FILE"));
  if ((folder || table) && !s.labels.empty()) throw UserError("train", "--labels is for a .npy or IDX file of samples; a table has --target COLUMN");
  return folder ? from_folder(s) : table ? from_table(s) : from_arrays(s);
}

}  // namespace sinter::cli
