// What a graph is called with.
#pragma once

#include <cstdint>
#include <string>

#include "ir/type.h"

namespace sinter::ir {

/// What a call passes. A hidden input is a tensor that the traced function captured: it is bound once, at trace time.
struct InputSpec {
  enum class Kind : std::uint8_t { batch, fixed, table, hidden };
  std::string name;
  Type type;
  Kind kind = Kind::batch;
  bool unpadded = false;  ///< bound in memory without padding (ir/layout.h): the pass unpad_inputs
};

}  // namespace sinter::ir
