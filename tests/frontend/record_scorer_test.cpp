// Records in, answers out, whatever they hold.
#include "frontend/serve/record_scorer.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/frontend/served_models.h"
#include "tests/support/allocations.h"

namespace sinter::test::record_scorer_test {
namespace {

using serve::Format;
using serve::RecordScorer;
using serve::Scorer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Records : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  /// The texts of the answers to these records, as one batch.
  static std::vector<std::string> answers(RecordScorer& records, const std::vector<std::string>& all) {
    for (const std::string& record : all) records.add(record);
    EXPECT_EQ(records.size(), all.size());
    std::vector<std::string> texts;
    for (const serve::Answer& answer : records.flush()) {
      EXPECT_EQ(answer.index, texts.size());
      texts.emplace_back(answer.text);
    }
    EXPECT_EQ(records.size(), 0u);
    return texts;
  }
  static std::string bytes_of(std::initializer_list<float> numbers) {
    return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(float)};
  }
  static std::vector<float> floats_of(std::string_view bytes) {
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
    return numbers;
  }

  const TemporaryFolder folder_;
};

TEST_F(Records, AreAnsweredByClassesWithProbabilities) {
  const data::Encoder encoder = save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer records(scorer);
  EXPECT_FALSE(records.needs_header());
  EXPECT_THAT(records.columns(), ElementsAre("amount", "town"));
  Trainer trainer = Trainer::load(file("model.sinter"), {.mode = here.mode});
  const data::Table rows{{"amount", "town"}, {{"2.5", ""}, {"Ulm", "Bonn"}}};
  const std::vector<float> p = softmax(trainer.predict(encoder.features(rows))).to_vector<float>();
  const auto text = [&](std::size_t row) {
    const float* of = &p[3 * row];
    const std::string name = encoder.classes()[static_cast<std::size_t>(std::max_element(of, of + 3) - of)];
    return str(R"({"prediction":")", name, R"(","probabilities":{"fraud":)", serve::prediction_text(of[0]), R"(,"normal":)",
               serve::prediction_text(of[1]), R"(,"odd":)", serve::prediction_text(of[2]), "}}");
  };
  const std::vector<std::string> got = answers(records, {R"({"amount":2.5,"town":"Ulm"})", R"({"town":"Bonn"})", R"(["2.5","Ulm"])"});
  EXPECT_THAT(got, ElementsAre(text(0), text(1), text(0)));
  EXPECT_EQ(records.lines(), got[0] + "\n" + got[1] + "\n" + got[2] + "\n");
  EXPECT_THAT(records.score_bounds(), testing::SizeIs(10));

  RecordScorer fraud(scorer, {.format = {.format = Format::delimited, .columns = {"town", "amount"}}, .score = "fraud"});
  fraud.add("Ulm,2.5");
  const std::span<const serve::Answer> answer = fraud.flush();
  EXPECT_EQ(answer[0].score, static_cast<double>(p[0]));
  EXPECT_EQ(fraud.header(), "prediction,p(fraud),p(normal),p(odd),error");
  EXPECT_EQ(std::count(answer[0].text.begin(), answer[0].text.end(), ','), 4);
  EXPECT_THAT(std::string(answer[0].text), testing::EndsWith(","));
}

TEST_F(Records, AreAnsweredByNumbersInTheTargetsUnit) {
  const data::Table houses{{"area", "price"}, {{"50", "80", "120"}, {"100", "180", "320"}}};
  const data::Encoder encoder = save_model_of(file("houses.sinter"), houses, {.target = "price"});
  const Scorer scorer(file("houses.sinter"), here);
  RecordScorer records(scorer);
  Trainer trainer = Trainer::load(file("houses.sinter"), {.mode = here.mode});
  const double price = encoder.unscaled(static_cast<double>(trainer.predict(encoder.features(houses)).to_vector<float>()[1]));
  records.add(R"({"area":80})");
  const std::span<const serve::Answer> answer = records.flush();
  EXPECT_EQ(answer[0].text, str(R"({"prediction":)", serve::prediction_text(price, encoder.target_unit()), "}"));
  EXPECT_EQ(answer[0].score, price);
  EXPECT_THAT(records.score_bounds(), testing::SizeIs(7));
  EXPECT_EQ(records.score_bounds()[3], encoder.unscaled(0));
  EXPECT_EQ(serve::prediction_text(0.1), "0.1");
  EXPECT_EQ(serve::prediction_text(123456789.25, 0.5), "123456789.25");

  save_dense(file("two.sinter"), 2, 2, false);
  const Scorer two(file("two.sinter"), here);
  RecordScorer numbers(two, {.format = {.format = Format::json}, .answers = Format::delimited});
  EXPECT_EQ(numbers.header(), "prediction 1,prediction 2,error");
  EXPECT_THAT(numbers.columns(), ElementsAre("column_1", "column_2"));
  std::vector<float> out(2);
  two.score(std::vector<float>{1, 2.5f}, out);
  EXPECT_THAT(answers(numbers, {"[1, 2.5]"}), ElementsAre(str(serve::prediction_text(out[0]), ",", serve::prediction_text(out[1]), ",")));
  RecordScorer json(two);
  EXPECT_THAT(answers(json, {"[1, 2.5]"}),
              ElementsAre(str(R"({"prediction":[)", serve::prediction_text(out[0]), ",", serve::prediction_text(out[1]), "]}")));
}

TEST_F(Records, AreAnsweredOnceWhateverIsWrong) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind", .keep = {"amount > 0"}});
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer records(scorer);
  records.add(R"({"amount":1})");
  records.add(R"({"amount":"much \" more","town":"Ulm"})");
  records.add_error("too long");
  records.add(R"({"amount":-1})");
  records.add("\xff\n");
  records.add(R"({"amount":2})");
  EXPECT_EQ(records.size(), 6u);
  const std::span<const serve::Answer> all = records.flush();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_THAT(std::string(all[0].text), StartsWith(R"({"prediction":)"));
  EXPECT_EQ(all[1].text, R"({"error":"[record 2] column 'amount' is compared with a number, but a record has 'much \" more'"})");
  EXPECT_EQ(all[2].text, R"({"error":"[record 3] too long"})");
  EXPECT_EQ(all[3].text, R"({"skipped":"the model is for records with amount > 0"})");
  EXPECT_THAT(std::string(all[4].text), StartsWith(R"({"error":"[record 5] the record is no JSON: )"));
  EXPECT_THAT(std::string(all[5].text), StartsWith(R"({"prediction":)"));
  EXPECT_THAT((std::vector<bool>{all[0].is_error, all[1].is_error, all[2].is_error, all[3].is_error, all[4].is_error}),
              ElementsAre(false, true, true, false, true));
  EXPECT_TRUE(all[3].is_skipped);
  EXPECT_TRUE(std::isnan(all[3].score) && std::isnan(all[1].score) && !std::isnan(all[5].score));
  EXPECT_THAT(answers(records, {"{"}), ElementsAre(HasSubstr("[record 7]")));
  EXPECT_THAT(answers(records, {}), IsEmpty());
  EXPECT_EQ(records.lines(), "");

  RecordScorer lines(scorer, {.format = {.format = Format::delimited, .delimiter = ';'}});
  EXPECT_TRUE(lines.needs_header());
  EXPECT_EQ(error_of([&] { lines.add("1"); }), "[stream] the names of the columns are not known yet; read_header comes before the first record");
  lines.read_header("town;;amount");
  EXPECT_FALSE(lines.needs_header());
  EXPECT_THAT(lines.columns(), ElementsAre("town", "column_2", "amount"));
  EXPECT_THAT(answers(lines, {"Ulm;\"x\"y;1", "Ulm;;-2", "Graz;;1"}),
              ElementsAre(";;;;\"[record 1] there is 'y;1' behind a closing quote; a quote in quotes is written twice\"",
                          ";;;;skipped: the model is for records with amount > 0", Not(HasSubstr("error"))));
  EXPECT_EQ(lines.summary()[1].name, "town");
  EXPECT_EQ(lines.summary()[1].unseen, 1u);
}

TEST_F(Records, OfNumbersAreReadRaw) {
  save_dense(file("model.sinter"), 3, 2, false);
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer records(scorer, {.format = {.format = Format::raw}});
  EXPECT_EQ(records.record_bytes(), 12u);
  std::vector<float> out(2);
  scorer.score(std::vector<float>{1, 2, 3}, out);
  const float infinity = std::numeric_limits<float>::infinity();
  records.add(bytes_of({1, 2, 3}));
  records.add(bytes_of({1, infinity, 3}));
  records.add(bytes_of({1, 2}));
  const std::span<const serve::Answer> all = records.flush();
  EXPECT_EQ(floats_of(all[0].text), out);
  EXPECT_EQ(records.lines().size(), 24u);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(all[i].is_error);
    for (const float x : floats_of(all[i].text)) EXPECT_TRUE(std::isnan(x));
  }
  RecordScorer words(scorer, {.format = {.format = Format::raw}, .answers = Format::json});
  EXPECT_THAT(answers(words, {bytes_of({1, infinity, 3}), bytes_of({1, 2}), bytes_of({1, 2, 3})}),
              ElementsAre(R"({"error":"[record 1] number 2 of the record is inf; give finite ones"})",
                          R"({"error":"[record 2] a record has 3 numbers, which are 12 bytes, got 8"})", HasSubstr("prediction")));
}

TEST_F(Records, WithoutEncoderKnowNoMissingNumbers) {
  save_dense(file("model.sinter"), 2, 1, false);
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer records(scorer, {.format = {.columns = {"x", "y"}}});
  EXPECT_THAT(records.summary(), IsEmpty());
  EXPECT_THAT(answers(records, {R"({"x":1})", R"({"x":1,"y":"NA"})", R"({"x":1,"y":"many"})", R"({"x":1e300,"y":1})", R"({"x":"2","y":true})"}),
              ElementsAre(HasSubstr("'y' is missing, but the model has no encoder"), HasSubstr("'y' is missing"),
                          HasSubstr("'y' must be a number that f32 can hold, got 'many'"), HasSubstr("'x' is 1e+300, which is beyond f32"),
                          HasSubstr("prediction")));
  EXPECT_THAT(answers(records, {R"({"x":3e38,"y":3e38})"})[0], testing::AnyOf(HasSubstr("prediction\":"), HasSubstr("the prediction is")));
}

TEST_F(Records, PredictionsThatAreNotFiniteAreErrors) {
  seed(1);
  nn::Sequential model{nn::Dense(1, 1, Activation::none, {.weight = init::constant(3e38f)})};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)trainer.evaluate({random({2, 1}, 1), random({2, 1}, 2)});
  const Scorer scorer(trainer, here);
  RecordScorer records(scorer);
  records.add("[0.5]");
  records.add("[1e30]");
  const std::span<const serve::Answer> all = records.flush();
  EXPECT_FALSE(all[0].is_error);
  EXPECT_TRUE(all[1].is_error);
  EXPECT_EQ(all[1].text, R"({"error":"[record 2] the prediction is inf; does the record have greater numbers than the model was trained on?"})");
}

TEST_F(Records, AreReadAsTheModelOfTheirBatchReadsThem) {
  data::Table names{{"x", "y"}, {{"a", "b", "a"}, {"1", "2", "4"}}};
  save_model_of(file("a.sinter"), names, {.target = "y"}, 1);
  data::Table others{{"x", "y"}, {{"b", "c", "b"}, {"1", "2", "4"}}};
  save_model_of(file("b.sinter"), others, {.target = "y"}, 1);  // the same weights, for other categories
  Scorer scorer(file("a.sinter"), here);
  RecordScorer records(scorer);
  const std::vector<std::string> first = answers(records, {R"({"x":"a"})", R"({"x":"b"})"});
  records.add(R"({"x":"a"})");
  scorer.swap(file("b.sinter"));
  EXPECT_EQ(records.flush()[0].text, first[0]) << "added before the swap";
  EXPECT_THAT(answers(records, {R"({"x":"b"})", R"({"x":"c"})"}), ElementsAre(first[0], first[1]));
  save_model_of(file("c.sinter"), others, {.target = "y"}, 2);  // other weights
  records.add(R"({"x":"b"})");
  scorer.swap(file("c.sinter"));
  EXPECT_EQ(records.flush()[0].text, first[0]) << "added before the swap";
  EXPECT_NE(answers(records, {R"({"x":"b"})"})[0], first[0]);
}

TEST_F(Records, RefuseModelsThatDoNotFit) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  save_dense(file("plain.sinter"), 2, 1, false);
  const Scorer scorer(file("model.sinter"), here), plain(file("plain.sinter"), here);
  const auto error = [](const Scorer& of, serve::RecordScorerOptions options) { return error_of([&] { RecordScorer(of, std::move(options)); }); };
  EXPECT_THAT(error(scorer, {.format = {.format = Format::raw}}), HasSubstr("but the model reads columns of a table; give json or csv records"));
  EXPECT_THAT(error(plain, {.format = {.format = Format::raw, .columns = {"a", "b"}}}), HasSubstr("numbers in their order, which have no names"));
  EXPECT_EQ(error(plain, {.format = {.columns = {"a"}}}), "[stream] the model takes 2 numbers, but records have 1 column");
  EXPECT_THAT(error(scorer, {.format = {.columns = {"amount", "twn"}}}), HasSubstr("there is no column 'town'; the nearest is 'twn'"));
  EXPECT_THAT(error(scorer, {.score = "froud"}), HasSubstr("the score 'froud' is none of the model's classes; the nearest is 'fraud'"));
  EXPECT_THAT(error(plain, {.score = "fraud"}), HasSubstr("the score 'fraud' is a class, but the model predicts numbers"));
  RecordScorer lines(scorer, {.format = {.format = Format::delimited}});
  EXPECT_THAT(error_of([&] { lines.read_header("amount,city"); }), HasSubstr("there is no column 'town'"));
}

TEST_F(Records, TrueIsATextWhereTextsAre) {
  const data::Table flags{{"on", "n", "y"}, {{"true", "false", "true"}, {"1", "0", "1"}, {"1", "2", "4"}}};
  save_model_of(file("model.sinter"), flags, {.target = "y", .keep = {"on not empty"}});
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer records(scorer);
  const std::vector<std::string> all = answers(records, {R"({"on":true,"n":true})", R"({"on":"true","n":1})", R"({"on":false,"n":false})"});
  EXPECT_EQ(all[0], all[1]);
  EXPECT_NE(all[0], all[2]);
  EXPECT_EQ(records.summary()[0].unseen, 0u);
}

TEST_F(Records, OfTextAreReadByTheRulesOfTheirTable) {
  const data::Table written{{"x", "y"}, {{"1,5", "-999", "2,25"}, {"1", "2", "4"}}};
  const data::Encoder encoder = save_model_of(file("model.sinter"), written, {.target = "y", .missing = {"-999"}, .decimal = ','});
  EXPECT_EQ(encoder.rules().decimal, ',');
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer lines(scorer, {.format = {.format = Format::delimited, .columns = {"x"}, .delimiter = ';'}}), json(scorer);
  EXPECT_THAT(answers(lines, {"1.5"}), ElementsAre(HasSubstr("a record has '1.5', which cannot be read as a number")));
  const std::vector<std::string> of_lines = answers(lines, {"1,5", "-999", ""}),
                                 of_json = answers(json, {R"({"x":1.5})", R"({"x":-999})", R"({"x":null})"});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ("{\"prediction\":" + of_lines[i].substr(0, of_lines[i].find(';')) + "}", of_json[i]);
  EXPECT_EQ(of_lines[1], of_lines[2]);
}

TEST_F(Records, BatchesAllocateNothing) {
  NEEDS_CODEGEN();
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  if (settings().checked) GTEST_SKIP() << "a checked step notes what its kernels touch";
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  const Scorer scorer(file("model.sinter"), here);
  RecordScorer json(scorer), lines(scorer, {.format = {.format = Format::delimited, .columns = {"amount", "town"}}});
  const std::string object = R"({"amount":2.25,"town":"Bonn","id":"a text that nobody reads, longer than others"})", line = "3,\"Ulm\"";
  const auto batch = [&] {
    for (int i = 0; i < 50; ++i) json.add(object), lines.add(line);
    return json.flush().size() + lines.flush().size();
  };
  for (int i = 0; i < 3; ++i) batch();
  const std::int64_t before = allocations();
  for (int i = 0; i < 20; ++i) batch();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace sinter::test::record_scorer_test
