// Predictions of one output of a model beside the truth, as the page shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"
#include "frontend/report/html.h"

namespace sinter::report {

struct Judgement {
  enum class Kind : std::uint8_t {
    unlike,         ///< predictions and targets that cannot be compared
    classes,        ///< one of several classes, or yes and no, which are class 1 and 0
    numbers,        ///< of a regression
    reconstruction  ///< numbers: the features themselves
  };
  Kind kind = Kind::unlike;
  Target names;
  std::size_t samples = 0, width = 1;  ///< answers per sample: numbers, or questions with yes and no
  std::string note;                    ///< how the predictions were read

  // Of classes, for each answer:
  std::size_t classes = 0;
  std::vector<std::int32_t> truth, said;       ///< no_class where a prediction is NaN
  std::vector<double> p_truth, p_said, p_one;  ///< probabilities of the true class and of the predicted one, and of class 1 of two; NaN likewise

  // Of numbers, in the target's unit:
  std::vector<double> target, predicted;

  static constexpr std::int32_t no_class = -1;
  std::size_t answers() const { return samples * width; }
  bool is_binary() const { return classes == 2; }
  /// The given name of a class, else its number.
  std::string class_name(std::int32_t number) const;
  /// Whether answer i is the true class.
  bool right(std::size_t i) const { return said[i] == truth[i]; }
};

/// `features`: the data's first input, `scale` the factor of its u8 numbers.
Judgement judge(const Tensor& prediction, const Tensor& target, const Target& names, const Tensor& features, float scale);

/// "12.5 EUR": with so many significant digits.
std::string with_unit(double number, const std::string& unit, int digits = 4);

}  // namespace sinter::report
