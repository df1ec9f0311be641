// Tasks of folders: with a subfolder of images per class, or with MNIST's files.
#include <filesystem>

#include "cli/task_kinds.h"

namespace sinter::cli {

namespace {

TaskData image_data(const TaskSettings& s) {
  const data::ImageFolder read = data::image_folder(s.data, static_cast<int>(s.channels));
  const Tensor images = read.data.x[0];
  if (read.classes.size() < 2 && !is_self(s)) throw UserError(s.data, "has a single subfolder: with one class there is nothing to learn");
  Dataset all = read.data;
  if (!s.keeps_shape) all.x = flat(images);
  if (is_self(s)) all.y = numbers_of(images);
  const auto make = [=](const data::RowSplit& rows) {
    Task task = split(all, rows);
    set_sizes(task, s, s.data, {all.y[0]});
    if (is_self(s)) {
      task.is_self = true;
    } else {
      task.outputs = static_cast<std::int64_t>(read.classes.size());
      task.class_names = read.classes;
    }
    for (std::size_t axis = 1; axis < 4; ++axis) task.image.push_back(extent(images, axis));
    return task;
  };
  return {.rows = all.size(), .task = make, .classes = [y = all.y[0].array()] { return class_numbers(y); }};
}

}  // namespace

bool has_subfolders(const std::string& folder) {
  std::error_code error;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory() && entry.path().filename().string().front() != '.') return true;
  return false;
}

TaskData folder_data(const TaskSettings& s) {
  if (has_subfolders(s.data)) return image_data(s);
  auto [train, test] = data::mnist(s.data);
  const bool are_digits = extent(train.x[0], 1) == 28 * 28;
  for (Dataset* set : {&train, &test}) {
    if (is_self(s)) set->y = numbers_of(set->x[0]);
    if (are_digits && s.keeps_shape) set->x = reshape(set->x[0], {set->size(), 28, 28, 1});
  }
  const auto make = [=, train = train, test = test](const data::RowSplit& rows) {
    Task task = split(train, rows);
    if (rows.test.empty()) task.validation = test;
    set_sizes(task, s, s.data, {train.y[0], test.y[0]});
    task.is_self = is_self(s);
    if (are_digits) task.image = {28, 28};
    return task;
  };
  return {.rows = train.size(), .task = make, .classes = [y = train.y[0].array()] { return class_numbers(y); }, .has_test_set = true};
}

}  // namespace sinter::cli
