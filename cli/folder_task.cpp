// Tasks of folders: with a subfolder of images per class, or with MNIST's files.
#include <filesystem>
#include <tuple>

#include "cli/task_kinds.h"

namespace sinter::cli {

namespace {

bool has_subfolders(const std::string& folder) {
  std::error_code error;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory() && entry.path().filename().string().front() != '.') return true;
  return false;
}

Task from_images(const TaskSettings& s) {
  data::ImageFolder read = data::image_folder(s.data, static_cast<int>(s.channels));
  const Tensor images = read.data.x[0];
  if (read.classes.size() < 2) throw UserError(s.data, "has a single subfolder: with one class there is nothing to learn");
  if (!s.keeps_shape) read.data.x = flat(images);
  Task task = split(read.data, split_rows(static_cast<std::size_t>(read.data.size()), s));
  set_sizes(task, s, s.data, {read.data.y[0]});
  task.outputs = static_cast<std::int64_t>(read.classes.size());
  task.class_names = std::move(read.classes);
  for (std::size_t axis = 1; axis < 4; ++axis) task.image.push_back(extent(images, axis));
  return task;
}

}  // namespace

Task folder_task(const TaskSettings& s) {
  if (has_subfolders(s.data)) return from_images(s);
  Task task;
  std::tie(task.train, task.validation) = data::mnist(s.data);
  const bool are_digits = extent(task.train.x[0], 1) == 28 * 28;
  if (are_digits) task.image = {28, 28};
  if (are_digits && s.keeps_shape)
    for (Dataset* set : {&task.train, &*task.validation}) set->x = reshape(set->x[0], {set->size(), 28, 28, 1});
  set_sizes(task, s, s.data, {task.train.y, task.validation->y});
  return task;
}

}  // namespace sinter::cli
