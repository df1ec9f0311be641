// Models that SentencePiece made: tests/fixtures/subwords.py.
#pragma once

#include <map>
#include <string>

#include "frontend/data/npz.h"

namespace sinter::test {

/// The bytes of each, by name; `expected` is the JSON of what the library makes of texts.
inline const std::map<std::string, std::string>& sentencepiece_fixtures() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> result;
    for (const auto& [name, array] : data::read_npz(SINTER_TEST_FIXTURES "/subwords.npz"))
      result[name] = {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()};
    return result;
  }();
  return all;
}

}  // namespace sinter::test
