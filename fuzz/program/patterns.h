// What passes and code generation recognise in a program: so that it can be counted whether random programs reach it.
#pragma once

#include <set>
#include <span>
#include <string_view>

#include "fuzz/program/program.h"

namespace sinter::fuzz {

/// Names of all patterns: the passes that may change a graph, and what kernels are made in another way than op by op.
std::span<const std::string_view> pattern_names();

/// Those that occur in a program.
std::set<std::string_view> patterns_of(const Program& program);

}  // namespace sinter::fuzz
