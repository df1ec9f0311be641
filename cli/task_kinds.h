// The kinds of data of sinter train, and what they share.
#pragma once

#include <sinter/sinter.h>

#include <string>
#include <vector>

#include "cli/task.h"

namespace sinter::cli {

/// A table, a .npy or IDX file, and a folder of images or of MNIST's files; see load.
TaskData table_data(const TaskSettings& settings);
TaskData array_data(const TaskSettings& settings);
TaskData folder_data(const TaskSettings& settings);

/// Some samples to train on, the others held out.
Task split(const Dataset& all, const data::RowSplit& rows);
/// Sets the sizes of the model's input and output. `y` are all targets, including those held out; `where` is what errors about them name.
void set_sizes(Task& task, const TaskSettings& settings, const std::string& where, const std::vector<Tensor>& y);

/// Whether the target is the samples themselves, where `self` is no column.
bool is_self(const TaskSettings& settings);
/// Class numbers of any type; none if these are numbers.
std::vector<std::int64_t> class_numbers(const Tensor& targets);

/// Samples [n, ...] as [n, numbers per sample].
Tensor flat(const Tensor& samples);
/// Images of one byte per pixel are scaled to [0, 1].
float scale_of(const Tensor& samples);

}  // namespace sinter::cli
