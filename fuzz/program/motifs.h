// Chains of ops that passes and kernels recognise as one thing: exactly that form, and forms that are nearly it.
#pragma once

#include "fuzz/program/builder.h"

namespace sinter::fuzz {

/// Adds one of them. Throws UserError or Unfit if it came to nothing.
ir::Value add_motif(Builder& b);

}  // namespace sinter::fuzz
