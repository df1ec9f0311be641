// Tasks of .npy and IDX files.
#include "cli/task_kinds.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

/// An array with at least one sample.
Tensor array_of(const std::string& path) {
  const Tensor read = data::array(path);
  if (read.rank() < 1) throw UserError(path, str("an array must have samples as its first dimension, got ", read.type()));
  if (read.elements() == 0) throw UserError(path, str("is empty, got ", read.type()));
  return read;
}

/// Samples as layers take them: images [n, height, width] of bytes have one channel, other arrays stay as they are.
Tensor shaped(const Tensor& read) {
  if (read.dtype() == DType::boolean) return cast(read, DType::f32);
  if (read.dtype() != DType::u8 || read.rank() != 3) return read;
  return reshape(read, {extent(read, 0), extent(read, 1), extent(read, 2), 1});
}

/// Of samples [n, height, width] or [n, height, width, 1 or 3] of at least 8 x 8 pixels, the shape of one.
std::vector<std::int64_t> image_of(const Shape& samples) {
  if (samples.rank() != 3 && (samples.rank() != 4 || (samples[3] != Dim(1) && samples[3] != Dim(3)))) return {};
  std::vector<std::int64_t> image;
  for (std::size_t axis = 1; axis < samples.rank(); ++axis) image.push_back(samples[axis].factor());
  if (image[0] < 8 || image[1] < 8) return {};
  return image;
}

}  // namespace

Tensor flat(const Tensor& read) {
  const Tensor samples = read.dtype() == DType::boolean ? cast(read, DType::f32) : read;
  return samples.rank() == 2 ? samples : reshape(samples, {extent(samples, 0), samples.elements() / extent(samples, 0)});
}

float scale_of(const Tensor& x) { return x.dtype() == DType::u8 ? 1.0f / 255 : 1.0f; }

Tensor numbers_of(const Tensor& samples) { return cast(flat(samples), DType::f32) * scale_of(samples); }

Tensor samples_of(const std::string& path) { return flat(array_of(path)); }

Tensor targets_of(const std::string& path) {
  const Tensor read = array_of(path), y = read.dtype() == DType::boolean ? cast(read, DType::i32) : read;
  if (!is_index(y.dtype())) return y.rank() == 2 ? y : reshape(y, {extent(y, 0), y.elements() / extent(y, 0)});
  if (y.rank() != 1) throw UserError(path, str("class numbers must be [samples], got ", y.type()));
  return y;
}

TaskData array_data(const TaskSettings& s) {
  if (s.labels.empty() && !is_self(s))
    throw UserError("train", str("needs --labels FILE with the targets of ", s.data, ", or --target self; see sinter train --help"));
  if (!s.labels.empty() && is_self(s)) throw UserError("--labels", "is for targets, but with --target self the samples are the targets");
  const Tensor read = array_of(s.data), x = s.keeps_shape ? shaped(read) : flat(read), y = is_self(s) ? numbers_of(read) : targets_of(s.labels);
  if (extent(x, 0) != extent(y, 0))
    throw UserError(s.labels,
                    str("has ", counted(extent(y, 0), "target"), ", but ", s.data, " has ", counted(extent(x, 0), "sample"), "; give one for each"));
  const Dataset all{x, y, scale_of(x)};
  const std::string targets = is_self(s) ? s.data : s.labels;
  at(s.data, [&] { Dataset(x, x).check_finite("train"); });
  at(targets, [&] { all.check_finite("train"); });
  const auto make = [=](const data::RowSplit& rows) {
    Task task = split(all, rows);
    set_sizes(task, s, targets, {y});
    task.is_self = is_self(s);
    task.image = image_of(read.shape());
    return task;
  };
  return {.rows = all.size(), .task = make, .classes = [y] { return class_numbers(y); }};
}

}  // namespace sinter::cli
