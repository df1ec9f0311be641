// Passes on loops over time.
#include <algorithm>
#include <map>
#include <optional>

#include "ir/copy.h"
#include "ir/scan.h"
#include "passes/group.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

std::vector<NodeId> scans_of(const ir::Graph& graph) {
  std::vector<NodeId> scans;
  for (const NodeId id : graph.topological_order())
    if (std::holds_alternative<ir::Scan>(graph.node(id).op)) scans.push_back(id);
  return scans;
}

const ir::Scan& scan_of(const ir::Graph& graph, NodeId id) { return std::get<ir::Scan>(graph.node(id).op); }

std::size_t result_of(const ir::Graph& graph, NodeId result) {
  return static_cast<std::size_t>(std::get<ir::ScanResult>(graph.node(result).op).index);
}

/// Another scan in place of one, whose result number `results[i]` stands for the old one's number i; those that nothing reads stand for none.
void replace(ir::Graph& graph, NodeId old, const ir::Scan& op, const std::vector<NodeId>& operands, const std::vector<std::size_t>& results) {
  const ir::OriginScope scope(graph, graph.node(old).origin);
  const Value made = graph.add(op, operands, graph.node(old).origin);
  const std::vector<NodeId> users = graph.node(old).users;
  for (const NodeId user : users) {
    const Value result = ir::scan_result(made, results[result_of(graph, user)]);
    graph.set_origin(result.id, graph.node(user).origin);
    graph.replace_all_uses(user, result.id);
  }
}

/// What two scans over the same operands do in one; nothing if they make other carries.
struct Merged {
  ir::Body body;
  std::vector<std::size_t> second;  ///< by result of the second: the number of the result in the body of both
};
std::optional<Merged> merged(const ir::Scan& a, const ir::Scan& b, PassContext& context) {
  const ir::Graph &first = a.body.graph(), &second = b.body.graph();
  ir::Graph both(first.name());
  ir::Copy of_first(first, both), of_second(second, both);
  for (std::size_t i = 0; i < first.inputs().size(); ++i) {
    const Value input = both.add_input(first.inputs()[i]);
    of_first.set(first.input_node(i), input);
    of_second.set(second.input_node(i), input);
  }
  of_first.add_all(first.outputs());
  of_second.add_all(second.outputs());
  std::vector<NodeId> outputs;
  for (const NodeId id : first.outputs()) outputs.push_back(of_first[id].id);
  for (const NodeId id : second.outputs()) outputs.push_back(of_second[id].id);
  both.set_outputs(outputs);
  PassContext quiet{context.options, {}};
  (void)common_subexpressions(both, quiet);
  const std::vector<NodeId> all(both.outputs().begin(), both.outputs().end());
  outputs.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first.outputs().size()));
  Merged result;
  for (std::size_t i = 0; i < second.outputs().size(); ++i) {
    const NodeId id = all[first.outputs().size() + i];
    if (i < a.carry_count()) {
      if (id != all[i]) return std::nullopt;
      result.second.push_back(i);
      continue;
    }
    const auto found = std::find(outputs.begin() + a.carries, outputs.end(), id);
    result.second.push_back(static_cast<std::size_t>(found - outputs.begin()));
    if (found == outputs.end()) outputs.push_back(id);
  }
  both.set_outputs(outputs);
  result.body = ir::Body(both);
  return result;
}

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
  for (const NodeId user : graph.node(id).users) is_wanted[result_of(graph, user)] = 1;
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
    const bool is_carry = i < op.carry_count(), is_sequence = !is_carry && i < op.carry_count() + static_cast<std::size_t>(op.sequences);
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

bool merge_scans(ir::Graph& graph, PassContext& context) {
  std::map<std::string, NodeId> first;  // by what must be equal: operands, and all attributes but the body
  std::size_t count = 0;
  for (const NodeId id : scans_of(graph)) {
    const ir::Scan op = scan_of(graph, id);
    std::string key = str(op.carries, " ", op.sequences, " ", op.length, " ", op.reverse);
    for (const NodeId operand : graph.node(id).inputs) key += str(" %", operand);
    const auto [found, is_first] = first.emplace(std::move(key), id);
    if (is_first) continue;
    const NodeId before = found->second;
    ir::Scan both = scan_of(graph, before);
    const std::optional<Merged> one = merged(both, op, context);
    if (!one) continue;
    const std::size_t results = both.result_count();
    both.body = one->body;
    std::vector<std::size_t> same(results);
    for (std::size_t i = 0; i < results; ++i) same[i] = i;
    const std::vector<NodeId> operands = graph.node(id).inputs;
    const auto made = static_cast<NodeId>(graph.size());
    replace(graph, before, both, operands, same);
    const ir::OriginScope scope(graph, graph.node(id).origin);
    const std::vector<NodeId> users = graph.node(id).users;
    for (const NodeId user : users) graph.replace_all_uses(user, ir::scan_result({&graph, made}, one->second[result_of(graph, user)]).id);
    found->second = made;
    ++count;
  }
  if (count) context.notes.push_back(str("merged ", counted(count, "loop over time", "loops over time"), " into another with the same steps"));
  return count > 0;
}

bool trim_scans(ir::Graph& graph, PassContext& context) {
  std::size_t results = 0, operands = 0;
  std::vector<NodeId> scans = scans_of(graph);
  // What a loop does not read another need not make: from the last to the first.
  for (auto id = scans.rbegin(); id != scans.rend(); ++id) {
    const std::optional<Trimmed> less = trimmed(graph, *id);
    if (!less) continue;
    results += scan_of(graph, *id).result_count() - less->op.result_count();
    operands += graph.node(*id).inputs.size() - less->operands.size();
    replace(graph, *id, less->op, less->operands, less->results);
    graph.erase_dead();
  }
  if (results + operands == 0) return false;
  context.notes.push_back(
      str("removed ", counted(results, "result", "results"), " and ", counted(operands, "operand", "operands"), " of loops over time"));
  return true;
}

bool step_bodies(ir::Graph& graph, PassContext& context) {
  using Pass = bool (*)(ir::Graph&, PassContext&);
  static constexpr Pass passes[] = {constant_fold, simplify,     log_softmax, fold_transpose, common_subexpressions,
                                    fold_bias,     split_concat, step_bodies, group};
  bool changed = false;
  for (const NodeId id : scans_of(graph)) {
    ir::Graph body = scan_of(graph, id).body.graph();
    PassContext inside{context.options, {}};
    for (const Pass pass : passes)
      if (pass(body, inside)) (void)dead_code(body, inside);
    graph.set_body(id, ir::Body(body));
    changed = true;
  }
  return changed;
}

}  // namespace sinter::passes
