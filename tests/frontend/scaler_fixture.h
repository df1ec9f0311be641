// Scaled samples by scikit-learn: tests/fixtures/scalers.py.
#pragma once

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/frontend/helpers.h"

namespace sinter::test {

inline nlohmann::json scaler_fixture() {
  std::ifstream file(SINTER_TEST_FIXTURES "/scalers.json");
  return nlohmann::json::parse(file);
}

/// [numbers / width, width].
inline Tensor samples_in(const nlohmann::json& numbers, std::int64_t width) {
  const std::vector<float> values = numbers;
  return {values, {static_cast<std::int64_t>(values.size()) / width, width}};
}

/// Within 1e-5, relative to the greater of the expected number and 1.
template <class Numbers>
void expect_near(const Numbers& found, const nlohmann::json& json, const std::string& what) {
  const std::vector<double> expected = json;
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(found[i]), expected[i], 1e-5 * std::max(1.0, std::abs(expected[i]))) << what << " at " << i;
}

}  // namespace sinter::test
