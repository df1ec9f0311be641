// Tables and labels: what columns are taken for, what is refused, and what predictions look like.
#include <sinter/sinter.h>

#include <algorithm>
#include <regex>

#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace sinter::test {
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

  /// Samples and labels as .npy files.
  Arguments train_on_labels(const std::vector<std::int64_t>& labels) const {
    const auto write = [&](const std::string& name, const data::HostArray& array) {
      const std::vector<std::byte> bytes = data::npy_bytes(array, name);
      write_bytes(file(name), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
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
        Fails(failure, HasSubstr(str("column 'x' holds numbers, but 1 of its 20 fields are not numbers that f32 can hold: line 9 '", cell, "';"))));
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

TEST_F(Tables, UnseenCategoriesAreCountedAndTold) {
  const std::string model = this->model();
  const std::string rows = table("new.csv", "area,town,rooms\n100,Bonn,2\n90,Graz,3\n,Wien,1\n80,,1\n");
  const Finished run = sinter_with({"predict", model, "--data", rows});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "column 'town': 2 of 4 rows have categories that the model has not seen, 'Graz' first; they count as missing\n");
}

TEST_F(Tables, ATargetThatIsNotKnownYetIsPredictedAllTheSame) {
  const std::string model = this->model();
  const Finished numbers = sinter_with({"predict", model, "--data", table("new.csv", "area,town,rooms,price\n100,Bonn,2,\n90,Ulm,3,200\n")});
  EXPECT_EQ(numbers.status, 0);
  EXPECT_EQ(numbers.err, "column 'price': 1 of 2 rows have no value, so predictions are not judged\n");
  EXPECT_EQ(std::count(numbers.out.begin(), numbers.out.end(), '\n'), 3);
  EXPECT_THAT(sinter_with(train_on(table("kinds.csv", "x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n"))), Prints(HasSubstr("saved")));
  const Finished classes = sinter_with({"predict", file("model.sinter"), "--data", table("more.csv", "x,y\n1,a\n2,c\n")});
  EXPECT_EQ(classes.status, 0);
  EXPECT_EQ(classes.err, "column 'y': 1 of 2 rows have classes that the model has not seen, 'c' first, so predictions are not judged\n");
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

TEST_F(Tables, MissingTextsAreForTables) {
  EXPECT_THAT(sinter_with(train_on_labels({0, 1}) + Arguments{"--missing", "-"}),
              Fails(failure, HasSubstr("[--missing] is for the fields of a table, but " + file("x.npy") + " is no table")));
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
  EXPECT_EQ(sinter_with({"predict", model, "--data", data}).status, failure);
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
}  // namespace sinter::test
