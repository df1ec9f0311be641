// The key of a step's code: everything that determines it, as bytes.
#pragma once

#include <string>

#include "codegen/compile.h"
#include "ir/graph.h"
#include "ir/object_store.h"

namespace sinter::codegen {

/// The key of a step's code for this target (Target::text). Two graphs have the same source only if they give the same code: names
/// of layers, states and inputs and the user's lines are not in it, numbers of nodes are (the code reports a bad index by them).
ObjectKey object_key(const ir::Graph& graph, const Options& options, std::string target);

/// The code generator's version: a hash of all its sources and of ir/, with their compiler and flags, and LLVM's version.
std::string code_version();

}  // namespace sinter::codegen
