#include <optional>

#include "ir/copy.h"
#include "passes/passes.h"
#include "passes/scans.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// The body without the outputs, carries and operands that nothing needs; nothing if all are needed.
struct Trimmed {
  ir::Scan op;
  std::vector<NodeId> operands;
  std::vector<std::size_t> results;  ///< by result of before
};
std::optional<Trimmed> trimmed(const ir::Graph& graph, NodeId id) {
  const ir::Scan& op = scan_of(graph, id);
  const ir::Graph& body = op.body.graph();
  std::vector<char> is_wanted(op.result_count());
  for (const NodeId user : graph.node(id).users) is_wanted[ir::result_index(graph, user)] = 1;
  // A carry is needed if what is wanted reads it, directly or through another.
  std::vector<char> needed;
  for (bool more = true; more;) {
    more = false;
    std::vector<NodeId> outputs;
    for (std::size_t i = 0; i < is_wanted.size(); ++i)
      if (is_wanted[i]) outputs.push_back(body.outputs()[i]);
    needed = ir::needed_nodes(body, outputs);
    for (std::size_t i = 0; i < op.carry_count(); ++i)
      if (needed[body.input_node(i)] && !is_wanted[i]) is_wanted[i] = more = 1;
  }
  Trimmed result{op, {}, std::vector<std::size_t>(op.result_count())};
  ir::Graph step(body.name());
  ir::Copy copy(body, step);
  std::int64_t carries = 0, sequences = 0;
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    const bool is_carry = i < op.carry_count(), is_sequence = !is_carry && i < op.carry_count() + op.sequence_count();
    if (is_carry ? !is_wanted[i] : !needed[body.input_node(i)]) continue;
    copy.set(body.input_node(i), step.add_input(body.inputs()[i]));
    result.operands.push_back(graph.node(id).inputs[i]);
    carries += is_carry;
    sequences += is_sequence;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < is_wanted.size(); ++i) {
    if (!is_wanted[i]) continue;
    const NodeId output = body.outputs()[i];
    copy.add_all({&output, 1});
    step.add_output(copy[output]);
    result.results[i] = kept++;
  }
  if (carries + sequences == 0) return std::nullopt;  // nothing would say how many samples there are
  if (kept == op.result_count() && result.operands.size() == graph.node(id).inputs.size()) return std::nullopt;
  result.op.carries = carries;
  result.op.sequences = sequences;
  result.op.body = ir::Body(step);
  return result;
}

}  // namespace

bool trim_scans(ir::Graph& graph, PassContext& context) {
  std::size_t results = 0, operands = 0;
  std::vector<NodeId> scans = scans_of(graph);
  // What a loop does not read another need not make: from the last to the first.
  for (auto id = scans.rbegin(); id != scans.rend(); ++id) {
    const std::optional<Trimmed> less = trimmed(graph, *id);
    if (!less) continue;
    results += scan_of(graph, *id).result_count() - less->op.result_count();
    operands += graph.node(*id).inputs.size() - less->operands.size();
    replace_scan(graph, *id, less->op, less->operands, less->results);
    graph.erase_dead();
  }
  if (results + operands == 0) return false;
  context.notes.push_back(
      str("removed ", counted(results, "result", "results"), " and ", counted(operands, "operand", "operands"), " of loops over time"));
  return true;
}

}  // namespace sinter::passes
