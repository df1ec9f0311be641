#include "ir/body.h"

#include <algorithm>

#include "ir/copy.h"
#include "ir/graph.h"

namespace sinter::ir {

struct Body::Content {
  Graph graph;
  std::string text;
  std::size_t depth = 1;
};

namespace {

Graph compact(const Graph& graph) {
  Graph result(graph.name());
  Copy copy(graph, result);
  copy.add_inputs();
  copy.add_all(graph.outputs());
  for (const NodeId id : graph.outputs()) result.add_output(copy[id]);
  return result;
}

std::string text_of(const Graph& graph) {
  std::string text = "(";
  for (const InputSpec& input : graph.inputs()) text += str(&input == graph.inputs().data() ? "" : ", ", input.type);
  text += ") {";
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (is_leaf(node.op)) continue;
    text += str(" %", id, " = ", name(node.op), "(");
    const char* between = "";
    for (const NodeId input : node.inputs) text += str(std::exchange(between, ", "), "%", input);
    for (const auto& [name, value] : attributes(node.op)) text += str(std::exchange(between, ", "), name, "=", to_string(value));
    text += ")";
    if (node.kernel != no_kernel) text += str("@", node.kernel);
  }
  text += " } ->";
  for (const NodeId id : graph.outputs()) text += str(" %", id);
  return text;
}

std::size_t depth_of(const Graph& graph) {
  std::size_t depth = 1;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (const auto* scan = graph.op_as<Scan>(id)) depth = std::max(depth, 1 + scan->body.depth());
  return depth;
}

}  // namespace

Body::Body(const Graph& graph) {
  if (!graph.states().empty()) throw UserError("scan", str("a step reads the state '", graph.states()[0].name, "' as such; pass it as an operand"));
  auto content = std::make_shared<Content>(Content{compact(graph), {}, depth_of(graph)});
  if (content->depth > max_depth) throw UserError("scan", str("scans are nested ", content->depth, " deep; at most ", max_depth, " may be"));
  content->text = text_of(content->graph);
  content_ = std::move(content);
}

const Graph& Body::graph() const {
  if (!content_) throw InternalError("scan", "has no body");
  return content_->graph;
}

const std::string& Body::text() const {
  static const std::string none = "none";
  return content_ ? content_->text : none;
}

std::size_t Body::depth() const { return content_ ? content_->depth : 0; }

}  // namespace sinter::ir
