// The kinds of data of a task, and what they share.
#pragma once

#include <sinter/sinter.h>

#include <string>
#include <vector>

#include "cli/task.h"

namespace sinter::cli {

/// The task of a table, of a .npy or IDX file, and of a folder of images or of MNIST's files; see load_task.
Task table_task(const TaskSettings& settings);
Task array_task(const TaskSettings& settings);
Task folder_task(const TaskSettings& settings);

/// The rows to train on and those held out, whose number is rounded down.
data::RowSplit split_rows(std::size_t rows, const TaskSettings& settings);
/// Some samples to train on, the others held out.
Task split(const Dataset& all, const data::RowSplit& rows);
/// Sets the sizes of the model's input and output. `y` are all targets, including those held out; `where` is what errors about them name.
void set_sizes(Task& task, const TaskSettings& settings, const std::string& where, const std::vector<Tensor>& y);

/// Samples [n, ...] as [n, numbers per sample].
Tensor flat(const Tensor& samples);

}  // namespace sinter::cli
