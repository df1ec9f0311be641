#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/published/published.h"

namespace sinter::published {

using nlohmann::ordered_json;

void Report::cell(const std::string& row, const std::string& column, double value, const std::string& unit, const std::string& note) {
  std::cout << ordered_json{{"series", series_}, {"row", row}, {"column", column}, {"value", value}, {"unit", unit}, {"note", note}}.dump()
            << std::endl;
}

void Report::point(const std::string& chart, const std::string& curve, double x, double y) {
  std::cout << ordered_json{{"series", series_}, {"chart", chart}, {"curve", curve}, {"x", x}, {"y", y}}.dump() << std::endl;
}

void Report::remark(const std::string& text) { std::cout << ordered_json{{"series", series_}, {"remark", text}}.dump() << std::endl; }

void Report::require(const std::string& text, double value, double low, double high) {
  const bool ok = low <= value && value <= high;  // false for NaN
  ok_ = ok_ && ok;
  std::cout << ordered_json{{"series", series_}, {"assert", text}, {"value", value}, {"low", low}, {"high", high}, {"ok", ok}}.dump() << std::endl;
}

double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double least_seconds(int repeats, const std::function<void()>& call) {
  call();
  double least = seconds_of(call);
  for (int i = 1; i < repeats; ++i) least = std::min(least, seconds_of(call));
  return least;
}

}  // namespace sinter::published
