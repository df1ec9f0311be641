// Encoders that choose rows and columns, scale in other ways, and go on to norms and principal components.
#include <cmath>
#include <limits>

#include "frontend/data/record_encoder.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::encoder_steps_test {
namespace {

using data::Encoder;
using data::Scaling;
using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

/// The same encoder, read from its description.
Encoder again(const Encoder& encoder) {
  const Encoder read = Encoder::from_json(encoder.to_json());
  EXPECT_EQ(read.to_json(), encoder.to_json());
  return read;
}
std::vector<float> features(const Encoder& encoder, const data::Table& table) {
  return encoder.features(table, [](const std::string&) {}).to_vector<float>();
}

TEST(EncoderScaling, OfAllAndOfSomeColumns) {
  const data::Table t{{"a", "b", "y"}, {{"1", "3", "", "5"}, {"10", "30", "20", "50"}, {"100", "300", "200", "500"}}};
  const Encoder encoder = again(Encoder::fit(t, {.target = "y", .scaling = Scaling::min_max, .column_scaling = {{"b", Scaling::none}}}));
  // A missing number becomes what the mean does.
  EXPECT_THAT(features(encoder, t), ElementsAre(0, 0, 10, 0.5, 0, 30, 0.5, 1, 20, 1, 0, 50));
  EXPECT_THAT(encoder.target(t).to_vector<float>(), ElementsAre(0, 0.5, 0.25, 1));
  EXPECT_EQ(encoder.unscaled(0.25), 200);
  EXPECT_EQ(encoder.target_unit(), 400);
  const Encoder plain = again(Encoder::fit(t, {.target = "y", .scaling = Scaling::none}));
  EXPECT_THAT(features(plain, t), ElementsAre(1, 0, 10, 3, 0, 30, 3, 1, 20, 5, 0, 50));
  EXPECT_EQ(plain.unscaled(200), 200);
  EXPECT_EQ(plain.target_unit(), 1);
  EXPECT_EQ(data::text_of(Scaling::min_max), "min_max");
  EXPECT_EQ(data::scaling_named("standard"), Scaling::standard);
  EXPECT_EQ(error_of([] { (void)data::scaling_named("minmax"); }), "[encoder] scaling must be standard, min_max or none, got 'minmax'");
  EXPECT_THAT(error_of([&] { (void)Encoder::fit(t, {.column_scaling = {{"c", Scaling::none}}}); }), HasSubstr("there is no column 'c'"));
  // The same in all rows, and none in the rows that are learnt from.
  const data::Table same{{"a", "b"}, {{"7", "7", "7"}, {"", "", "4"}}};
  EXPECT_THAT(features(Encoder::fit(same, {.rows = {0, 1}, .scaling = Scaling::min_max}), same), ElementsAre(0, 0, 1, 0, 0, 1, 0, 4, 0));
  const data::Table narrow{{"x"}, {{"1e-20", "2e-20"}}};
  EXPECT_THAT(error_of([&] { (void)Encoder::fit(narrow, {.scaling = Scaling::min_max}).features(data::Table{{"x"}, {{"1e30"}}}); }),
              HasSubstr("which is too far from the least number 1e-20 for f32 at a range of 1e-20"));
}

TEST(EncoderColumns, MayBeNamed) {
  const data::Table t{{"a", "b", "c", "y"}, {{"1", "2"}, {"u", "v"}, {"p", "q"}, {"1", "2"}}};
  EXPECT_THAT(Encoder::fit(t, {.target = "y", .columns = {"c", "a"}}).feature_names(), ElementsAre("a", "c=p", "c=q"));
  EXPECT_THAT(Encoder::fit(t, {.target = "y", .columns = {"y", "a"}}).feature_names(), ElementsAre("a"));
  EXPECT_THAT(error_of([&] { (void)Encoder::fit(t, {.columns = {"d"}}); }), HasSubstr("there is no column 'd'"));
  EXPECT_EQ(error_of([&] { (void)Encoder::fit(t, {.columns = {"a"}, .ignore = {"a"}}); }),
            "[encoder] column 'a' is named in EncoderOptions::columns and EncoderOptions::ignore; name it in one of them");
}

TEST(EncoderSteps, NormsAndPrincipalComponents) {
  const data::Table t{{"a", "b", "y"}, {{"3", "0", "-8", "5"}, {"4", "0", "6", "1"}, {"1", "2", "3", "4"}}};
  const Encoder normed = again(Encoder::fit(t, {.target = "y", .scaling = Scaling::none, .normalize = data::Norm::l2}));
  const std::vector<float> rows = features(normed, t);
  EXPECT_THAT(std::vector<float>(rows.begin(), rows.begin() + 6), ElementsAre(FloatEq(0.6f), FloatEq(0.8f), 0, 0, FloatEq(-0.8f), FloatEq(0.6f)));
  EXPECT_EQ(normed.unscaled(3), 3);

  const Encoder standard = Encoder::fit(t, {.target = "y"}),
                reduced = again(Encoder::fit(t, {.target = "y", .pca = data::PCAOptions{.components = 1}}));
  EXPECT_EQ(reduced.width(), 1);
  EXPECT_THAT(reduced.feature_names(), ElementsAre("pca_1"));
  const data::PCA pca = data::PCA::fit(standard.features(t), {.components = 1});
  EXPECT_EQ(features(reduced, t), pca.transform(standard.features(t)).to_vector<float>());
  EXPECT_EQ(reduced.target(t).to_vector<float>(), standard.target(t).to_vector<float>());
  data::RecordEncoder records(reduced, {"b", "a"});
  float out = 0;
  EXPECT_TRUE(records.encode(std::vector<double>{4, 3}, std::span(&out, 1)));
  EXPECT_EQ(out, features(reduced, t)[0]);
  EXPECT_THAT(error_of([&] { (void)Encoder::fit(t, {.target = "y", .pca = data::PCAOptions{.components = 3}}); }),
              HasSubstr("[PCA] PCAOptions::components must be from 1 to 2"));
}

// ---- rows ----

/// Transactions, some without a class, one of which is damaged.
data::Table transactions() { return {{"amount", "Class"}, {{"10", "20", "1000", "30", "no", "5000"}, {"0", "0", "1", "0", "", "1"}}}; }

TEST(EncoderRows, AreLeftOutByTheEncoderItself) {
  const data::Table t = transactions();
  const Encoder encoder =
      again(Encoder::fit(t, {.target = "Class", .categorical = {"Class"}, .keep = {"Class not empty"}, .train_on = {"Class == 0"}}));
  EXPECT_THAT(encoder.kept_rows(t), ElementsAre(0, 1, 2, 3, 5));
  EXPECT_THAT(encoder.training_rows(t), ElementsAre(0, 1, 3));
  ASSERT_EQ(encoder.keep().size(), 1u);
  EXPECT_EQ(encoder.keep()[0].text(), "Class not empty");
  EXPECT_EQ(encoder.train_on()[0].text(), "Class == 0");
  // Mean and deviation of 10, 20 and 30; classes of all that are kept.
  const float unit = std::sqrt(200.0f / 3);
  EXPECT_THAT(features(encoder, t), ElementsAre(FloatEq(-10 / unit), 0, FloatEq(980 / unit), FloatEq(10 / unit), FloatEq(4980 / unit)));
  EXPECT_THAT(encoder.classes(), ElementsAre("0", "1"));
  EXPECT_THAT(encoder.target(t).to_vector<std::int32_t>(), ElementsAre(0, 0, 1, 0, 1));
  EXPECT_EQ(encoder.dataset(t).size(), 5);
  EXPECT_EQ(encoder.summary(t)[1].missing, 0u);
  EXPECT_EQ(encoder.dataset(t.select(encoder.training_rows(t))).size(), 3);
  // Of the rows that are named only those.
  const Encoder some =
      Encoder::fit(t, {.target = "Class", .categorical = {"Class"}, .rows = {3, 2, 0}, .keep = {"Class not empty"}, .train_on = {"Class == 0"}});
  EXPECT_THAT(features(some, t.select(std::vector<std::size_t>{0, 3})), ElementsAre(-1, 1));
}

TEST(EncoderRows, OfRecords) {
  const Encoder encoder = again(Encoder::fit(transactions(), {.columns = {"amount"}, .keep = {"Class not empty", "amount < 4000"}}));
  data::RecordEncoder records(encoder, {"Class", "amount"});
  std::vector<float> out(1);
  const auto used = [&](const std::vector<data::Field>& fields) { return records.encode(fields, out); };
  EXPECT_TRUE(used({"0", 265.0}));
  EXPECT_EQ(out[0], 0);
  EXPECT_FALSE(used({"", 265.0}));
  EXPECT_FALSE(used({"1", "4000"}));
  EXPECT_FALSE(used({std::numeric_limits<double>::quiet_NaN(), 3.0}));
  EXPECT_TRUE(records.encode(std::vector<double>{1, 3999}, out));
  EXPECT_TRUE(records.encode(std::vector<std::string_view>{"1", "3999"}, out));
  EXPECT_EQ(error_of([&] { (void)used({"1", "much"}); }), "[encoder] column 'amount' is compared with a number, but a record has 'much'");
  EXPECT_EQ(error_of([&] { data::RecordEncoder(encoder, {"amount"}); }), "[encoder] there is no column 'Class'; the nearest is 'amount'");
}

TEST(EncoderRows, ThatNoneMeetsIsAnError) {
  EXPECT_EQ(error_of([] { (void)Encoder::fit(transactions(), {.columns = {"amount"}, .keep = {"amount > 3"}}); }),
            "[condition] column 'amount' is compared with a number, but line 5 has 'no'");
  EXPECT_EQ(error_of([] { (void)Encoder::fit(transactions(), {.rows = {0, 1}, .keep = {"Class not empty"}, .train_on = {"Class == 1"}}); }),
            "[encoder] no row of 2 meets all conditions of EncoderOptions::keep and EncoderOptions::train_on: Class not empty, Class == 1");
  EXPECT_THAT(error_of([] { (void)Encoder::fit(transactions(), {.keep = {"Clas == 1"}}); }),
              HasSubstr("there is no column 'Clas'; the nearest is 'Class'"));
}

// ---- files ----

TEST(EncoderSteps, DescriptionsAreOldWhereTheyCanBe) {
  const data::Table t{{"x"}, {{"1", "2"}}};
  EXPECT_THAT(Encoder::fit(t, {}).to_json(), HasSubstr(R"({"version":1,)"));
  EXPECT_THAT(Encoder::fit(t, {.scaling = Scaling::min_max}).to_json(), HasSubstr(R"({"version":2,)"));
  EXPECT_THAT(Encoder::fit(t, {.keep = {"x < 3"}}).to_json(), AllOf(HasSubstr(R"({"version":2,)"), HasSubstr(R"("keep":["x < 3"])")));
}

TEST(EncoderSteps, DamagedDescriptionsAreRefused) {
  const auto error = [](const std::string& column, const std::string& more) {
    return error_of([&] {
      (void)Encoder::from_json(
          R"({"version":2,"target":-1,"columns":[{"name":"x","categorical":false,"mean":0,"deviation":1,"missing":false,"categories":[])" + column +
          "}]" + more + "}");
    });
  };
  EXPECT_EQ(error("", ""), "");
  EXPECT_THAT(error(R"(,"scaling":"log")", ""), HasSubstr("scaling must be standard, min_max or none, got 'log'"));
  EXPECT_THAT(error(R"(,"scaling":"none","missing_value":1e300)", ""), HasSubstr("the description is damaged: column 'x' has missing_value 1e+300"));
  EXPECT_THAT(error("", R"(,"keep":["x"])"), HasSubstr("'x' is no condition"));
  EXPECT_THAT(error("", R"(,"keep":[3])"), HasSubstr("[encoder] the description is damaged ("));
  EXPECT_THAT(error("", R"(,"train_on":["x < a"])"), HasSubstr("'x < a' compares numbers, but 'a' is none"));
  EXPECT_THAT(error("", R"(,"normalizer":{"kind":"Normalizer","version":1,"norm":"l4"})"), HasSubstr("norm is 'l4'"));
  EXPECT_THAT(error("", R"(,"pca":3)"), HasSubstr("[PCA] the description is damaged ("));
  const std::string pca = R"(,"pca":{"kind":"PCA","version":1,"whiten":true,"explained_variance_ratio":[1],"explained_variance":[0],)";
  EXPECT_THAT(error("", pca + R"("mean":[0,0],"components":[1,0]}})"), HasSubstr("the description is damaged (["));
  EXPECT_THAT(error("", pca + R"("mean":[0,0],"components":[1,0]})"),
              HasSubstr("the description is damaged: pca takes 2 features, but the columns have 1"));
  const Encoder far = Encoder::from_json(
      R"({"version":2,"target":-1,"columns":[{"name":"x","categorical":false,"mean":0,"deviation":1,"missing":false,"categories":[]}])" + pca +
      R"("mean":[0],"components":[1]}})");
  EXPECT_EQ(error_of([&] { (void)far.features(data::Table{{"x"}, {{"1e30"}}}); }),
            "[encoder] the principal components of a row are beyond f32: it is far from all that the encoder learnt from");
}

}  // namespace
}  // namespace sinter::test::encoder_steps_test
