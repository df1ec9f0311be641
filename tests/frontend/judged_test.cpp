// What the report shows of data that a model is judged by.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "frontend/report/classification.h"
#include "frontend/report/histogram.h"
#include "frontend/report/markup.h"
#include "frontend/report/regression.h"
#include "tests/frontend/judged_helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::judged_test {
namespace {

using report::Judgement;
using report::Reading;
using report::Target;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string tile(const std::string& name, const std::string& value) {
  return "<div class=\"side\">" + name + "</div><div class=\"value\">" + value + "</div>";
}

// ---- what predictions and targets are ----

TEST(Judgement, TellsClassesFromNumbers) {
  const Tensor three = random({4, 3}, 1), one = random({4, 1}, 2, 0, 1);
  EXPECT_EQ(judge(three, classes({0, 1, 2, 1})).kind, Judgement::Kind::classes);
  EXPECT_EQ(judge(three, classes({0, 1, 2, 1})).classes, 3u);
  EXPECT_EQ(judge(three, Tensor({1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1}, {4, 3})).truth, (std::vector<std::int32_t>{0, 1, 1, 2}));  // one-hot
  EXPECT_TRUE(judge(one, column({0, 1, 1, 0})).is_binary());
  EXPECT_TRUE(judge(one, classes({0, 1, 1, 0})).is_binary());
  EXPECT_EQ(judge(one, column({0, 1, 1, 0.5f})).kind, Judgement::Kind::numbers);
  EXPECT_EQ(judge(one, column({0, 1, 1, 0}), {.predictions = Reading::numbers}).kind, Judgement::Kind::numbers);
  EXPECT_EQ(judge(one, column({0, 1, 1, 0}), {.predictions = Reading::automatic}).kind, Judgement::Kind::classes);
  const Judgement labels = judge(three, Tensor({1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1}, {4, 3}));  // several may be true
  EXPECT_TRUE(labels.is_binary());
  EXPECT_EQ(labels.answers(), 12u);
  EXPECT_EQ(report::judge(three, three, {}, three, 1).kind, Judgement::Kind::reconstruction);
  const Tensor bytes(std::vector<std::uint8_t>{0, 51, 255, 102}, {2, 2});
  EXPECT_EQ(report::judge(Tensor({0, 0, 0, 0}, {2, 2}), Tensor({0, 0.2f, 1, 0.4f}, {2, 2}), {}, bytes, 1.0f / 255).kind,
            Judgement::Kind::reconstruction);
  EXPECT_EQ(report::judge(Tensor({0, 0, 0, 0}, {2, 2}), Tensor({0, 0.3f, 1, 0.4f}, {2, 2}), {}, bytes, 1.0f / 255).kind, Judgement::Kind::numbers);
  EXPECT_THAT(judge(three, column({1, 2, 3, 4})).note, HasSubstr("Predictions f32[4,3] and targets f32[4,1] cannot be compared number by number."));
  EXPECT_THAT(judge(three, column({1, 2})).note, HasSubstr("cannot be compared sample by sample."));
}

TEST(Judgement, ReadsProbabilitiesAndLogits) {
  const Judgement probabilities = judge(column({0.5f, 0.2f, nan_float}), column({1, 1, 0}));
  EXPECT_THAT(probabilities.said, ElementsAre(1, 0, Judgement::no_class));
  EXPECT_FLOAT_EQ(static_cast<float>(probabilities.p_truth[1]), 0.2f);
  EXPECT_FLOAT_EQ(static_cast<float>(probabilities.p_said[1]), 0.8f);
  EXPECT_TRUE(std::isnan(probabilities.p_one[2]));
  EXPECT_EQ(probabilities.note, "");
  const Judgement logits = judge(column({0, -2}), column({1, 1}));
  EXPECT_THAT(logits.said, ElementsAre(1, 0));
  EXPECT_NEAR(logits.p_one[1], 1 / (1 + std::exp(2.0)), 1e-15);
  EXPECT_EQ(logits.note, "Probabilities are the sigmoid of the predictions.");
  EXPECT_NEAR(judge(column({0.5f, 0.2f}), column({1, 0}), {.predictions = Reading::logits}).p_one[0], 1 / (1 + std::exp(-0.5)), 1e-7);
  const Judgement two = judge(Tensor({1000, 1001, nan_float, 0}, {2, 2}), classes({0, 1}));
  EXPECT_NEAR(two.p_one[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(two.p_truth[0], 1 - two.p_one[0], 1e-12);
  EXPECT_THAT(two.said, ElementsAre(1, Judgement::no_class));
  EXPECT_EQ(judge(Tensor({0.3f, 0.7f}, {1, 2}), classes({0}), {.predictions = Reading::probabilities}).p_said[0], 0.7f);
}

TEST(Judgement, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { judge(column({2, 0}), column({1, 0}), {.predictions = Reading::probabilities}); }),
            "[report] the prediction 2 is no probability; set Target::predictions to Reading::logits if it is a logit");
  EXPECT_EQ(error_of([] { judge(column({2, 0}), column({1, 0.5f}), {.predictions = Reading::logits}); }),
            "[report] Target::predictions are of classes, but targets f32[2,1] for predictions f32[2,1] are neither class numbers nor one-hot nor "
            "all 0 or 1");
  EXPECT_EQ(error_of([] { judge(random({1, 3}, 1), classes({3})); }),
            "[report] class 3 of sample 0 is outside of [0, 3), the classes that are predicted");
  EXPECT_EQ(error_of([] { judge(random({1, 3}, 1), classes({2}), {.names = {"a"}}); }),
            "[report] Target::names has 1 name for 3 classes; give one for each");
  EXPECT_THAT(error_of([] { judge(column({2.5f}), column({1.5f}), {.names = {"a", "b"}}); }), HasSubstr("2 names for 1 numbers of a sample"));
}

// ---- classes ----

TEST(Classification, CountsWhatIsTakenForWhat) {
  // One row a sample: the predicted class has the greatest number.
  const Tensor predictions({3, 1, 0, /**/ 0, 3, 1, /**/ 0, 1, 3, /**/ 0, 3, 1, /**/ nan_float, 1, 2}, {5, 3});
  const Judgement judgement = judge(predictions, classes({0, 0, 2, 1, 1}), {.names = {"a<", "b", "c"}});
  const std::string matrix = report::confusion_table(judgement), table = report::class_table(judgement), all = report::classification(judgement);
  EXPECT_EQ(error_in(all), "") << all;
  EXPECT_THAT(matrix, AllOf(HasSubstr("<th class=\"class\" title=\"a&lt;\">a&lt;</th><td class=\"right\" style=\"--a:0.34\" title=\"50.0 %\">1</td>"
                                      "<td class=\"wrong\" style=\"--a:0.34\" title=\"50.0 %\">1</td><td class=\"wrong\" style=\"--a:0\" title=\"0.0 "
                                      "%\">0</td><td class=\"wrong\" style=\"--a:0\" title=\"0.0 %\">0</td></tr>"),
                            HasSubstr("title=\"NaN\">NaN</th></tr></thead>"), HasSubstr("shades are shares of a row")));
  EXPECT_EQ(count(matrix, "<td"), 12u);  // with a column of those that are NaN
  const auto row = [](const std::string& name, const std::string& numbers) { return name + "</th><td class=\"number\">" + numbers + "</td></tr>"; };
  EXPECT_THAT(table, HasSubstr(row("b",
                                   "2</td><td class=\"number\">2</td><td class=\"number\">0.500</td><td class=\"number\">0.500</td><td "
                                   "class=\"number\">0.500")));
  EXPECT_THAT(table, HasSubstr(row("c",
                                   "1</td><td class=\"number\">1</td><td class=\"number\">1.000</td><td class=\"number\">1.000</td><td "
                                   "class=\"number\">1.000")));
  EXPECT_THAT(all, AllOf(HasSubstr(tile("Accuracy", "60.00 %")), HasSubstr("leave out 1 sample with NaN predictions."),
                         HasSubstr("Probability of the predicted class"), HasSubstr("Calibration"), Not(HasSubstr("ROC"))));
}

TEST(Classification, OfManyClassesShowsTheMostFrequentConfusions) {
  constexpr std::int64_t many = 150;
  std::vector<float> predictions(static_cast<std::size_t>(2 * many * many));
  std::vector<std::int32_t> truth;
  for (std::int32_t i = 0; i < 2 * many; ++i) {
    truth.push_back(i % many);
    const std::int64_t said = i % many < 3 ? 7 : i % many;  // classes 0 to 2 are taken for class 7
    predictions[static_cast<std::size_t>(i * many + said)] = 1;
  }
  const Judgement judgement = judge(Tensor(predictions, {2 * many, many}), classes(truth));
  const std::string matrix = report::confusion_table(judgement), table = report::class_table(judgement);
  EXPECT_THAT(matrix, AllOf(HasSubstr("<tr><td>0</td><td>7</td><td class=\"number\">2</td></tr>\n<tr><td>1</td><td>7</td>"),
                            HasSubstr("The 3 most frequent of 3 confusions among 150 classes.")));
  EXPECT_EQ(count(table, "<tr><th class=\"class\""), 100u);
  EXPECT_THAT(table, HasSubstr("The 100 classes with the least F1 of 150 classes that occur."));
  EXPECT_LT(table.find("title=\"2\""), table.find("title=\"7\""));  // F1 0, then 0.4
  EXPECT_LT(table.find("title=\"7\""), table.find("title=\"3\""));
}

TEST(Classification, OfTwoClassesHasCurvesAndThresholds) {
  std::vector<float> probability, truth;
  for (int i = 0; i < 1000; ++i) {
    probability.push_back(static_cast<float>(i) / 999);
    truth.push_back((i * 7919) % 1000 < i);
  }
  const Target names{.names = {"no", "yes"}, .costs = {.false_positive = 1, .false_negative = 4}};
  const Judgement judgement = judge(column(probability), column(truth), names);
  const std::string page = report::classification(judgement);
  EXPECT_EQ(error_in(page), "");
  const metric::RocCurve roc = metric::roc_curve(truth, probability);
  const metric::Threshold f1 = metric::best_threshold(truth, probability, metric::goal::f_score()),
                          cost = metric::best_threshold(truth, probability, metric::goal::cost(names.costs));
  EXPECT_THAT(page, AllOf(HasSubstr(tile("ROC AUC", report::fixed(metric::area_under(roc.fpr, roc.tpr), 4))),
                          HasSubstr(tile("Average precision", report::fixed(metric::average_precision(truth, probability), 4))),
                          HasSubstr(tile("Brier score", report::significant(metric::brier_score(truth, probability), 4))),
                          HasSubstr(tile("Calibration error", report::significant(metric::expected_calibration_error(truth, probability), 3)))));
  EXPECT_THAT(page, AllOf(HasSubstr(tile("Greatest F1", report::fixed(f1.value, 3) + " at " + report::significant(f1.threshold, 3))),
                          HasSubstr(tile("Least cost", report::significant(-cost.value, 3) + " at " + report::significant(cost.threshold, 3))),
                          HasSubstr("<title>greatest F1 at " + report::significant(f1.threshold, 3) + ", "),
                          HasSubstr("<title>least cost at " + report::significant(cost.threshold, 3) + ", ")));
  EXPECT_THAT(page, AllOf(HasSubstr("Positive is yes. A false positive costs 1, a false negative 4."), HasSubstr(">true: yes</text>"),
                          HasSubstr("mean probability of yes in each tenth")));
  EXPECT_EQ(count(page, "<svg"), 6u);
  // The same answers as two columns of probabilities.
  std::vector<float> both;
  for (const float p : probability) both.insert(both.end(), {1 - p, p});
  std::vector<std::int32_t> numbers(truth.begin(), truth.end());
  EXPECT_THAT(report::classification(judge(Tensor(both, {1000, 2}), classes(numbers), names)),
              HasSubstr(tile("ROC AUC", report::fixed(metric::area_under(roc.fpr, roc.tpr), 4))));
}

TEST(Classification, CurvesOfManySamplesAreSmall) {
  RandomStream numbers(3, 1);
  std::vector<float> probability, truth;
  for (int i = 0; i < 200'000; ++i) {
    probability.push_back(static_cast<float>(numbers.uniform()));
    truth.push_back(numbers.uniform() < static_cast<double>(probability.back()));
  }
  const report::BinaryPart part = report::binary_part(judge(column(probability), column(truth)));
  std::size_t most = 0;
  for (const report::Chart& chart : part.charts)
    for (const report::Series& series : chart.series) most = std::max(most, series.x.size());
  EXPECT_LE(most, 802u);
  EXPECT_GT(most, 200u);
  EXPECT_THAT(part.note, HasSubstr("Curves are drawn from at most 802 of their points."));
  // The thinned ROC curve encloses the area of the whole one.
  const auto roc = std::find_if(part.charts.begin(), part.charts.end(), [](const report::Chart& c) { return c.title == "ROC curve"; });
  const metric::RocCurve whole = metric::roc_curve(truth, probability);
  EXPECT_NEAR(metric::area_under(roc->series[0].x, roc->series[0].y), metric::area_under(whole.fpr, whole.tpr), 1e-4);
}

TEST(Classification, OfOneClassOrOnlyNaNHasNoCurves) {
  const report::BinaryPart one = report::binary_part(judge(column({0.5f, 0.25f, nan_float}), column({0, 0, 0})));
  EXPECT_EQ(one.charts.size(), 1u);
  EXPECT_THAT(one.note, AllOf(HasSubstr("The charts leave out 1 prediction of NaN."), HasSubstr("All samples are of one class")));
  EXPECT_TRUE(report::binary_part(judge(column({nan_float}), column({1}))).charts.empty());
  EXPECT_EQ(error_in(report::classification(judge(column({nan_float}), column({1})))), "");
  EXPECT_EQ(error_in(report::classification(judge(Tensor({nan_float, 0, 0}, {1, 3}), classes({1})))), "");
  const Judgement never = judge(column({0.5f, 0.25f}), column({0, 1}), {.costs = {.false_positive = 100, .prevalence = 0.1}});
  EXPECT_THAT(report::classification(never), AllOf(HasSubstr("at never"), HasSubstr(", at a prevalence of 0.1.")));
}

// ---- numbers ----

TEST(Histogram, CountsAndLeavesTailsOut) {
  const std::vector<report::Sample> samples{{"a", {0, 0.1, 0.5, 1, 2, -1, std::nan("")}}, {"b", {0.9}}};
  const report::Histogram fixed = report::histogram(samples, 0, 1, 2);
  EXPECT_THAT(fixed.series[0].x, ElementsAre(0, 0.5, 1));
  EXPECT_THAT(fixed.series[0].y, ElementsAre(2, 2, 0));
  EXPECT_THAT(fixed.series[1].y, ElementsAre(0, 1, 0));
  EXPECT_EQ(fixed.outside, 3u);
  report::Sample long_tail{"", {}};
  for (int i = 0; i < 999; ++i) long_tail.numbers.push_back(i / 999.0);
  long_tail.numbers.push_back(1000);
  const report::Histogram cut = report::histogram(std::span(&long_tail, 1));
  EXPECT_LT(cut.series[0].x.back(), 1.1);
  EXPECT_GT(cut.outside, 0u);
  EXPECT_LE(cut.outside, 10u);
  const report::Sample same{"", {3, 3, 3}}, none{"", {}};
  const report::Histogram three = report::histogram(std::span(&same, 1));
  EXPECT_EQ(std::count(three.series[0].y.begin(), three.series[0].y.end(), 3), 1);
  EXPECT_EQ(three.outside, 0u);
  EXPECT_EQ(report::histogram(std::span(&none, 1)).outside, 0u);
}

TEST(JudgedNumbers, ShowsErrorsInTheTargetsUnit) {
  // Standardized numbers, of which 1 is 10 EUR, from 100 EUR.
  const Target price{.name = "price", .unit = "EUR", .scale = 10, .offset = 100};
  const std::string page = report::regression(judge(column({1, 2, 3, 4.5f}), column({1, 2, 3, 4.25f}), price));
  EXPECT_EQ(error_in(page), "") << page;
  EXPECT_THAT(page, AllOf(HasSubstr(tile("Root mean squared error", "1.25 EUR")), HasSubstr(tile("Mean absolute error", "0.625 EUR")),
                          HasSubstr(tile("Mean error", "0.625 EUR")), HasSubstr(">true price [EUR]</text>"), HasSubstr("<title>110: 110</title>"),
                          HasSubstr("<title>142.5: 145</title>"), HasSubstr("<title>145: 2.5</title>"), Not(HasSubstr("are drawn"))));
  const double mean = (1 + 2 + 3 + 4.25) / 4,
               spread = std::pow(1 - mean, 2) + std::pow(2 - mean, 2) + std::pow(3 - mean, 2) + std::pow(4.25 - mean, 2);
  EXPECT_THAT(page, HasSubstr(tile("R²", report::fixed(1 - 0.0625 / spread, 4))));
}

TEST(JudgedNumbers, OfSeveralNumbersHasARowForEach) {
  const Judgement judgement = judge(Tensor({1, 0, 2, 0, 3, nan_float}, {3, 2}), Tensor({1, 1, 2, 3, 3, 5}, {3, 2}), {.names = {"x<", "y"}});
  const std::string page = report::regression(judgement);
  EXPECT_EQ(error_in(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("<tr><th>x&lt;</th><td class=\"number\">0</td>"), HasSubstr("<tr><th>y</th><td class=\"number\">2.236</td>"),
                          HasSubstr("1 prediction without a finite error left out.")));
  EXPECT_EQ(report::squared_error(judgement, 1), 4.5);
  EXPECT_THAT(report::regression(judge(column({nan_float}), column({1.5f}))), HasSubstr("None of the predictions is finite."));
  std::vector<float> wide(120);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(i);
  EXPECT_THAT(report::regression(judge(Tensor(wide, {2, 60}), Tensor(wide, {2, 60}))), HasSubstr("The first 50 of 60 numbers."));
}

TEST(JudgedNumbers, DrawsSomeOfManyPointsAndTheWorst) {
  constexpr int many = 100'000;
  std::vector<float> target, predicted;
  for (int i = 0; i < many; ++i) {
    target.push_back(static_cast<float>(i % 1000) / 1000);
    predicted.push_back(target.back() + (i == 77'777 ? 50.0f : static_cast<float>(i % 7) / 100));
  }
  const std::string page = report::regression(judge(column(predicted), column(target)));
  EXPECT_LT(page.size(), 120'000u);
  EXPECT_THAT(page, AllOf(HasSubstr("Of 100000 points 20"), HasSubstr(" are drawn: 2000 evenly spaced ones and the 50 with the greatest errors."),
                          HasSubstr("1 error beyond the axis of the histogram.")));
  EXPECT_THAT(page, HasSubstr(">50</text>"));  // the axis reaches the worst one
  EXPECT_EQ(page, report::regression(judge(column(predicted), column(target))));
}

TEST(Reconstruction, ShowsTheErrorsOfSamples) {
  const Tensor x({0, 0, 1, 1, 2, 2}, {3, 2}), y({0, 0, 1, 2, 2, nan_float}, {3, 2});
  const std::string page = report::reconstruction(report::judge(y, x, {}, x, 1));
  EXPECT_EQ(error_in(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr(tile("Mean squared error", "0.25")), HasSubstr(tile("Worst sample", "0.5")),
                          HasSubstr("1 sample without a finite error left out."), HasSubstr("Mean squared error of a sample")));
  EXPECT_THAT(report::reconstruction(report::judge(Tensor({nan_float, 0}, {1, 2}), Tensor({1, 2}, {1, 2}), {}, Tensor({1, 2}, {1, 2}), 1)),
              HasSubstr("None of the predictions is finite."));
}

// ---- the page ----

class JudgedPage : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "page.html";
};

TEST_F(JudgedPage, HasASectionOfPredictions) {
  for (const Mode mode : modes()) {
    nn::Sequential model{(seed(3), nn::Dense(64, 8, Activation::tanh)), nn::Dense(8, 3)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::Adam(), {.mode = mode});
    const Dataset train{random({90, 64}, 1), random_labels(90, 3, 1)}, test{random({30, 64}, 2), random_labels(30, 3, 2)};
    const auto history = trainer.fit(train, {.epochs = 2, .verbose = false});
    const report::Options options{.judged = &test, .judged_as = "te<st", .targets = {{.name = "k&nd", .names = {"a", "b", "c"}}}, .image = {8, 8}};
    report::write_html(path_, trainer, history, options);
    const std::string page = read_bytes(path_);
    EXPECT_EQ(xml_error(page), "");
    const Evaluation judged = trainer.evaluate(test);
    EXPECT_THAT(page, AllOf(HasSubstr("<section id=\"judged\">\n<h2>Predictions for 30 te&lt;st samples: k&amp;nd</h2>"),
                            HasSubstr(tile("Accuracy", report::fixed(*judged.accuracy * 100, 2) + " %")), HasSubstr("class=\"confusion\""),
                            HasSubstr("id=\"samples\""), HasSubstr("id=\"mistakes\""), Not(HasSubstr("<script")), Not(HasSubstr("href=")),
                            Not(HasSubstr("src=\"http"))));
    report::write_html(path_, trainer, history, {.judged = nullptr});
    EXPECT_THAT(read_bytes(path_), Not(HasSubstr("id=\"judged\"")));
    EXPECT_THAT(error_of([&] { report::write_html(path_, trainer, history, {.judged = &test, .targets = {{}, {}}}); }),
                HasSubstr("[report] Options::targets has 2 targets for 1 output of the model"));
    const Dataset two{test.x, {test.y[0], test.y[0]}}, none;
    EXPECT_THAT(error_of([&] { report::write_html(path_, trainer, history, {.judged = &two}); }),
                HasSubstr("the model has 1 output, but the data that it is judged by has 2 targets"));
    EXPECT_THAT(error_of([&] { report::write_html(path_, trainer, history, {.judged = &none}); }), HasSubstr("[report]"));
  }
}

TEST_F(JudgedPage, HasASectionForEachOutput) {
  struct Two : nn::Model {
    nn::Dense number{4, 1}, yes{4, 1};
    Two() : Model("two") { add(number), add(yes); }
    std::vector<Tensor> forward_all(std::span<const Tensor> in) override { return {number(in[0]), yes(in[0])}; }
  };
  seed(1);
  Two model;
  Trainer trainer(model, {{loss::mean_squared_error, 1}, {loss::binary_crossentropy_from_logits, 1}}, optim::Adam(), {.mode = modes().back()});
  const Dataset data{random({40, 4}, 1), {random({40, 1}, 2), cast(random({40, 1}, 3) > 0.0f, DType::f32)}};
  const auto report = std::make_shared<callback::Report>(
      path_, report::Options{.judged = &data, .targets = {{.name = "height", .unit = "m"}, {.predictions = Reading::logits}}});
  trainer.fit(data, {.epochs = 1, .verbose = false, .callbacks = {report}});
  const std::string page = read_bytes(path_);
  EXPECT_EQ(xml_error(page), "");
  EXPECT_THAT(page,
              AllOf(HasSubstr("<section id=\"judged\">\n<h2>Predictions for 40 validation samples: height</h2>"), HasSubstr(">true height [m]<"),
                    HasSubstr("<section id=\"judged-2\">\n<h2>Predictions for 40 validation samples: output 2</h2>"), HasSubstr(">ROC curve<")));
}

}  // namespace
}  // namespace sinter::test::judged_test
