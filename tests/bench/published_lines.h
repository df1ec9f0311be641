// What sinter_published prints.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/expect_program.h"

namespace sinter::test {

using nlohmann::json;

inline Finished published(const std::vector<std::string>& arguments) { return run(SINTER_PUBLISHED_PROGRAM, arguments); }

inline std::vector<json> lines_of(const std::string& text) {
  std::vector<json> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
  return result;
}

/// What does not depend on the machine: figures that are no times, by row and column, and points of curves.
inline std::map<std::string, double> figures(const std::vector<json>& lines) {
  std::map<std::string, double> result;
  for (const json& line : lines) {
    if (line.contains("row") && line["unit"] == "" && !line["row"].get<std::string>().starts_with("share"))
      result[line["row"].get<std::string>() + "|" + line["column"].get<std::string>()] = line["value"];
    if (line.contains("chart"))
      result[line["chart"].get<std::string>() + "|" + line["curve"].get<std::string>() + "|" + line["x"].dump()] = line["y"];
  }
  return result;
}

inline std::size_t assertions(const std::vector<json>& lines, bool ok) {
  std::size_t count = 0;
  for (const json& line : lines) count += line.contains("assert") && line["ok"] == ok;
  return count;
}

}  // namespace sinter::test
