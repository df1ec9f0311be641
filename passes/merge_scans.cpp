#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "ir/copy.h"
#include "passes/passes.h"
#include "passes/scans.h"

namespace sinter::passes {

namespace {

using ir::NodeId;

/// What two scans over the same operands do in one; nothing if they make other carries.
struct Merged {
  ir::Body body;
  std::vector<std::size_t> second;  ///< by result of the second: the number of the result in the body of both
};
std::optional<Merged> merged(const ir::Scan& a, const ir::Scan& b, PassContext& context) {
  const ir::Graph &first = a.body.graph(), &second = b.body.graph();
  ir::Graph both(first.name());
  ir::Copy of_first(first, both), of_second(second, both);
  of_first.add_inputs();
  for (std::size_t i = 0; i < second.inputs().size(); ++i) of_second.set(second.input_node(i), of_first[first.input_node(i)]);
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
    std::vector<std::size_t> same(both.result_count());
    std::iota(same.begin(), same.end(), std::size_t{0});
    both.body = one->body;
    const std::vector<NodeId> operands = graph.node(id).inputs;
    const ir::Value made = replace_scan(graph, before, both, operands, same);
    const ir::OriginScope scope(graph, graph.node(id).origin);
    const std::vector<NodeId> users = graph.node(id).users;
    for (const NodeId user : users) graph.replace_all_uses(user, ir::scan_result(made, one->second[ir::result_index(graph, user)]).id);
    found->second = made.id;
    ++count;
  }
  if (count) context.notes.push_back(str("merged ", counted(count, "loop over time", "loops over time"), " into another with the same steps"));
  return count > 0;
}

}  // namespace sinter::passes
