// Records in, answers out: what `sinter predict --stream` and `sinter consume` have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/serve/record_format.h"
#include "frontend/serve/scorer.h"

namespace sinter::serve {

/// What became of a record.
struct Answer {
  /// Without a line break. JSON: {"prediction":3.25}, {"prediction":[1,2]} of several numbers, {"prediction":"fraud","probabilities":{"normal":0.02,
  /// "fraud":0.98}}, {"skipped":"…"} of a record that the encoder's conditions leave out, {"error":"[record 17] …"}. Delimited: the fields that
  /// RecordScorer::header names. Raw: the numbers of the result as f32, NaN where there is none.
  std::string_view text;
  double score = 0;  ///< the probability of the class of RecordScorerOptions::score, or the (first) predicted number; NaN without a result
  bool is_error = false, is_skipped = false;
  std::size_t index = 0;  ///< of the record, in the order in which they were added since the last flush
};

struct RecordScorerOptions {
  RecordFormat format = {};
  std::optional<Format> answers = {};  ///< how answers are written; as records are, if not given
  std::string score = {};              ///< the class whose probability is Answer::score; the last one, if empty
};

/// A predicted number with as many digits as tell adjacent f32 values apart, or more where these are too coarse for it: where the unit, the deviation
/// of the target, is small compared with its mean.
std::string prediction_text(double value, double unit = 1);

/// Scores records in batches: reads and encodes each as it is added, and predicts all in one call. A bad record becomes an error, and stops nothing.
/// For one thread at a time; several may share a Scorer.
class RecordScorer {
 public:
  /// The scorer must outlive it. Throws UserError for columns that the model's encoder does not find among those of the format; raw records for a
  /// model with an encoder; columns of a model without one that are not as many as its inputs; and a class that the model does not know.
  explicit RecordScorer(const Scorer& scorer, RecordScorerOptions options = {});
  ~RecordScorer();
  RecordScorer(const RecordScorer&) = delete;
  RecordScorer& operator=(const RecordScorer&) = delete;

  Format format() const;
  /// Whether the columns of delimited text are still to be named by read_header, which must then come first.
  bool needs_header() const;
  /// The names of the columns, from a line of them. Throws UserError as the constructor does.
  void read_header(std::string_view record);
  /// The names of the columns of records, in their order; column_1, column_2, … of JSON for a model without encoder, none of raw records.
  const std::vector<std::string>& columns() const;
  /// The names of the fields of delimited answers, as a line without its break: prediction, the probabilities of classes as p(fraud), error.
  std::string header() const;
  /// Bytes of a raw record.
  std::size_t record_bytes() const;

  /// Reads a record, which need not be kept.
  void add(std::string_view record);
  /// In place of a record that could not be had, as one that is too long: is answered by an error with this text.
  void add_error(std::string_view message);
  /// Records added since the last flush.
  std::size_t size() const;
  /// Predicts all of them: an answer for each, in their order. Valid until the next call of add or flush. The next batch uses the scorer's model of
  /// then.
  std::span<const Answer> flush();
  /// The texts of the answers of the last flush one after another, each with a line break behind it unless they are raw.
  std::string_view lines() const;

  /// The encoder's columns besides the target, and what the records so far had in them, since the model was swapped; empty without an encoder.
  std::vector<data::ColumnSummary> summary() const;
  /// Bounds of a histogram of scores: tenths of a probability, or, of numbers, the mean of the target and steps of its deviation from it.
  std::vector<double> score_bounds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter::serve
