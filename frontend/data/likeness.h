// Texts that look like numbers that are written in another way, and the rules that would read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/cell.h"

namespace sinter::data {

/// Whether a number was probably meant by a text that rules may not read yet: one with any separators of decimals and thousands, alone or beside a
/// currency, a percent sign or a unit: 25,500.00, $15.7, 15.7 EUR, 1248 CC. Not A1, 1st, 4WD, <=50K, 10-20 or 12:30, which are names and ranges.
bool looks_like_number(std::string_view text);

/// The options that would make numbers, or missing values, of all these texts, as a program writes them: `EncoderOptions::thousands = ","`. Empty if
/// there are none, or none are needed.
std::string reading_advice(const std::vector<std::string_view>& texts, const CellRules& rules);

}  // namespace sinter::data
