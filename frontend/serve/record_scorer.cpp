#include "frontend/serve/record_scorer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/core/nearest.h"
#include "frontend/serve/answer_writer.h"
#include "frontend/serve/feature_reader.h"
#include "ir/printable.h"

namespace sinter::serve {

namespace {

std::string left_out(const ServedModel& model) {
  std::string conditions;
  if (model.encoder())
    for (const data::Condition& condition : model.encoder()->keep()) conditions += (conditions.empty() ? "" : ", ") + condition.text();
  return printable("the model is for records with " + conditions);
}

}  // namespace

struct RecordScorer::Impl {
  enum class Kind : std::uint8_t { scored, skipped, error };
  struct Record {
    Kind kind;
    std::size_t note_begin, note_end;  ///< of an error, in `notes`
  };

  const Scorer& scorer;
  const RecordScorerOptions options;
  const Format answer_format;
  std::shared_ptr<const ServedModel> model;
  std::optional<FeatureReader> reader;  ///< none before the columns are known
  std::optional<AnswerWriter> writer;
  std::string why_left_out;
  std::size_t score_index = 0, inputs = 0, outputs = 0;

  std::int64_t seen = 0;        ///< records since the beginning
  std::vector<Record> records;  ///< of this batch
  std::string notes;
  std::vector<float> features;  ///< row by row, of the records that are scored
  std::size_t rows = 0;
  bool is_flushed = false;  ///< this batch is answered; the next record begins another

  std::vector<float> results;
  std::vector<Answer> answers;
  std::vector<std::size_t> ends;  ///< of the answers' texts, in `lines`
  std::string lines;

  Impl(const Scorer& scorer, RecordScorerOptions of)
      : scorer(scorer), options(std::move(of)), answer_format(options.answers.value_or(options.format.format)), model(scorer.model()) {
    use_model();
    std::vector<std::string> columns = options.format.columns;
    if (columns.empty()) columns = default_columns(*model, options.format.format);
    if (!columns.empty() || options.format.format != Format::delimited) use_columns(std::move(columns));
  }

  void use_model() {
    inputs = static_cast<std::size_t>(model->inputs());
    outputs = static_cast<std::size_t>(model->outputs());
    writer.emplace(*model, answer_format, options.format.delimiter);
    why_left_out = left_out(*model);
    score_index = index_of_score();
  }
  void use_columns(std::vector<std::string> columns) { reader.emplace(*model, options.format, std::move(columns)); }

  std::size_t index_of_score() const {
    const std::vector<std::string>& classes = model->classes();
    if (options.score.empty()) return classes.empty() ? 0 : classes.size() - 1;
    if (classes.empty()) throw UserError("stream", str("the score '", options.score, "' is a class, but the model predicts numbers"));
    const auto found = std::find(classes.begin(), classes.end(), options.score);
    if (found == classes.end())
      throw UserError("stream", str("the score '", options.score, "' is none of the model's classes", nearest_hint(options.score, classes)));
    return static_cast<std::size_t>(found - classes.begin());
  }

  void begin_batch() {
    records.clear();
    notes.clear();
    rows = 0;
    std::shared_ptr<const ServedModel> now = scorer.model();
    if (now == model) return;
    model = std::move(now);
    use_model();
    if (reader) use_columns(reader->columns());
  }

  void begin_record() {
    if (std::exchange(is_flushed, false) || records.empty()) begin_batch();
    ++seen;
  }
  void end_with_error(std::string_view message) {
    const std::size_t begin = notes.size();
    notes += printable(str("[record ", seen, "] ", message));
    records.push_back({Kind::error, begin, notes.size()});
  }

  void add(std::string_view record) {
    if (!reader) throw UserError("stream", "the names of the columns are not known yet; read_header comes before the first record");
    begin_record();
    if (features.size() < (rows + 1) * inputs) features.resize(std::max((rows + 1) * inputs, 2 * features.size()));
    try {
      const bool is_kept = reader->read(record, std::span(features).subspan(rows * inputs, inputs));
      records.push_back({is_kept ? Kind::scored : Kind::skipped, 0, 0});
      rows += is_kept;
    } catch (const UserError& error) {
      end_with_error(error.message());
    }
  }

  void answer_scored(std::span<const float> result, std::int64_t number, Answer& answer) {
    const auto wrong = std::find_if(result.begin(), result.end(), [](float x) { return !std::isfinite(x); });
    if (wrong != result.end()) {
      answer.is_error = true;
      return writer->write_error(
          str("[record ", number, "] the prediction is ", *wrong, "; does the record have greater numbers than the model was trained on?"), lines);
    }
    answer.score = model->classes().empty() ? writer->in_unit(result[score_index]) : static_cast<double>(result[score_index]);
    writer->write(result, lines);
  }

  void answer_all() {
    const std::int64_t before = seen - static_cast<std::int64_t>(records.size());
    std::size_t row = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto& [kind, begin, end] = records[i];
      answers[i] = {{}, std::numeric_limits<double>::quiet_NaN(), kind == Kind::error, kind == Kind::skipped, i};
      if (kind == Kind::scored)
        answer_scored(std::span(results).subspan(outputs * row++, outputs), before + static_cast<std::int64_t>(i) + 1, answers[i]);
      else if (kind == Kind::skipped) writer->write_skipped(why_left_out, lines);
      else writer->write_error(std::string_view(notes).substr(begin, end - begin), lines);
      ends[i] = lines.size();
      if (answer_format != Format::raw) lines += '\n';
    }
  }

  std::span<const Answer> flush() {
    if (std::exchange(is_flushed, true)) records.clear();
    lines.clear();
    answers.resize(records.size());
    ends.resize(records.size());
    if (results.size() < rows * outputs) results.resize(rows * outputs);
    const std::span<float> of_batch = std::span(results).first(rows * outputs);
    model->score_rows(std::span(features).first(rows * inputs), of_batch);
    answer_all();
    for (std::size_t i = 0, begin = 0; i < answers.size(); ++i) {
      answers[i].text = std::string_view(lines).substr(begin, ends[i] - begin);
      begin = ends[i] + (answer_format != Format::raw);
    }
    return answers;
  }
};

RecordScorer::RecordScorer(const Scorer& scorer, RecordScorerOptions options) : impl_(std::make_unique<Impl>(scorer, std::move(options))) {}
RecordScorer::~RecordScorer() = default;

Format RecordScorer::format() const { return impl_->options.format.format; }
bool RecordScorer::needs_header() const { return !impl_->reader; }

void RecordScorer::read_header(std::string_view record) {
  std::vector<std::string> columns = delimited_fields(record, impl_->options.format.delimiter);
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].empty()) columns[i] = str("column_", i + 1);  // as read_csv calls it
  impl_->use_columns(std::move(columns));
}

const std::vector<std::string>& RecordScorer::columns() const {
  static const std::vector<std::string> none;
  return impl_->reader ? impl_->reader->columns() : none;
}

std::string RecordScorer::header() const { return impl_->writer->header(); }
std::size_t RecordScorer::record_bytes() const { return impl_->inputs * sizeof(float); }
void RecordScorer::add(std::string_view record) { impl_->add(record); }

void RecordScorer::add_error(std::string_view message) {
  impl_->begin_record();
  impl_->end_with_error(message);
}

std::size_t RecordScorer::size() const { return impl_->is_flushed ? 0 : impl_->records.size(); }
std::span<const Answer> RecordScorer::flush() { return impl_->flush(); }
std::string_view RecordScorer::lines() const { return impl_->lines; }

std::vector<data::ColumnSummary> RecordScorer::summary() const {
  return impl_->reader ? impl_->reader->summary() : std::vector<data::ColumnSummary>();
}

std::vector<double> RecordScorer::score_bounds() const {
  std::vector<double> bounds;
  if (!impl_->model->classes().empty())
    for (int i = 1; i <= 10; ++i) bounds.push_back(i / 10.0);
  else
    for (int i = -3; i <= 3; ++i) bounds.push_back(i * impl_->model->unit() + impl_->model->offset());
  return bounds;
}

}  // namespace sinter::serve
