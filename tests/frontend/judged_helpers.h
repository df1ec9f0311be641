// Predictions to judge, and what the report shows of them.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "frontend/report/judgement.h"
#include "tests/frontend/report_helpers.h"

namespace sinter::test {

inline const float nan_float = std::nanf("");

inline Tensor column(const std::vector<float>& numbers) { return {numbers, {static_cast<std::int64_t>(numbers.size()), 1}}; }
inline Tensor classes(const std::vector<std::int32_t>& numbers) { return {numbers, {static_cast<std::int64_t>(numbers.size())}}; }
inline report::Judgement judge(const Tensor& prediction, const Tensor& target, const report::Target& names = {}) {
  return report::judge(prediction, target, names, {}, 1);
}
/// What is wrong with a fragment of the page as a document.
inline std::string error_in(const std::string& html) { return xml_error("<div>" + html + "</div>"); }

}  // namespace sinter::test
