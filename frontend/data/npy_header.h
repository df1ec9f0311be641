// The header of an .npy file: a Python dictionary, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Throws UserError `[where] …` naming the byte that does not fit.
NpyHeader parse_npy_header(std::string_view text, const std::string& where);
std::string npy_header_text(const NpyHeader& header);

}  // namespace sinter::data
