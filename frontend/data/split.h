// Rows to learn from and rows to judge by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/data/table.h"
#include "frontend/train/dataset.h"

namespace sinter::data {

struct SplitOptions {
  double test = 0.2;       ///< share of the rows, or of the groups, for the second part, in (0, 1); rounded up to whole ones
  bool shuffle = true;     ///< choose at random; false: the last ones, in their order
  std::uint64_t seed = 0;  ///< the same seed gives the same parts, on any machine
  /// Each class keeps its share in both parts, as near as whole rows allow: the largest remainders are rounded up. The classes are `labels`, or those
  /// of the data set.
  bool stratify = false;
  std::vector<std::int64_t> labels = {};  ///< the class of each row, any numbers
  std::vector<std::int64_t> groups = {};  ///< the group of each row, any numbers: the rows of a group stay together; none if empty
};

/// Row numbers of two parts.
struct RowSplit {
  std::vector<std::size_t> train, test;
};

/// Two parts of `rows` rows. Throws UserError for a share outside of (0, 1), parts of which one would be empty, labels or groups that are not one per
/// row, `stratify` without labels, with groups, with a class of a single row, or with a part that is smaller than the number of classes.
RowSplit split_rows(std::size_t rows, const SplitOptions& options = {});
/// The same of a data set and of a table. With `stratify`, the classes of a data set are its y, which must be class numbers; those of a table are
/// `labels`.
std::pair<Dataset, Dataset> split(const Dataset& data, const SplitOptions& options = {});
std::pair<Table, Table> split(const Table& table, const SplitOptions& options = {});

struct FoldOptions {
  bool shuffle = true;     ///< false: folds of rows that follow each other
  std::uint64_t seed = 0;  ///< the same seed gives the same folds, on any machine
  std::vector<std::int64_t> labels =
      {};  ///< the class of each row: each fold has its share of each, one row more or less (stratified); none if empty
  std::vector<std::int64_t> groups = {};  ///< the group of each row: its rows are in one fold, and folds are about the same size; none if empty
};

/// Cross-validation: each row is in `test` of one of k splits, and in `train` of the others. Sizes of folds differ by one at most, but for groups.
/// Row numbers ascend. Throws UserError for k below 2 or above the number of rows, of groups, or of the rows of the smallest class, for labels or
/// groups that are not one per row, and for both.
std::vector<RowSplit> k_fold(std::size_t rows, std::size_t k, const FoldOptions& options = {});

/// Numbers for texts, 0, 1, 2, … in the order in which they first appear: the labels or groups that a column of a table holds, as in
/// `numbered(table.fields(table.column("patient")))`.
std::vector<std::int64_t> numbered(std::span<const std::string_view> texts);

}  // namespace sinter::data
