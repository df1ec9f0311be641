// The passes. Each is one free function in a file of its own: it changes the graph, may add a note for explain(), and
// returns whether it changed anything. Nodes that it leaves unused are removed by dead_code, which runs after each. pipeline.cpp gives the order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"

namespace sinter::passes {

struct PassContext {
  const PipelineOptions& options;
  std::vector<std::string> notes;
};

/// A pass by its name. Where it is switched off, `plain` runs in its place, if the others or the code generator need something there.
struct Pass {
  using Function = bool (*)(ir::Graph&, PassContext&);
  std::string_view name;
  Function run, plain = nullptr;
  bool in_steps = false;   ///< runs on the steps of loops over time, too
  bool is_needed = false;  ///< the code generator needs it: it cannot be switched off
};
/// All of them, in the order in which they run.
std::span<const Pass> pipeline();
/// What runs in the place of a pass: itself, its plain form or, where it is switched off and has none, null.
Pass::Function chosen(const Pass& pass, const PipelineOptions& options);

/// Removes what no output and no update needs, and reports the removed gradients with their cost.
bool dead_gradients(ir::Graph& graph, PassContext& context);
/// Its plain form: gradients that nothing needs are kept.
bool keep_gradients(ir::Graph& graph, PassContext& context);
/// Computes ops of constants, through options.evaluate.
bool constant_fold(ir::Graph& graph, PassContext& context);
/// Identities that hold for every number, infinities and NaN included; most come from gradient rules.
bool simplify(ir::Graph& graph, PassContext& context);
/// conv2d and its adjoints, where windows are rows of a matrix as they lie, such as pixels of a kernel of 1 × 1 → matmul.
bool convolution_to_matmul(ir::Graph& graph, PassContext& context);
/// Convolutions and pools over images of one column [N, H, 1, C] → over images of one row [N, 1, H, C].
bool swap_image_axes(ir::Graph& graph, PassContext& context);
/// op(reshape(x)) → reshape(op(x)) for pointwise ops and sums, where the reshape keeps the columns.
bool reshape_past_pointwise(ir::Graph& graph, PassContext& context);
/// log(softmax(x)) → log_softmax(x), and its gradient with it: avoids overflow and divisions by a probability of 0.
bool log_softmax(ir::Graph& graph, PassContext& context);
/// max_pool(relu(x)) → relu(max_pool(x)), and their gradients with them.
bool relu_past_pool(ir::Graph& graph, PassContext& context);
/// transpose next to matmul → the matmul's flags.
bool fold_transpose(ir::Graph& graph, PassContext& context);
/// Merges nodes with the same op and operands into the first of them.
bool common_subexpressions(ir::Graph& graph, PassContext& context);
/// Sums of the same values times factors that do not vary along their axes → one sum, and its multiples; leaves out terms x - mean(x), whose sum is
/// 0.
bool factor_sums(ir::Graph& graph, PassContext& context);
/// add(matmul(x, w), b) → dense(x, w, b).
bool fold_bias(ir::Graph& graph, PassContext& context);
/// concat of more than 16 → concats of at most 16 of concats.
bool split_concat(ir::Graph& graph, PassContext& context);
/// Inputs that would have much padding come without it (ir/layout.h), and what needs it reads a copy: Reshape to the same shape.
bool unpad_inputs(ir::Graph& graph, PassContext& context);
/// A few cheap operations on a stored value of the same size, which several kernels read → a copy of them for each: their result need not be stored.
bool recompute_pointwise(ir::Graph& graph, PassContext& context);
/// Finds what need not heed the steps of sequences that a mask leaves out (ir::Padding).
bool skip_padding(ir::Graph& graph, PassContext& context);
/// Finds tables that change only in the rows to which a scatter_add_rows adds (ir::Node::touched_by): those of an embedding that a batch has.
bool touched_rows(ir::Graph& graph, PassContext& context);
/// Loops over time over the same operands that make the same carries → one loop, with the results of both: the gradient's copy of a loop, which keeps
/// what the gradient needs, and the loop itself.
bool merge_scans(ir::Graph& graph, PassContext& context);
/// Removes results, carries and operands of loops over time that nothing needs.
bool trim_scans(ir::Graph& graph, PassContext& context);
/// Runs the passes that make sense there, and `group`, on the steps of loops over time.
bool step_bodies(ir::Graph& graph, PassContext& context);
/// Its plain form: each node of a step is a kernel of its own.
bool plain_step_bodies(ir::Graph& graph, PassContext& context);
/// Assigns kernels to nodes; passes/group.h has the rules.
bool group(ir::Graph& graph, PassContext& context);
/// Its plain form: each node is a kernel of its own, a loop over time together with its results; recomputable scalars are inlined.
bool group_each_alone(ir::Graph& graph, PassContext& context);
/// Removes what no output and no update needs.
bool dead_code(ir::Graph& graph, PassContext& context);

/// "54,880,000".
std::string with_separators(double value);
/// "1 bias", "3 biases".
std::string counted(std::size_t count, std::string_view one, std::string_view many);

}  // namespace sinter::passes
