// What a layer, an optimizer or a loss was made with, as text.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "ir/error.h"

namespace sinter {

/// A setting as summaries show it, `momentum 0.9`: named as the option is.
struct Setting {
  std::string name, value;

  Setting(std::string its_name, std::string text) : name(std::move(its_name)), value(std::move(text)) {}
  Setting(std::string its_name, const char* text) : Setting(std::move(its_name), std::string(text)) {}
  /// yes or no.
  Setting(std::string its_name, bool is_so) : Setting(std::move(its_name), is_so ? "yes" : "no") {}
  template <class Number>
    requires(std::integral<Number> || std::floating_point<Number>)
  Setting(std::string its_name, Number number) : Setting(std::move(its_name), str(number)) {}
  /// 3 for one number or several equal ones, else 3×5.
  Setting(std::string its_name, const std::vector<std::int64_t>& numbers);
};

/// "momentum 0.9, epsilon 1e-05".
std::string text_of(const std::vector<Setting>& settings);

}  // namespace sinter
