// Parts and folds of rows, against scikit-learn where its rules are ours.
#include "frontend/data/split.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tests/frontend/helpers.h"

namespace sinter::test::split_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Rows = std::vector<std::size_t>;

nlohmann::json fixture() {
  std::ifstream file(SINTER_TEST_FIXTURES "/splits.json");
  return nlohmann::json::parse(file);
}

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}
/// Each row once.
void expect_whole(const Rows& a, const Rows& b, std::size_t rows) {
  Rows both = a, all(rows);
  both.insert(both.end(), b.begin(), b.end());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(sorted(both), all);
}
std::map<std::int64_t, std::size_t> counts(const std::vector<std::int64_t>& labels, const Rows& rows) {
  std::map<std::int64_t, std::size_t> result;
  for (const std::size_t row : rows) ++result[labels[row]];
  return result;
}

TEST(Split, IsRandomButTheSameForASeed) {
  const data::RowSplit a = data::split_rows(100, {.test = 0.25, .seed = 1}), b = data::split_rows(100, {.test = 0.25, .seed = 1}),
                       c = data::split_rows(100, {.test = 0.25, .seed = 2});
  EXPECT_EQ(a.test.size(), 25u);
  expect_whole(a.train, a.test, 100);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.test, b.test);
  EXPECT_NE(a.test, c.test);
  EXPECT_NE(a.train, sorted(a.train));
  EXPECT_EQ(data::split_rows(10, {.seed = 7}).test, (Rows{6, 4}));  // on any machine
  EXPECT_EQ(data::split_rows(30, {.test = 0.1}).test.size(), 3u);
  EXPECT_EQ(data::split_rows(31, {.test = 0.1}).test.size(), 4u);
}

TEST(Split, WithoutAShuffleTakesTheLast) {
  const nlohmann::json expected = fixture();
  EXPECT_EQ(data::split_rows(53, {.test = 0.15, .shuffle = false}).test, expected.at("last").get<Rows>());
  const data::RowSplit by_class = data::split_rows(6, {.test = 0.5, .shuffle = false, .stratify = true, .labels = {0, 0, 0, 0, 1, 1}});
  EXPECT_EQ(by_class.train, (Rows{0, 1, 4}));
  EXPECT_EQ(by_class.test, (Rows{2, 3, 5}));
  const data::RowSplit by_group = data::split_rows(6, {.test = 0.3, .shuffle = false, .groups = {5, 9, 5, 2, 9, 5}});
  EXPECT_EQ(by_group.train, (Rows{0, 1, 2, 4, 5}));
  EXPECT_EQ(by_group.test, (Rows{3}));
}

TEST(Split, StratifiedKeepsTheShares) {
  const nlohmann::json expected = fixture();
  const std::vector<std::int64_t> labels = expected.at("labels");
  const data::RowSplit rows = data::split_rows(53, {.test = 0.37, .stratify = true, .labels = labels});
  expect_whole(rows.train, rows.test, 53);
  for (const auto& [label, count] : counts(labels, rows.test)) EXPECT_EQ(count, expected.at("test_counts").at(std::to_string(label))) << label;
  EXPECT_NE(rows.test, data::split_rows(53, {.test = 0.37, .seed = 1, .stratify = true, .labels = labels}).test);
}

TEST(Split, OfManyRowsKeepsRareClasses) {
  std::vector<std::int64_t> labels(1000000);
  for (std::size_t i = 0; i < labels.size(); i += 2000) labels[i] = 1;  // 500 of a million
  const data::RowSplit rows = data::split_rows(labels.size(), {.test = 0.2, .stratify = true, .labels = labels});
  EXPECT_EQ(counts(labels, rows.test)[1], 100u);
  EXPECT_EQ(counts(labels, rows.train)[1], 400u);
  expect_whole(rows.train, rows.test, labels.size());
}

TEST(Split, GroupsStayTogether) {
  std::vector<std::int64_t> groups(1000);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<std::int64_t>(i * i % 37);
  const std::set<std::int64_t> all(groups.begin(), groups.end());
  const data::RowSplit rows = data::split_rows(groups.size(), {.test = 0.3, .groups = groups});
  expect_whole(rows.train, rows.test, groups.size());
  const auto train = counts(groups, rows.train), test = counts(groups, rows.test);
  EXPECT_EQ(train.size() + test.size(), all.size());
  EXPECT_EQ(test.size(), static_cast<std::size_t>(std::ceil(0.3 * static_cast<double>(all.size()))));
}

TEST(Split, OfDataSetsAndTables) {
  const Dataset all{Tensor({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}), Tensor(std::vector<std::int32_t>{1, 0, 1, 0}, {4}), 0.5f,
                    Tensor({10, 11, 12, 13}, {4})};
  const auto [train, test] = data::split(all, {.test = 0.5, .shuffle = false, .stratify = true});
  EXPECT_THAT(train.x[0].to_vector<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(test.x[0].to_vector<float>(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(test.y[0].to_vector<std::int32_t>(), ElementsAre(1, 0));
  EXPECT_THAT(test.weights.to_vector<float>(), ElementsAre(12, 13));
  EXPECT_EQ(test.scale, 0.5f);
  EXPECT_THAT(all.select(Rows{3, 0, 3}).y[0].to_vector<std::int32_t>(), ElementsAre(0, 1, 0));
  const Dataset pictures{Tensor::zeros({DType::u8, {6, 4, 4, 3}}), Tensor::zeros({DType::f32, {6, 1}})};
  EXPECT_EQ(data::split(pictures).second.x[0].type(), (Type{DType::u8, {2, 4, 4, 3}}));

  data::Table table({"a", "b"});
  for (std::size_t line : {3, 7, 8}) {
    table.add_field(str("x", line)), table.add_field("y");
    table.end_row(line);
  }
  const auto [head, tail] = data::split(table, {.test = 0.4, .shuffle = false});
  EXPECT_EQ(head.rows(), 1u);
  EXPECT_THAT(tail.fields(0), ElementsAre("x7", "x8"));
  EXPECT_EQ(tail.line(1), 8u);
  EXPECT_EQ(tail.names, table.names);
}

TEST(Split, FoldsAreThoseOfScikitLearn) {
  const nlohmann::json expected = fixture();
  const auto tests = [](const std::vector<data::RowSplit>& folds, std::size_t rows) {
    std::vector<Rows> result;
    for (const data::RowSplit& fold : folds) {
      expect_whole(fold.train, fold.test, rows);
      result.push_back(fold.test);
    }
    return result;
  };
  EXPECT_EQ(tests(data::k_fold(53, 4, {.shuffle = false}), 53), expected.at("plain").get<std::vector<Rows>>());
  EXPECT_EQ(tests(data::k_fold(53, 4, {.shuffle = false, .labels = expected.at("labels")}), 53), expected.at("stratified").get<std::vector<Rows>>());
  EXPECT_EQ(tests(data::k_fold(37, 3, {.shuffle = false, .groups = expected.at("groups")}), 37), expected.at("grouped").get<std::vector<Rows>>());
  EXPECT_EQ(data::k_fold(3, 3, {.shuffle = false})[1].train, (Rows{0, 2}));
}

TEST(Split, ShuffledFoldsPartAllRows) {
  const std::vector<std::int64_t> labels = fixture().at("labels");
  const std::vector<data::RowSplit> folds = data::k_fold(53, 5, {.seed = 3, .labels = labels}),
                                    again = data::k_fold(53, 5, {.seed = 3, .labels = labels});
  Rows all;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    EXPECT_EQ(folds[f].test, again[f].test);
    EXPECT_EQ(folds[f].test, sorted(folds[f].test));
    all.insert(all.end(), folds[f].test.begin(), folds[f].test.end());
    for (const auto& [label, count] : counts(labels, folds[f].test))
      EXPECT_NEAR(static_cast<double>(count), static_cast<double>(std::count(labels.begin(), labels.end(), label)) / 5, 1) << label;
  }
  expect_whole(all, {}, 53);
  EXPECT_NE(folds[0].test, (data::k_fold(53, 5, {.seed = 4, .labels = labels})[0].test));
}

TEST(Split, NumbersTexts) {
  const std::vector<std::string_view> texts{"b", "a", "b", "", "a"};
  EXPECT_THAT(data::numbered(texts), ElementsAre(0, 1, 0, 2, 1));
}

TEST(Split, RefusesWhatCannotBeParted) {
  const auto error = [](std::size_t rows, const data::SplitOptions& options) { return error_of([&] { (void)data::split_rows(rows, options); }); };
  for (const double share : {0.0, 1.0, -0.5, 20.0, std::nan("")})
    EXPECT_EQ(error(10, {.test = share}), str("[split] SplitOptions::test is a share in (0, 1), got ", share));
  EXPECT_EQ(error(1, {}), "[split] a share of 0.2 of 1 row leaves a part empty");
  EXPECT_EQ(error(0, {}), "[split] a share of 0.2 of 0 rows leaves a part empty");
  EXPECT_EQ(error(std::size_t{1} << 32, {}), "[split] takes less than 2^32 rows, got 4294967296");
  EXPECT_EQ(error(3, {.test = 0.9}), "[split] a share of 0.9 of 3 rows leaves a part empty");
  EXPECT_EQ(error(3, {.groups = {1, 1, 1}}), "[split] a share of 0.2 of 1 group leaves a part empty");
  EXPECT_EQ(error(3, {.groups = {1, 2}}), "[split] needs one of SplitOptions::groups for each of 3 rows, got 2");
  EXPECT_EQ(error(3, {.labels = {1}}), "[split] needs one of SplitOptions::labels for each of 3 rows, got 1");
  EXPECT_EQ(error(3, {.stratify = true}), "[split] SplitOptions::stratify needs SplitOptions::labels, the class of each row");
  EXPECT_THAT(error(2, {.stratify = true, .labels = {0, 1}, .groups = {0, 1}}),
              HasSubstr("give either SplitOptions::stratify or SplitOptions::groups"));
  EXPECT_EQ(error(3, {.stratify = true, .labels = {0, 0, 1}}),
            "[split] SplitOptions::stratify needs at least 2 rows of each class, but one class has a single row");
  EXPECT_EQ(error(10, {.test = 0.1, .stratify = true, .labels = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}}),
            "[split] SplitOptions::stratify needs a row of each of 2 classes in both parts, but they have 9 and 1 row");
  const Dataset numbers{Tensor({0, 1, 2, 3}, {4, 1}), Tensor({0, 1, 2, 3}, {4, 1})};
  EXPECT_EQ(error_of([&] { (void)data::split(numbers, {.stratify = true}); }),
            "[split] SplitOptions::stratify needs class numbers, got targets f32[4,1]; give SplitOptions::labels");
  EXPECT_THAT(error_of([&] { (void)data::split(Dataset{}, {}); }), HasSubstr("[split] the data set has no x or no y"));
  EXPECT_EQ(error_of([&] { (void)numbers.select(Rows{}); }), "[Dataset::select] needs the number of at least one sample");
  EXPECT_EQ(error_of([&] { (void)numbers.select(Rows{4}); }), "[Dataset::select] sample 4 is outside of [0, 4)");
  EXPECT_EQ(error_of([&] { (void)data::Table({"a"}).select(Rows{0}); }), "[table] row 0 is outside of [0, 0)");

  const auto folds = [](std::size_t rows, std::size_t k, const data::FoldOptions& options) {
    return error_of([&] { (void)data::k_fold(rows, k, options); });
  };
  EXPECT_EQ(folds(5, 1, {}), "[k_fold] needs from 2 to 5 folds, the number of rows, got 1");
  EXPECT_EQ(folds(5, 6, {}), "[k_fold] needs from 2 to 5 folds, the number of rows, got 6");
  EXPECT_EQ(folds(5, 3, {.labels = {0, 0, 0, 1, 1}}), "[k_fold] needs from 2 to 2 folds, the number of rows of the smallest class, got 3");
  EXPECT_EQ(folds(5, 3, {.groups = {0, 0, 0, 1, 1}}), "[k_fold] needs from 2 to 2 folds, the number of groups, got 3");
  EXPECT_EQ(folds(5, 2, {.labels = {0, 0, 0, 1, 1}, .groups = {0, 0, 0, 1, 1}}),
            "[k_fold] give either FoldOptions::labels or FoldOptions::groups, got both");
  EXPECT_EQ(folds(5, 2, {.labels = {0}}), "[k_fold] needs one of FoldOptions::labels for each of 5 rows, got 1");
  EXPECT_EQ(folds(5, 2, {.groups = {0}}), "[k_fold] needs one of FoldOptions::groups for each of 5 rows, got 1");
}

}  // namespace
}  // namespace sinter::test::split_test
