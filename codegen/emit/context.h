// What the kernels of a module share.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/instrument/sabotage.h"
#include "codegen/kernels/product_plan.h"
#include "codegen/memory_plan.h"
#include "codegen/schedule.h"
#include "codegen/vec.h"

namespace sinter::codegen {

struct EmitContext;

/// An innermost function that several kernels call: its approximate number of instructions, and the emitter of its body. Modules only declare
/// those that they call; each is then defined in one of them.
struct SharedFunction {
  std::size_t size;
  std::function<void(EmitContext&)> define;
};

/// A node whose values are wrong, to be found by a test.
struct Fault {
  ir::NodeId node = ir::no_node;
  ir::NodeId of_step = ir::no_node;  ///< not the node, which is a scan, but this one of its step
};

struct EmitContext {
  llvm::Module& module;
  const ir::Graph& graph;
  const Schedule& schedule;
  const MemoryPlan& plan;
  Fault fault;
  VectorUnit unit;       ///< registers of the target
  bool checked = false;  ///< accesses to memory are checked (codegen/instrument/check.h)
  Sabotage sabotage = {};
  std::string kernel_names = "kernel_";  ///< before their numbers
  ir::NodeId step_of = ir::no_node;      ///< of the step of a loop over time: the loop's node, which stands for all of the step
  std::vector<std::pair<std::size_t, std::string>> notes = {};  ///< by kernel, the tiles that were chosen, for explain()
  std::map<std::string, SharedFunction> shared = {};            ///< those that the kernels of this module call, by name
};

/// The declaration of a shared function in this module, made at the first call.
llvm::Function* declare_shared(EmitContext& context, const std::string& name, llvm::FunctionType* type, std::size_t size,
                               const std::function<void(EmitContext&)>& define);

/// A dimension, and chunk_of (ir/step.h), in IR.
llvm::Value* emit_extent(Builder& builder, Dim dim, llvm::Value* n, llvm::Value* t);
llvm::Value* emit_chunk_units(Builder& builder, Dim units, llvm::Value* n, llvm::Value* t, const ChunkLimits& limits);

}  // namespace sinter::codegen
