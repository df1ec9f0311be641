// Tables and labels: what columns are taken for, what is refused, and what predictions look like.
#include <sinter/sinter.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <regex>

#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace sinter::test::table_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

class Tables : public Cli {
 protected:
  std::string table(const std::string& name, const std::string& text) const {
    write_bytes(file(name), text);
    return file(name);
  }
  /// A short training on the column y of a file.
  Arguments train_on(const std::string& data) const {
    return {"train", "--data", data, "--target", "y", "--hidden", "4", "--epochs", "2", "-o", file("model.sinter")};
  }
  /// 20 rows of numbers, of which the field x of one is `cell`.
  std::string numbers_with(const std::string& cell) const {
    std::string text = "x;y\n";
    for (int i = 0; i < 20; ++i) text += (i == 7 ? cell : str(i, i == 3 ? "" : ".5")) + str(";", 3 * i + 1, "\n");
    return table("numbers.csv", text);
  }
  Arguments train_on_numbers_with(const std::string& cell) const { return train_on(numbers_with(cell)) + Arguments{"--delimiter", ";"}; }

  void write(const std::string& name, const data::HostArray& array) const {
    const std::vector<std::byte> bytes = data::npy_bytes(array, name);
    write_bytes(file(name), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  /// Samples and labels as .npy files.
  Arguments train_on_labels(const std::vector<std::int64_t>& labels) const {
    const auto count = static_cast<std::int64_t>(labels.size());
    data::HostArray x{DType::f32, {count, 2}, std::vector<std::byte>(labels.size() * 2 * sizeof(float))};
    for (std::size_t i = 0; i < labels.size() * 2; ++i) x.values<float>()[i] = static_cast<float>(i % 7);
    data::HostArray y{DType::u32, {count}, std::vector<std::byte>(labels.size() * sizeof(std::uint32_t))};
    if (*std::min_element(labels.begin(), labels.end()) < 0) y.dtype = DType::i32;
    for (std::size_t i = 0; i < labels.size(); ++i) y.values<std::uint32_t>()[i] = static_cast<std::uint32_t>(labels[i]);
    write("x.npy", x);
    write("y.npy", y);
    return {"train", "--data", file("x.npy"), "--labels", file("y.npy"), "--hidden", "4", "--epochs", "1", "-o", file("model.sinter")};
  }
};

// ---- columns ----

TEST_F(Tables, TrainSaysWhatEachColumnWasTakenFor) {
  const Finished run = sinter_with({"train", "--data", houses, "--target", "price", "--ignore", "id", "--epochs", "1", "-o", file("m.sinter")});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.out, testing::ContainsRegex("columns of .*houses.csv:\n  area: numbers, [0-9]+ missing\n  town: 3 categories, [0-9]+ missing\n"
                                              "  rooms: numbers\n  price: numbers, the target\n  id: left out\n"));
}

TEST_F(Tables, ABadCellIsAnErrorUnlessItIsExplained) {
  for (const char* cell : {"-", "1.5 m", "n.a.", "2,5", "inf", "1e200"}) {
    EXPECT_THAT(
        sinter_with(train_on_numbers_with(cell)),
        Fails(failure,
              HasSubstr(str("numbers.csv] column 'x' holds numbers, but 1 of its 20 fields cannot be read as numbers that f32 can hold: line 9 '",
                            cell, "';"))));
    EXPECT_FALSE(fs::exists(file("model.sinter")));
  }
  for (const char* cell : {"-", "n.a."})
    EXPECT_THAT(sinter_with(train_on_numbers_with(cell) + Arguments{"--missing", "-,n.a."}), Prints(HasSubstr("  x: numbers, 1 missing\n")));
  EXPECT_THAT(sinter_with(train_on_numbers_with("2,5") + Arguments{"--decimal", ","}), Fails(failure, HasSubstr("18 of its 20 fields")));  // 0.5
  EXPECT_THAT(sinter_with(train_on_numbers_with("-") + Arguments{"--categorical", "x"}), Prints(HasSubstr("categories")));
  const std::string comma = table("comma.csv", "x;y\n1,5;1\n2,5;2\n3,5;3\n4,5;4\n5,5;7\n");
  EXPECT_THAT(sinter_with(train_on(comma) + Arguments{"--delimiter", ";", "--decimal", ","}), Prints(HasSubstr("  x: numbers\n")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", comma, "--delimiter", ";", "-o", file("y.csv")}), Field(&Finished::status, 0));
}

TEST_F(Tables, WhatLooksLikeNumbersIsToldWithTheOptionsThatReadIt) {
  std::string text = "x,y\n", plain = "x,y\n";
  for (int i = 0; i < 20; ++i) {
    text += i % 5 == 0 ? "-," : str(i % 2 ? "\"$ " : "\"", i, ",500.5", i % 2 ? "\"" : " EUR\"", ",");
    text += str(i, "\n");
    plain += (i % 5 == 0 ? "NA" : str(i, "500.5")) + str(",", i, "\n");
  }
  const std::string data = table("prices.csv", text),
                    advice = "read them with --thousands ',' and --strip '$,EUR' and --missing '-', or name the column in --categorical";
  const Arguments target{"train", "--data", data, "--target", "x", "--epochs", "1", "-o", file("model.sinter")};
  EXPECT_THAT(sinter_with(target),
              Fails(failure, AllOf(HasSubstr("prices.csv] the target 'x' is taken for 17 classes, but 16 of them look like numbers: "
                                             "line 3 '$ 1,500.5', line 4 '2,500.5 EUR'"),
                                   HasSubstr(advice + ", if they are classes\n"))));
  const Finished warned = sinter_with(train_on(data) + Arguments{"--quiet"});
  EXPECT_EQ(warned.status, 0);
  EXPECT_THAT(warned.err, AllOf(testing::StartsWith("warning: column 'x' is taken for 17 categories, but 16 of them look like numbers: "),
                                HasSubstr(advice + " or --ignore\n")));

  const Arguments reading{"--thousands", ",", "--strip", "$ EUR", "--missing", "-"};
  EXPECT_THAT(sinter_with(train_on(data) + reading), Prints(HasSubstr("  x: numbers, 4 missing\n")));
  const auto predicted = [&](const std::string& rows) { return sinter_with({"predict", file("model.sinter"), "--data", rows}).out; };
  EXPECT_EQ(predicted(data), predicted(table("plain.csv", plain)));  // the file knows how
  EXPECT_THAT(predicted(data), HasSubstr("\n"));
  write_bytes(file("settings.json"), R"({"thousands": ",", "strip": ["$", "EUR"], "missing": "-"})");
  EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--config", file("settings.json")}), Prints(HasSubstr("  x: numbers, 4 missing\n")));
  EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--thousands", "5"}), Fails(failure, HasSubstr("[train] --thousands must separate digits: ")));
  EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--strip", "EUR 5"}), Fails(failure, HasSubstr("[train] --strip lists texts around numbers")));
}

TEST_F(Tables, ColumnsWithoutANameAreToldAndLeftOutIfTheyHoldNothing) {
  std::string text = ",x,y,,\n";
  for (int i = 0; i < 20; ++i) text += str(100 - i, ",", i, ",", 2 * i, ",,\n");
  const Finished run = sinter_with(train_on(table("index.csv", text)));
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(run.err,
            "warning: column 1 has no name and a different whole number in each row: it is taken for row numbers and left out\n"
            "warning: column 4 has no name and no fields: it is left out\n"
            "warning: column 5 has no name and no fields: it is left out\n");
  EXPECT_THAT(run.out, HasSubstr("  x: numbers\n  y: numbers, the target\n  column_1: left out\n"));
  EXPECT_EQ(sinter_with({"predict", file("model.sinter"), "--data", table("new.csv", "x\n1\n")}).status, 0);
}

TEST_F(Tables, CategoriesThatAreNumbersAreComparedAsNumbers) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20; ++i) text += (i % 4 == 0 ? "1" : i % 4 == 1 ? "1.0" : i % 4 == 2 ? "01" : "2") + str(",", i, "\n");
  EXPECT_THAT(sinter_with(train_on(table("codes.csv", text)) + Arguments{"--categorical", "x"}), Prints(HasSubstr("  x: 2 categories\n")));
  const Finished run = sinter_with({"predict", file("model.sinter"), "--data", table("new.csv", "x\n1.00\n2\n3\n")});
  EXPECT_EQ(run.err, "warning: column 'x': unknown categories in 1 of 3 rows, '3' first; they count as missing\n");
}

TEST_F(Tables, UnseenCategoriesAreCountedAndTold) {
  const std::string model = this->model();
  const std::string rows = table("new.csv", "area,town,rooms\n100,Bonn,2\n90,Graz,3\n,Wien,1\n80,,1\n");
  const Finished run = sinter_with({"predict", model, "--data", rows});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "warning: column 'town': unknown categories in 2 of 4 rows, 'Graz' first; they count as missing\n");
}

TEST_F(Tables, ATargetThatIsNotKnownYetIsPredictedAllTheSame) {
  const std::string model = this->model();
  const Finished numbers = sinter_with({"predict", model, "--data", table("new.csv", "area,town,rooms,price\n100,Bonn,2,\n90,Ulm,3,200\n")});
  EXPECT_EQ(numbers.status, 0);
  EXPECT_EQ(numbers.err, "warning: column 'price': no value in 1 of 2 rows, so predictions are not judged\n");
  EXPECT_EQ(std::count(numbers.out.begin(), numbers.out.end(), '\n'), 3);
  EXPECT_THAT(sinter_with(train_on(table("kinds.csv", "x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n"))), Prints(HasSubstr("saved")));
  const Finished classes = sinter_with({"predict", file("model.sinter"), "--data", table("more.csv", "x,y\n1,a\n2,c\n")});
  EXPECT_EQ(classes.status, 0);
  EXPECT_EQ(classes.err, "warning: column 'y': unknown classes in 1 of 2 rows, 'c' first, so predictions are not judged\n");
}

TEST_F(Tables, ASingleClassIsRefused) {
  EXPECT_THAT(sinter_with(train_on(table("one.csv", "x,y\n1,a\n2,a\n3,a\n4,a\n"))),
              Fails(failure, HasSubstr("the target 'y' has a single class, 'a'")));
  EXPECT_THAT(sinter_with(train_on_labels({3, 3, 3, 3})),
              Fails(failure, HasSubstr("all labels are 3: with a single class there is nothing to learn")));
}

TEST_F(Tables, ClassesThatOnlyHeldOutRowsHaveAreClasses) {
  std::string text = "x,y\n";
  for (int i = 0; i < 10; ++i) text += str(i, i < 5 ? ",a\n" : i < 9 ? ",b\n" : ",c\n");
  const std::string data = table("rare.csv", text);
  for (const char* seed : {"0", "1", "2", "3", "4", "5"}) {  // one of them holds c out
    EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--seed", seed}), Prints(HasSubstr("y: 3 classes, the target")));
    EXPECT_THAT(sinter_with(train_on_labels({0, 0, 0, 0, 1, 1, 1, 1, 1, 2}) + Arguments{"--seed", seed}), Prints(HasSubstr("saved")));
    EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", file("x.npy")}), Prints(HasSubstr("prediction,p(0),p(1),p(2)\n")));
  }
}

// ---- class numbers ----

TEST_F(Tables, AGreatLabelIsAskedAbout) {
  EXPECT_THAT(
      sinter_with(train_on_labels({0, 1, 4'000'000, 1})),
      Fails(failure, HasSubstr("y.npy] label 4000000 of sample 2 needs a model of 4000001 classes; if that is meant, give --classes 4000001")));
  for (const std::int64_t label : {2147483647LL, 4294967295LL})
    EXPECT_THAT(sinter_with(train_on_labels({0, label}) + Arguments{"--classes", "2147483647"}),
                Fails(failure, HasSubstr(str("label ", label, " of sample 1 is too large for a class number"))));
  EXPECT_THAT(sinter_with(train_on_labels({0, 1, -1})), Fails(failure, HasSubstr("label -1 of sample 2 is negative; classes are numbered from 0")));
  EXPECT_FALSE(fs::exists(file("model.sinter")));
}

TEST_F(Tables, TheNumberOfClassesMayBeTold) {
  EXPECT_THAT(sinter_with(train_on_labels({0, 1, 1, 0, 1}) + Arguments{"--classes", "4"}), Prints(HasSubstr("saved")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), "--data", file("x.npy")}), Prints(HasSubstr("prediction,p(0),p(1),p(2),p(3)\n")));
  EXPECT_THAT(sinter_with(train_on_labels({0, 1, 4}) + Arguments{"--classes", "4"}),
              Fails(failure, HasSubstr("label 4 of sample 2 is outside of [0, 4), the classes of --classes")));
  EXPECT_THAT(sinter_with(train_on_labels({0, 1, 1500}) + Arguments{"--classes", "2000"}), Prints(HasSubstr("saved")));
  EXPECT_THAT(sinter_with(training() + Arguments{"--classes", "4"}),
              Fails(failure, HasSubstr("[--classes] is for class numbers; the classes of a table are the texts of its target")));
  EXPECT_THAT(sinter_with({"train", "--data", file("x.npy"), "--labels", file("x.npy"), "--classes", "4"}),
              Fails(failure, HasSubstr("[--classes] is for class numbers, but the targets in " + file("x.npy") + " are f32[3,2]")));
}

TEST_F(Tables, NoClassIsPredictedWhereProbabilitiesAreNaN) {
  EXPECT_THAT(sinter_with(train_on_labels({0, 1, 1, 0, 1})), Prints(HasSubstr("saved")));
  data::HostArray x{DType::f32, {2, 2}, std::vector<std::byte>(4 * sizeof(float))};
  for (int i = 0; i < 4; ++i) x.values<float>()[i] = i < 2 ? 1.0f : 3e38f;
  write("great.npy", x);
  const Finished run = sinter_with({"predict", file("model.sinter"), "--data", file("great.npy")});
  EXPECT_THAT(run.out, testing::ContainsRegex("prediction,p.0.,p.1.\n[01],0[^\n]*\n,-?nan,"));
  EXPECT_THAT(run.err, HasSubstr("no class is predicted for 1 of 2 rows, whose probabilities are not finite, row 2 first"));
}

TEST_F(Tables, ModelsOfTablesTakeTablesAndThoseOfArraysArrays) {
  const std::string model = this->model();
  EXPECT_THAT(sinter_with({"predict", model, "--data", fixture("x.npy")}),
              Fails(failure, HasSubstr("x.npy] is no table, but the model was trained on one")));
  EXPECT_THAT(sinter_with({"predict", model, "--data", houses, "--labels", fixture("labels.npy")}),
              Fails(failure, HasSubstr("[--labels] is for .npy or IDX samples; the targets of a table are a column of it")));
  const Arguments train = train_on_labels({0, 1, 1, 0});  // x.npy has two numbers per sample
  EXPECT_THAT(sinter_with(train), Prints(HasSubstr("saved")));
  const auto predict = [&](const Arguments& options) { return sinter_with(Arguments{"predict", file("model.sinter")} + options); };
  const std::string x = file("x.npy"), y = file("y.npy"), more = fixture("x.npy");
  EXPECT_THAT(predict({"--data", houses}), Fails(failure, HasSubstr("houses.csv] seems to be a table, but the model was trained on arrays")));
  EXPECT_THAT(predict({"--data", more}), Fails(failure, testing::ContainsRegex("x.npy\\] has [0-9]+ numbers per sample, but the model takes 2\n")));
  EXPECT_THAT(predict({"--data", x, "--labels", fixture("labels.npy")}),
              Fails(failure, testing::ContainsRegex("labels.npy\\] has [0-9]+ targets, but the data has 4 samples; give one for each\n")));
  EXPECT_THAT(predict({"--data", x, "--labels", x}), Fails(failure, HasSubstr("x.npy] has targets f32[4,2], but the model predicts class numbers")));
  EXPECT_THAT(sinter_with({"train", "--data", more, "--labels", y}),
              Fails(failure, testing::ContainsRegex("y.npy\\] has 4 targets, but .*x.npy has [0-9]+ samples; give one for each\n")));
}

TEST_F(Tables, NumbersOfArraysAreFinite) {
  const Arguments command = train_on_labels({0, 1, 1, 0});
  std::string x = read_bytes(file("x.npy"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(x.data() + x.size() - sizeof nan, &nan, sizeof nan);
  write_bytes(file("nan.npy"), x);
  const std::string message = "has nan at [3, 1], sample number first; leave such samples out or fill them in\n";
  EXPECT_THAT(sinter_with(command + Arguments{"--data", file("nan.npy")}), Fails(failure, HasSubstr("nan.npy] x " + message)));
  EXPECT_THAT(sinter_with(command + Arguments{"--labels", file("nan.npy")}), Fails(failure, HasSubstr("nan.npy] y " + message)));
}

TEST_F(Tables, WaysToReadFieldsAreForTables) {
  for (const char* option : {"--missing", "--thousands", "--strip"})
    EXPECT_THAT(sinter_with(train_on_labels({0, 1}) + Arguments{option, "x"}),
                Fails(failure, HasSubstr(std::string("[") + option + "] is for the fields of a table, but " + file("x.npy") + " is no table")));
}

// ---- predictions ----

TEST_F(Tables, PredictionsHaveTheDigitsOfAnF32) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20; ++i) text += str(i, ",", 1'234'567 + i, ".25\n");
  EXPECT_THAT(sinter_with(train_on(table("great.csv", text))), Prints(HasSubstr("saved")));
  const Finished run = sinter_with({"predict", file("model.sinter"), "--data", table("x.csv", "x\n1\n2\n3\n4\n5\n6\n7\n")});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(std::regex_search(run.out, std::regex("^y\n(12345[0-9]{2}(\\.[0-9]+)?\n){7}$"))) << run.out;
  EXPECT_TRUE(std::regex_search(run.out, std::regex("\\.[0-9]"))) << run.out;
}

TEST_F(Tables, PrintedAndWrittenPredictionsAreTheSame) {
  const std::string data = table("kinds.csv", "x,\"y\"\n1,\"a, or b\"\n2,\"say \"\"c\"\"\"\n3,\"a, or b\"\n4,\"say \"\"c\"\"\"\n5,\"a, or b\"\n");
  EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--validation-split", "0"}), Prints(HasSubstr("saved")));
  const Finished printed = sinter_with({"predict", file("model.sinter"), "--data", data});
  EXPECT_EQ(printed.status, 0);
  EXPECT_THAT(printed.out, testing::StartsWith("y,\"p(a, or b)\",\"p(say \"\"c\"\")\"\n\""));
  EXPECT_EQ(sinter_with({"predict", file("model.sinter"), "--data", data, "-o", file("out.csv")}).status, 0);
  EXPECT_EQ(read_bytes(file("out.csv")), printed.out);
}

TEST_F(Tables, EpochLinesAndTheFinalLineHaveTheSameUnits) {
  const Finished run = sinter_with(
      {"train", "--data", houses, "--target", "price", "--ignore", "id", "--epochs", "3", "-o", file("m.sinter"), "--log", file("log.csv")});
  EXPECT_EQ(run.status, 0) << run;
  std::smatch epoch, last;
  ASSERT_TRUE(std::regex_search(run.out, epoch, std::regex("epoch 3/3.*validation root_mean_squared_error ([0-9.]+)"))) << run.out;
  ASSERT_TRUE(std::regex_search(run.out, last, std::regex("validation: R² .*, root mean squared error ([0-9.]+)"))) << run.out;
  EXPECT_GT(std::stod(last[1]), 5);  // prices are in the hundreds
  EXPECT_NEAR(std::stod(epoch[1]) / std::stod(last[1]), 1, 1e-3);
}

TEST_F(Tables, ConvertTakesItsOutputAsTrainDoes) {
  const std::string model = this->model();
  EXPECT_THAT(sinter_with({"convert", model, "-o", file("a.npz")}), Prints(HasSubstr("tensors")));
  EXPECT_THAT(sinter_with({"convert", model, "--out", file("b.npz")}), Prints(HasSubstr("tensors")));
  EXPECT_THAT(sinter_with({"convert", model, file("c.npz")}), Prints(HasSubstr("tensors")));
  EXPECT_EQ(read_bytes(file("a.npz")).size(), read_bytes(file("c.npz")).size());
  EXPECT_THAT(sinter_with({"convert", model}), Fails(bad_command_line, HasSubstr("out")));
}

// ---- files ----

TEST_F(Tables, AnEncoderThatDoesNotFitItsModelIsRefused) {
  std::string text = "x,y\n";
  for (int i = 0; i < 12; ++i) text += str(i, ",", "abc"[i % 3], "\n");
  const std::string data = table("kinds.csv", text), model = file("model.sinter");
  EXPECT_THAT(sinter_with(train_on(data)), Prints(HasSubstr("saved")));
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{R"(["a","b","c"])", R"(["a"])"},
        {R"(["a","b","c"])", R"(["a","b","c","d"])"},
        {R"({"name":"x")", R"({"name":"w","categorical":false,"mean":0,"deviation":1,"missing":true,"categories":[]},{"name":"x")"}}) {
    Trainer trainer = Trainer::load(model);
    std::string json = trainer.metadata("encoder");
    ASSERT_NE(json.find(from), std::string::npos) << json;
    json.replace(json.find(from), from.size(), to);
    if (from.starts_with("{")) json.replace(json.find(R"("target":1)"), 10, R"("target":2)");
    trainer.set_metadata("encoder", json);
    trainer.save(file("crafted.sinter"));
    for (const Arguments& command : {Arguments{"predict", file("crafted.sinter"), "--data", data}, Arguments{"inspect", file("crafted.sinter")}}) {
      const Finished run = sinter_with(command);
      EXPECT_EQ(run.status, failure) << to;
      EXPECT_THAT(run.err, HasSubstr("crafted.sinter] the encoder makes f32[N,")) << to;
    }
  }
}

TEST_F(Tables, AModelThatPredictsNoRowsOfNumbersIsRefused) {
  nn::Sequential model{nn::Embedding(4, 3)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)trainer.evaluate({Tensor::zeros({DType::i32, {4, 5}}), Tensor::zeros({DType::f32, {4, 5, 3}})});
  trainer.set_metadata("task", "classes");
  trainer.save(file("cube.sinter"));
  (void)train_on_labels({0, 1});
  EXPECT_THAT(sinter_with({"predict", file("cube.sinter"), "--data", file("x.npy")}),
              Fails(failure, HasSubstr("must predict f32[N, numbers] to be used on tables and arrays, but predicts f32[N,5,3]")));
}

TEST_F(Tables, OtherEncodingsAreRefusedAtTheStartOrConverted) {
  std::string text = "town,y\n";
  for (int i = 0; i < 12; ++i) text += str(i % 2 ? "K\xf6ln" : "Bonn", ",", i, "\n");
  const std::string data = table("latin.csv", text), model = file("model.sinter");
  EXPECT_THAT(
      sinter_with(train_on(data)),
      Fails(
          failure,
          HasSubstr("latin.csv] line 3, column 1 (town): byte 0xf6 after 'K' is not UTF-8; name the encoding of the file, as in --encoding latin1")));
  EXPECT_FALSE(fs::exists(model));
  EXPECT_THAT(sinter_with(train_on(data) + Arguments{"--encoding", "latin1"}), Prints(HasSubstr("saved")));
  EXPECT_THAT(sinter_with({"inspect", model}), Prints(HasSubstr("features: town=Bonn town=Köln\n")));
  EXPECT_EQ(sinter_with({"predict", model, "--data", data}).status, 0) << "the model remembers it";
  EXPECT_EQ(sinter_with({"predict", model, "--data", data, "--encoding", "utf-8"}).status, failure);
  const Finished run = sinter_with({"predict", model, "--data", data, "--encoding", "latin1"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, Not(HasSubstr("not seen")));
}

TEST_F(Tables, AByteOrderMarkHidesNoColumn) {
  std::string text = "\xef\xbb\xbfy,x\n";
  for (int i = 0; i < 12; ++i) text += str(2 * i, ",", i, "\n");
  EXPECT_THAT(sinter_with(train_on(table("marked.csv", text))), Prints(HasSubstr("saved")));
}

}  // namespace
}  // namespace sinter::test::table_test
