// Graph in, native code out: schedule → memory plan → LLVM module → one object → one function pointer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/instrument/sabotage.h"
#include "ir/graph.h"
#include "ir/object_store.h"
#include "ir/step.h"

namespace sinter::codegen {

struct Options {
  bool tap = false;              ///< for verify: no overlaid memory and no chunk scratch; every group output kept and listed in Compiled::taps
  bool profile = false;          ///< call StepContext::span for each call of a kernel
  std::string target = {};       ///< "x86-64-v3", "x86-64-v4", …; "" for this machine. Throws UserError for one that this machine cannot run
  std::string dump_folder = {};  ///< write schedule.txt, step.ll, step.opt.ll and step.s there; "" for none
  bool perf_map = false;         ///< append the functions to /tmp/perf-PID.map, where Linux's perf looks for names of generated code
  ObjectStore* store = nullptr;  ///< where code is looked up and kept; null: nowhere. Not used if there is a dump_folder
  int threads = 1;               ///< of the compiler; the code is the same for any number
  bool share_code = true;        ///< kernels whose code is the same share it
  bool checked = false;          ///< the step reports its memory accesses to StepContext::checks, and executes no forbidden one
  Sabotage sabotage = {};        ///< a fault to inject, for tests
  std::string fault = {};        ///< printed name of a node whose result is perturbed (SINTER_FAULT): proof that verify works
};

/// A stage of the compilation and its seconds.
using Stage = std::pair<std::string, double>;

/// The parts of a compiled step, for explain().
struct Report {
  std::string schedule;               ///< phases, loops and kernels as text
  std::string memory_plan;            ///< buffers as text
  std::vector<std::string> products;  ///< tiles and blocks of each product
  std::size_t phases = 0, kernels = 0;
  std::vector<std::size_t> code_of;         ///< by function: the first with the same code
  std::vector<std::int32_t> kernel_groups;  ///< by function: the kernel group of the graph that it belongs to, -1 for copies
  std::vector<Stage> stages;
  bool cache_hit = false;  ///< the code came from the store
  std::string target;      ///< CPU and vector features that the code uses
};

/// A node's value in a tapped step: the buffer of the image that holds it after a call.
struct Tap {
  ir::NodeId node;
  std::uint32_t buffer;
};

struct Compiled {
  StepImage image;
  Report report;
  std::vector<Tap> taps;
};

/// Whether this build of Sinter has the code generator; without it (SINTER_JIT=OFF), compile(), target_text() and emit_object() throw
/// UserError.
bool is_built();

/// CPU and vector features that code for this target uses, or for this machine (""), as in Report::target. Throws UserError for a target that this
/// machine cannot run.
std::string target_text(const std::string& target = "");
/// The version of LLVM that generates code: "19.1.7"; "" without the code generator.
std::string compiler_version();

/// Compiles a graph that passes::optimize has grouped. Throws UserError naming op, layer and source line for what cannot be compiled.
Compiled compile(const ir::Graph& graph, const Options& options = {});

/// The step of such a graph as one relocatable object with the function `sinter_step` (StepEntry) and no undefined symbols, for "x86-64-v3",
/// "x86-64-v4" or "aarch64", on any machine. Throws UserError for another target.
std::string emit_object(const ir::Graph& graph, const std::string& target);

}  // namespace sinter::codegen
