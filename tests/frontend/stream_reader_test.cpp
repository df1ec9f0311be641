// Streams as records, wherever reads end, and whatever lines hold.
#include "frontend/serve/stream_reader.h"

#include <algorithm>

#include "tests/frontend/served_models.h"

namespace sinter::test::stream_reader_test {
namespace {

using serve::Format;
using serve::RecordScorer;
using serve::Scorer;
using serve::StreamReader;
using testing::ElementsAre;
using testing::HasSubstr;

class Streams : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }

  /// What a stream is answered, read in pieces of so many bytes.
  struct Answered {
    std::string text;
    std::size_t answers = 0, errors = 0, most = 0;
  };
  static Answered answered(RecordScorer& records, const std::string& stream, std::size_t piece = 1 << 20, std::size_t max_line = 1000) {
    Answered result;
    StreamReader reader(records, max_line, [&](std::string_view text, std::span<const serve::Answer> answers) {
      result.text += text;
      result.answers += answers.size();
      result.errors += static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), [](const auto& answer) { return answer.is_error; }));
      result.most = std::max(result.most, answers.size());
    });
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      const std::string_view bytes = std::string_view(stream).substr(at, piece);
      if (at % 2) {  // in either way
        reader.take(bytes);
        continue;
      }
      std::copy(bytes.begin(), bytes.end(), reader.room(bytes.size()).begin());
      reader.take(bytes.size());
    }
    reader.finish();
    return result;
  }
  Answered answered(const serve::RecordFormat& format, const std::string& stream, std::size_t piece = 1 << 20, std::size_t max_line = 1000) const {
    const Scorer scorer(file("model.sinter"), {.mode = Mode::eager});
    RecordScorer records(scorer, {.format = format});
    EXPECT_EQ(records.format(), format.format);
    return answered(records, stream, piece, max_line);
  }

  const TemporaryFolder folder_;
};

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }

TEST_F(Streams, AreAnsweredTheSameWhereverReadsEnd) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  const std::string json = "\xef\xbb\xbf{\"amount\":1}\n\n{\"amount\":2,\"town\":\"Ulm\"}\r\n{\"amount\":\n[3,\"Bonn\"]";
  const std::string csv = "town,amount\r\nUlm,1\r\n\"Bonn\",\"2\"\r\n\"Ulm,3\n,\nUlm,4";
  for (const auto& [stream, format, answers, errors] : {std::tuple(json, Format::json, 5u, 2u), std::tuple(csv, Format::delimited, 5u, 1u)}) {
    const Answered whole = answered({.format = format}, stream);
    EXPECT_EQ(whole.answers, answers) << whole.text;
    EXPECT_EQ(whole.errors, errors) << whole.text;
    EXPECT_EQ(lines_in(whole.text), answers + (format == Format::delimited));
    for (const std::size_t piece : {1u, 2u, 7u, 30u}) EXPECT_EQ(answered({.format = format}, stream, piece).text, whole.text) << piece;
  }
  EXPECT_EQ(answered({}, "").text, "");
  EXPECT_EQ(answered({.format = Format::delimited}, "").text, "");
  EXPECT_THAT(answered({.format = Format::delimited, .columns = {"town", "amount"}}, "Ulm,1\n").text, testing::Not(HasSubstr("prediction")));
}

TEST_F(Streams, AreAnsweredInBatches) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  std::string many;
  for (int i = 0; i < 2500; ++i) many += "[1,\"Ulm\"]\n";
  const Answered whole = answered({}, many);
  EXPECT_EQ(whole.answers, 2500u);
  EXPECT_EQ(whole.most, StreamReader::most_batch);
  EXPECT_EQ(answered({}, many, 1000).most, 100u) << "what one read brought";
}

TEST_F(Streams, LinesThatAreTooLongAreAnsweredByErrors) {
  save_model_of(file("model.sinter"), payments(), {.target = "kind"});
  const std::string good = "[1,\"Ulm\"]\n", just = "[1,\"" + std::string(14, 'x') + "\"]\n", longer = "[1,\"" + std::string(15, 'x') + "\"]\n";
  ASSERT_EQ(just.size(), 21u);
  const std::string stream = just + longer + std::string(5000, 'y') + "\n" + good + std::string(70, 'z');
  for (const std::size_t piece : {1u, 3u, 20u, 21u, 22u, 10000u}) {
    const Answered all = answered({}, stream, piece, 20);
    EXPECT_EQ(all.answers, 5u) << piece;
    EXPECT_EQ(all.errors, 3u) << all.text;
    EXPECT_THAT(all.text, HasSubstr("{\"error\":\"[record 3] a line is longer than the 20 bytes that are allowed\"}\n{\"prediction\""));
  }
  EXPECT_THAT(error_of([&] { (void)answered({.format = Format::delimited}, "amount,town,and more\n", 100, 10); }),
              HasSubstr("[stream] a line is longer than the 10 bytes"));
  EXPECT_THAT(error_of([&] { (void)answered({.format = Format::delimited}, "amount,twn\n1,x\n"); }),
              HasSubstr("[stream] the header: there is no column 'town'; the nearest is 'twn'"));
}

TEST_F(Streams, RawRecordsHaveNoLines) {
  save_dense(file("model.sinter"), 3, 2, false);
  const std::vector<float> numbers = random({50, 3}, 5).to_vector<float>();
  const std::string stream(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  const Answered whole = answered({.format = Format::raw}, stream);
  EXPECT_EQ(whole.answers, 50u);
  EXPECT_EQ(whole.text.size(), 50 * 2 * sizeof(float));
  for (const std::size_t piece : {1u, 11u, 13u}) EXPECT_EQ(answered({.format = Format::raw}, stream, piece).text, whole.text);
  EXPECT_EQ(error_of([&] { (void)answered({.format = Format::raw}, stream + "abc"); }),
            "[stream] it ends in the middle of a record, after 3 of its 12 bytes");
}

/// A line with a few bytes changed, left out, repeated or cut, as likely as not no record any more.
std::string damaged(std::string line, RandomStream& choices) {
  constexpr std::string_view bytes = "{}[]\",:\\ 0123456789-+.eEtrufalsn\x80\xff\t\r\x01;'";
  for (std::uint32_t changes = 1 + choices.below(3); changes && !line.empty(); --changes) {
    const std::size_t at = choices.below(static_cast<std::uint32_t>(line.size()));
    switch (choices.below(5)) {
      case 0:
        line[at] = bytes[choices.below(bytes.size())];
        break;
      case 1:
        line.erase(at, 1 + choices.below(4));
        break;
      case 2:
        line.insert(at, 1, bytes[choices.below(bytes.size())]);
        break;
      case 3:
        line.insert(at, line.substr(at, 1 + choices.below(20)));
        break;
      default:
        line.resize(at);
    }
  }
  return line;
}

TEST_F(Streams, EachDamagedLineIsAnsweredOnce) {
  constexpr std::size_t count = 3000;
  save_model_of(file("model.sinter"), payments(), {.target = "kind", .keep = {"amount > 0"}});
  const std::vector<std::pair<serve::RecordFormat, std::string>> forms{
      {{}, R"({"amount":12.5e-1,"town":"B\u00fcnn","more":{"a":[1,2,{"b":null}],"c":true}})"},
      {{}, R"([ "12.5" , "Ulm" ])"},
      {{.format = Format::delimited, .columns = {"amount", "town"}}, R"(12.5e-1,"U ""l"" m")"}};
  RandomStream choices(7, 1);
  for (const auto& [format, line] : forms) {
    std::string stream;
    for (std::size_t i = 0; i < count; ++i) stream += damaged(line, choices) + "\n";
    const std::size_t lines = lines_in(stream);
    const Answered all = answered(format, stream, 4096, 120);
    EXPECT_EQ(all.answers, lines);
    EXPECT_EQ(lines_in(all.text), lines);
    EXPECT_GT(all.errors, lines / 4);
    EXPECT_LT(all.errors, lines);
  }
}

}  // namespace
}  // namespace sinter::test::stream_reader_test
