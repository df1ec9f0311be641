// What the tests of reports share.
#pragma once

#include <expat.h>

#include <cmath>
#include <memory>

#include "tests/frontend/helpers.h"

namespace sinter::test {

/// What is wrong with an XML document; "" if nothing is.
inline std::string xml_error(const std::string& text) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), 1) == XML_STATUS_OK) return "";
  return str("line ", XML_GetCurrentLineNumber(parser.get()), ": ", XML_ErrorString(XML_GetErrorCode(parser.get())));
}

/// How often the part occurs in the text.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Five epochs whose values differ.
inline std::vector<EpochResult> some_history() {
  std::vector<EpochResult> history;
  for (int e = 1; e <= 5; ++e) {
    EpochResult r{e, 1.0 / e, 0.1 * e, 1.1 / e + (e == 5 ? 1 : 0), 0.09 * e, std::pow(10.0, -e), 0.5, {{"f<1", 0.2 * e}}, {{"f<1", 0.15 * e}}};
    history.push_back(r);
  }
  return history;
}

}  // namespace sinter::test
