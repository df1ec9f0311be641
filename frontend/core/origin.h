// Errors of composed functions name the user's line, as those of ops do.
#pragma once

#include "frontend/core/ops.h"
#include "frontend/core/trace.h"

namespace sinter {

/// Runs `f`, putting the operand's origin in front of what it throws.
template <class F>
auto with_origin(const Arg& arg, F&& f) {
  try {
    return f();
  } catch (const UserError& error) {
    throw UserError(Origin::from(arg.where(), current_layer()).text(), error.what());
  }
}

}  // namespace sinter
