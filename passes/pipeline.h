// The optimization pipeline: which passes run, in which order and why.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace sinter::passes {

/// What one pass did, for explain().
struct PassReport {
  std::string name;
  bool changed = false;
  bool is_off = false;  ///< it was switched off; what follows is of what runs in its place
  std::size_t nodes_before = 0, nodes_after = 0;
  double seconds = 0;
  std::vector<std::string> notes;  ///< "removed 1 gradient of input x: 54,880,000 flops per step at N = 500"
};

/// Evaluates an op whose operands are all scalar constants: the value of the scalar result, exact in its type.
using ConstantEvaluator = std::function<double(const ir::Op& op, const Type& type, std::span<const ir::Constant> operands)>;

struct PipelineOptions {
  ConstantEvaluator evaluate;  ///< folds constants; without it they stay
  Sizes sizes = 0;             ///< for figures in notes; N = 0: as sums of multiples of the symbols
  bool verify = false;         ///< check the rules of the IR after every pass
  std::string dump_folder;     ///< write NN-pass.txt and .dot there after each pass; "" for none
  std::string stop_after;      ///< name of the last pass to run; "" for all. Those behind it are switched off
  /// Names of passes that are switched off. The result is the same but for rounding: each node is a kernel of its own without `group`, gradients that
  /// nothing needs are computed without `dead_gradients`. Throws UserError, as stop_after does, for an unknown name; and for `split_concat`, which
  /// the code generator needs.
  std::vector<std::string> without;
  std::function<void(const PassReport&, const ir::Graph&)> observer;  ///< called after each pass
};

/// Optimizes the graph in place and groups its nodes into kernels.
std::vector<PassReport> optimize(ir::Graph& graph, const PipelineOptions& options = {});

/// Names of the passes in order.
std::vector<std::string> pass_names();
/// Those that may be switched off.
std::vector<std::string> optional_pass_names();

}  // namespace sinter::passes
