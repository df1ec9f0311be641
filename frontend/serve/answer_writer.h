// Answers as text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/serve/record_format.h"
#include "frontend/serve/served_model.h"

namespace sinter::serve {

/// Appends the answers of a model's results to a text, each without its line break.
class AnswerWriter {
 public:
  AnswerWriter(const ServedModel& model, Format format, char delimiter);

  /// The names of the fields of delimited answers.
  std::string header() const;
  /// The numbers of a result, in the unit of the target.
  void write(std::span<const float> result, std::string& text) const;
  /// A record that the encoder leaves out, or one that is wrong, and why: a text that is printable.
  void write_skipped(std::string_view why, std::string& text) const;
  void write_error(std::string_view why, std::string& text) const;
  /// The number of a result in the unit of the target.
  double in_unit(float number) const { return static_cast<double>(number) * unit_ + offset_; }

 private:
  void write_json(std::span<const float> result, std::string& text) const;
  void write_delimited(std::span<const float> result, std::string& text) const;
  void write_raw(std::span<const float> result, std::string& text) const;
  void write_none(std::string_view key, std::string_view why, std::string& text) const;
  void append_number(float number, std::string& text) const;

  Format format_;
  char delimiter_;
  std::size_t outputs_;
  double unit_, offset_;
  std::vector<std::string> classes_;                       ///< as the format writes them
  std::vector<std::string> before_number_, before_class_;  ///< JSON: what stands before each probability, and all before them for each class
  std::string columns_;                                    ///< the header
};

/// The class whose probability is the greatest.
std::size_t greatest(std::span<const float> probabilities);

}  // namespace sinter::serve
