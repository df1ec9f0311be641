// The target `stream`: records of each format, and what a scorer answers.
#include <algorithm>
#include <memory>

#include "frontend/nn/dense.h"
#include "frontend/nn/sequential.h"
#include "frontend/serve/stream_reader.h"
#include "frontend/train/trainer.h"
#include "fuzz/targets.h"

namespace sinter::fuzz {

namespace {

using serve::Format;

/// A trainer that serves three numbers of an array, or payments: amount, town and kind, of which those with an amount of at least 0 count.
Trainer trainer_for_streams(bool of_table) {
  const data::Table payments{{"amount", "town", "open", "kind"},
                             {{"1", "2.5", "3", "40"}, {"Bonn", "Ulm", "", "Bonn"}, {"true", "false", "true", "true"}, {"a", "a", "b\"", "a"}}};
  const data::Encoder encoder = data::Encoder::fit(payments, {.target = "kind", .keep = {"amount >= 0", "open not empty"}});
  seed(1);
  nn::Sequential model{nn::Dense(of_table ? encoder.width() : 3, 2)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
  const Dataset arrays{Tensor({1, 2, 3, 4, 5, 6}, {2, 3}), Tensor(std::vector<std::int32_t>{0, 1}, {2})};
  (void)trainer.evaluate(of_table ? encoder.dataset(payments) : arrays);
  if (of_table) trainer.set_metadata("encoder", encoder.to_json());
  return trainer;
}

const serve::Scorer& scorer_for_streams(bool of_table) try {
  static Trainer table = trainer_for_streams(true), arrays = trainer_for_streams(false);
  static const serve::Scorer of_tables(table, {.mode = Mode::eager}), of_arrays(arrays, {.mode = Mode::eager});
  return of_table ? of_tables : of_arrays;
} catch (const UserError& error) {  // is no answer to a stream
  throw Finding(error.what());
}

/// Counts what is answered, and throws a Finding for an answer that is none.
class Judge {
 public:
  explicit Judge(const serve::RecordScorer& scorer)
      : format_(scorer.format()), fields_(serve::delimited_fields(scorer.header()).size()), json_(serve::record_reader({}, {"skipped", "error"})) {}

  void add(std::string_view text, std::span<const serve::Answer> answers) {
    answers_ += answers.size();
    if (format_ != Format::raw && !answers.empty() && static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) != answers.size())
      throw Finding(str(answers.size(), " answers do not have as many lines: ", text));
    for (const serve::Answer& answer : answers) {
      if (answer.is_error && answer.is_skipped) throw Finding("an answer is an error and left out");
      if (format_ == Format::json) require_json(answer);
      if (format_ == Format::delimited && serve::delimited_fields(answer.text).size() != fields_)
        throw Finding(str("no line of answers: ", answer.text));
      if (format_ == Format::raw && answer.text.size() != 2 * sizeof(float)) throw Finding("a raw answer has another size");
    }
  }
  std::size_t answers() const { return answers_; }

 private:
  void require_json(const serve::Answer& answer) {
    try {
      const std::span<const data::Field> fields = json_->read(answer.text);
      const data::Field none = std::string_view();
      if ((fields[0] != none) != answer.is_skipped || (fields[1] != none) != answer.is_error)
        throw Finding(str("an answer has other fields: ", answer.text));
    } catch (const UserError& error) {
      throw Finding(str("an answer is no JSON: ", answer.text, ": ", error.what()));
    }
  }

  Format format_;
  std::size_t fields_;  ///< of a delimited answer
  std::unique_ptr<serve::RecordReader> json_;
  std::size_t answers_ = 0;
};

constexpr std::size_t max_line = 200;

/// How many answers a stream must get; a header gets none.
std::size_t wanted_answers(std::string_view stream, Format format, bool header) {
  if (format == Format::raw) return stream.size() / (3 * sizeof(float));
  const auto lines = static_cast<std::size_t>(std::count(stream.begin(), stream.end(), '\n')) + (!stream.empty() && stream.back() != '\n');
  return lines - (header && lines > 0);
}

}  // namespace

void run_stream(Bytes bytes) {
  if (bytes.size() < 2) return;
  constexpr Format formats[] = {Format::json, Format::delimited, Format::raw};
  const unsigned form = bytes[0];
  const Format format = formats[form % 3];
  const bool of_table = format != Format::raw && form / 3 % 2, header = format == Format::delimited && form / 6 % 2;
  const std::size_t piece = bytes[1] ? bytes[1] : bytes.size();
  const std::string_view stream(reinterpret_cast<const char*>(bytes.data()) + 2, bytes.size() - 2);
  serve::RecordFormat records{.format = format};
  if (format != Format::raw && !header)
    records.columns = of_table ? std::vector<std::string>{"amount", "town", "open"} : std::vector<std::string>{"a", "b", "c"};
  serve::RecordScorer scorer(scorer_for_streams(of_table), {.format = records});
  Judge judge(scorer);
  serve::StreamReader reader(scorer, max_line, [&](std::string_view text, std::span<const serve::Answer> answers) { judge.add(text, answers); });
  const std::size_t wanted = wanted_answers(stream, format, header);
  const auto require_all = [&] {
    if (judge.answers() != wanted) throw Finding(str(wanted, " records have ", judge.answers(), " answers"));
  };
  for (std::size_t at = 0; at < stream.size(); at += piece) reader.take(stream.substr(at, piece));
  if (format == Format::raw && stream.size() % (3 * sizeof(float))) require_all();  // finish() refuses the rest
  reader.finish();
  require_all();
}

Seeds stream_seeds() {
  const auto stream = [](char form, char piece, const std::string& text) { return std::string{form, piece} + text; };
  const std::string objects =
      "{\"amount\":1,\"town\":\"Bonn\",\"open\":true}\n{\"town\":\"U\\u006cm\",\"amount\":-2.5e-1,\"more\":{\"a\":[1,null]}}\r\n{}\n";
  return {{"objects", stream(3, 0, objects)},
          {"objects-in-pieces", stream(3, 7, objects + "[1,\"Bonn\",null]\n[]\n\n" + std::string(220, '[') + "\n{\"amount\":12345678901234567890}")},
          {"arrays", stream(0, 0, "[1,2,3]\n[\"4\", 5e300 ,6]\n[1,2]\n{\"a\":1,\"b\":true,\"c\":null}\n")},
          {"lines", stream(1, 0, "1,2,3\n\"4\",\"5\"\"\", 6 \n,,\n")},
          {"lines-of-a-table", stream(4, 5,
                                      "\xef\xbb\xbf"
                                      "2.5,Bonn,true\r\n-1,\"U\"\"lm\",\n\"x,y,z\n" +
                                          std::string(300, ',') + "\n")},
          {"header", stream(10, 0, "town,open,amount\nBonn,true,1\n")},
          {"raw", stream(2, 11, std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\xc0\x7f\0\0\x80\x7f\0\0\0\0", 24))}};
}

}  // namespace sinter::fuzz
