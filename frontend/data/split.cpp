#include "frontend/data/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "frontend/core/counted.h"
#include "frontend/core/ops.h"
#include "frontend/core/random.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

using Rows = std::vector<std::size_t>;

constexpr std::uint64_t stream_of_splits = 0x73706c6974;  // no other use of a seed has it

/// The numbers from 0, in random order if asked.
Rows order_of(std::size_t count, bool shuffled, RandomStream& random) {
  Rows order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffled) shuffle(std::span(order), random);
  return order;
}

/// Classes or groups, numbered in the order in which they first appear.
struct Kinds {
  std::vector<std::size_t> of_row;
  std::vector<std::size_t> sizes;

  template <class Values>
  explicit Kinds(const Values& values) {
    std::unordered_map<typename Values::value_type, std::size_t> numbers;
    for (const auto& value : values) {
      of_row.push_back(numbers.emplace(value, numbers.size()).first->second);
      if (of_row.back() == sizes.size()) sizes.push_back(0);
      ++sizes[of_row.back()];
    }
  }
  std::size_t smallest() const { return *std::min_element(sizes.begin(), sizes.end()); }
};

/// The greatest numbers of shuffle.
void require_count(const char* where, std::size_t rows) {
  if (rows > std::numeric_limits<std::uint32_t>::max()) throw UserError(where, str("takes less than 2^32 rows, got ", rows));
}

void require_one_per_row(const char* where, const char* what, std::size_t given, std::size_t rows) {
  if (given && given != rows) throw UserError(where, str("needs one of ", what, " for each of ", counted(rows, "row"), ", got ", given));
}

/// A number of rows from each class, `total` in all, in proportion to the sizes of the classes: rounded down, then one more for the largest
/// remainders.
Rows shares(const Rows& sizes, std::size_t total) {
  const std::size_t all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  Rows result, by_remainder(sizes.size());
  std::vector<double> remainder;
  for (const std::size_t size : sizes) {
    const double exact = static_cast<double>(size) * static_cast<double>(total) / static_cast<double>(all);
    result.push_back(static_cast<std::size_t>(exact));
    remainder.push_back(exact - std::floor(exact));
  }
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::sort(by_remainder.begin(), by_remainder.end(),
            [&](std::size_t a, std::size_t b) { return remainder[a] != remainder[b] ? remainder[a] > remainder[b] : a < b; });
  std::size_t left = total - std::accumulate(result.begin(), result.end(), std::size_t{0});
  for (auto place = by_remainder.begin(); left > 0; ++place, --left) ++result[*place];
  return result;
}

/// How many of so many rows or groups are in the second part.
std::size_t test_count(double share, std::size_t count, const char* noun) {
  if (!(share > 0 && share < 1)) throw UserError("split", str("SplitOptions::test is a share in (0, 1), got ", share));
  const auto test = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count) - 1e-9));  // 0.1 · 30 is 3
  if (test == 0 || test >= count) throw UserError("split", str("a share of ", share, " of ", counted(count, noun), " leaves a part empty"));
  return test;
}

RowSplit split_groups(std::size_t rows, const SplitOptions& options, RandomStream& random) {
  const Kinds groups(options.groups);
  const std::size_t test = test_count(options.test, groups.sizes.size(), "group");
  const Rows order = order_of(groups.sizes.size(), options.shuffle, random);
  std::vector<bool> in_test(order.size());
  for (std::size_t i = order.size() - test; i < order.size(); ++i) in_test[order[i]] = true;
  RowSplit result;
  for (const std::size_t row : order_of(rows, options.shuffle, random)) (in_test[groups.of_row[row]] ? result.test : result.train).push_back(row);
  return result;
}

/// The rows from each class for the second part.
Rows test_counts(const Kinds& classes, std::size_t test, std::size_t rows, bool stratify) {
  const std::size_t count = classes.sizes.size();
  if (stratify && classes.smallest() < 2)
    throw UserError("split", "SplitOptions::stratify needs at least 2 rows of each class, but one class has a single row");
  if (stratify && std::min(test, rows - test) < count)
    throw UserError("split", str("SplitOptions::stratify needs a row of each of ", count, " classes in both parts, but they have ", rows - test,
                                 " and ", counted(test, "row")));
  return shares(classes.sizes, test);
}

/// Of labels that are none, all rows are of one class.
Kinds classes_of(std::size_t rows, const std::vector<std::int64_t>& labels) {
  return Kinds(labels.empty() ? std::vector<std::int64_t>(rows) : labels);
}

std::pair<Dataset, Dataset> parts(const Dataset& data, const RowSplit& rows) { return {data.select(rows.train), data.select(rows.test)}; }

}  // namespace

RowSplit split_rows(std::size_t rows, const SplitOptions& options) {
  require_count("split", rows);
  require_one_per_row("split", "SplitOptions::labels", options.labels.size(), rows);
  require_one_per_row("split", "SplitOptions::groups", options.groups.size(), rows);
  if (options.stratify && options.labels.empty())
    throw UserError("split", "SplitOptions::stratify needs SplitOptions::labels, the class of each row");
  if (options.stratify && !options.groups.empty())
    throw UserError("split", "give either SplitOptions::stratify or SplitOptions::groups: groups that stay together cannot keep shares");
  RandomStream random(options.seed, stream_of_splits);
  if (!options.groups.empty()) return split_groups(rows, options, random);
  const std::size_t test = test_count(options.test, rows, "row");
  const Kinds classes = classes_of(rows, options.stratify ? options.labels : std::vector<std::int64_t>());
  Rows left = test_counts(classes, test, rows, options.stratify);  // for the second part, the last of each class
  RowSplit result;
  const Rows order = order_of(rows, options.shuffle, random);
  for (auto row = order.rbegin(); row != order.rend(); ++row) {
    std::size_t& wanted = left[classes.of_row[*row]];
    (wanted ? result.test : result.train).push_back(*row);
    wanted -= wanted > 0;
  }
  std::reverse(result.train.begin(), result.train.end());
  std::reverse(result.test.begin(), result.test.end());
  return result;
}

std::pair<Dataset, Dataset> split(const Dataset& data, const SplitOptions& options) {
  data.check("split");
  SplitOptions of_rows = options;
  if (options.stratify && options.labels.empty()) {
    if (data.y.size() != 1 || !are_class_numbers(data.y[0].type()))
      throw UserError("split", str("SplitOptions::stratify needs class numbers, got targets ", data.y[0].type(), "; give SplitOptions::labels"));
    const std::vector<std::int32_t> classes = cast(data.y[0], DType::i32).to_vector<std::int32_t>();
    of_rows.labels.assign(classes.begin(), classes.end());
  }
  return parts(data, split_rows(static_cast<std::size_t>(data.size()), of_rows));
}

std::pair<Table, Table> split(const Table& table, const SplitOptions& options) {
  const RowSplit rows = split_rows(table.rows(), options);
  return {table.select(rows.train), table.select(rows.test)};
}

namespace {

/// The fold of each row: each class, in the order of its rows, in pieces that follow each other. Sizes are those of cards dealt to k players, class
/// after class.
Rows dealt(const Kinds& classes, const Rows& order, std::size_t k) {
  Rows fold(order.size()), next(classes.sizes.size());  // the fold that each class fills
  std::vector<Rows> room;                               // of each class in each fold
  std::size_t begin = 0;
  for (const std::size_t size : classes.sizes) {
    Rows counts(k, size / k);
    for (std::size_t extra = 0; extra < size % k; ++extra) ++counts[(begin + extra) % k];
    room.push_back(std::move(counts));
    begin += size;
  }
  for (const std::size_t row : order) {
    const std::size_t c = classes.of_row[row];
    while (room[c][next[c]] == 0) ++next[c];
    --room[c][next[c]];
    fold[row] = next[c];
  }
  return fold;
}

/// The fold of each row: groups from the largest to the smallest, each to the fold that has the fewest rows.
Rows packed(const Kinds& groups, const Rows& order, std::size_t k) {
  Rows by_size = order, place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return groups.sizes[a] != groups.sizes[b] ? groups.sizes[a] > groups.sizes[b] : place[a] < place[b];
  });
  Rows rows_of_fold(k), fold_of_group(order.size()), fold;
  for (const std::size_t group : by_size) {
    const auto least = std::min_element(rows_of_fold.begin(), rows_of_fold.end());
    *least += groups.sizes[group];
    fold_of_group[group] = static_cast<std::size_t>(least - rows_of_fold.begin());
  }
  for (const std::size_t group : groups.of_row) fold.push_back(fold_of_group[group]);
  return fold;
}

}  // namespace

std::vector<RowSplit> k_fold(std::size_t rows, std::size_t k, const FoldOptions& options) {
  require_count("k_fold", rows);
  require_one_per_row("k_fold", "FoldOptions::labels", options.labels.size(), rows);
  require_one_per_row("k_fold", "FoldOptions::groups", options.groups.size(), rows);
  if (!options.labels.empty() && !options.groups.empty())
    throw UserError("k_fold", "give either FoldOptions::labels or FoldOptions::groups, got both");
  const auto require = [&](std::size_t most, const char* what) {
    if (k < 2 || k > most) throw UserError("k_fold", str("needs from 2 to ", most, " folds, ", what, ", got ", k));
  };
  require(rows, "the number of rows");
  RandomStream random(options.seed, stream_of_splits);
  Rows fold;
  if (options.groups.empty()) {
    const Kinds classes = classes_of(rows, options.labels);
    require(classes.smallest(), "the number of rows of the smallest class");
    fold = dealt(classes, order_of(rows, options.shuffle, random), k);
  } else {
    const Kinds groups(options.groups);
    require(groups.sizes.size(), "the number of groups");
    fold = packed(groups, order_of(groups.sizes.size(), options.shuffle, random), k);
  }
  std::vector<RowSplit> result(k);
  for (std::size_t f = 0; f < k; ++f)
    for (std::size_t row = 0; row < rows; ++row) (fold[row] == f ? result[f].test : result[f].train).push_back(row);
  return result;
}

std::vector<std::int64_t> numbered(std::span<const std::string_view> texts) {
  const Kinds kinds(std::vector<std::string_view>(texts.begin(), texts.end()));
  return {kinds.of_row.begin(), kinds.of_row.end()};
}

}  // namespace sinter::data
