#include "ir/print.h"

#include <map>

#include "ir/graph.h"

namespace sinter::ir {

namespace {

std::string attributes_text(const Op& op) {
  std::string text;
  for (const auto& [name, value] : attributes(op))
    if (!std::holds_alternative<Body>(value)) text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return text;
}

/// As a part of what is indented by two: by four.
std::string indented(const std::string& text) {
  std::string result = "    ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += "    ";
  }
  return result;
}

std::string operands_text(const Graph& graph, const Node& node, const std::vector<std::string>& names) {
  std::string text;
  for (const NodeId input : node.inputs) text += (text.empty() ? "" : ", ") + names[input];
  (void)graph;
  const std::string attributes = attributes_text(node.op);
  if (!attributes.empty()) text += (text.empty() ? "" : ", ") + attributes;
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::vector<std::string> printed_names(const Graph& graph) {
  std::vector<std::string> names(graph.size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) names[graph.input_node(i)] = "%" + graph.inputs()[i].name;
  for (std::size_t i = 0; i < graph.states().size(); ++i) names[graph.state_node(i)] = "%" + graph.states()[i].name;
  std::size_t next = 0;
  for (const NodeId id : graph.topological_order())
    if (!is_leaf(graph.node(id).op)) names[id] = str("%", next++);
  return names;
}

std::string to_text(const Graph& graph, PrintOptions options) {
  const auto names = printed_names(graph);
  std::string text = str("graph ", graph.name(), "(");
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    text += str(i ? ", " : "", graph.inputs()[i].name, ": ", graph.inputs()[i].type, graph.inputs()[i].unpadded ? " unpadded" : "");
  text += ")";
  if (!graph.states().empty()) {
    text += "  state(";
    for (std::size_t i = 0; i < graph.states().size(); ++i) text += str(i ? ", " : "", graph.states()[i].name, ": ", graph.states()[i].type);
    text += ")";
  }
  text += "\n";
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_leaf(node.op)) continue;
    text += str("  ", names[id], ": ", node.type, " = ", name(node.op), "(", operands_text(graph, node, names), ")");
    if (options.kernels && node.kernel >= 0) text += str("   {kernel=", node.kernel, "}");
    if (options.kernels && node.kernel == inlined) text += "   {inline}";
    if (options.kernels && node.padding.mask != no_node) text += str("   {steps of %", node.padding.mask, "}");
    if (node.kept) text += "   {kept}";
    const std::string origin = options.origins ? node.origin.text() : "";
    if (!origin.empty()) text += "   # " + origin;
    text += "\n";
    if (const auto* scan = std::get_if<Scan>(&node.op)) text += indented(to_text(scan->body.graph(), options));
  }
  if (!graph.outputs().empty()) {
    text += "  return ";
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) text += (i ? ", " : "") + names[graph.outputs()[i]];
    text += "\n";
  }
  for (std::size_t i = 0; i < graph.states().size(); ++i)
    if (graph.updates()[i] != no_node) {
      const NodeId scatter = graph.node(graph.state_node(i)).touched_by;
      text += str("  ", graph.states()[i].name, " <- ", names[graph.updates()[i]]);
      if (options.kernels && scatter != no_node) text += str("   {rows of ", names[scatter], "}");
      text += "\n";
    }
  return text;
}

std::string to_dot(const Graph& graph) {
  const auto names = printed_names(graph);
  std::string text = str("digraph \"", escaped(graph.name()), "\" {\n  node [shape=box, fontname=\"monospace\"];\n");
  std::map<std::int32_t, std::string> groups;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const std::string label = is_leaf(node.op) ? names[id] : str(name(node.op), "\\n", names[id]);
    groups[std::max(node.kernel, no_kernel)] +=
        str("    n", id, " [label=\"", escaped(label), "\\n", node.type, "\"", is_leaf(node.op) ? ", style=rounded" : "", "];\n");
  }
  for (const auto& [kernel, nodes] : groups) {
    if (kernel < 0) text += nodes;
    else text += str("  subgraph cluster_", kernel, " {\n    label=\"kernel ", kernel, "\";\n", nodes, "  }\n");
  }
  for (const NodeId id : graph.topological_order())
    for (const NodeId input : graph.node(id).inputs) text += str("  n", input, " -> n", id, ";\n");
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    text += str("  out", i, " [label=\"output ", i, "\", shape=ellipse];\n  n", graph.outputs()[i], " -> out", i, ";\n");
  for (std::size_t i = 0; i < graph.states().size(); ++i)
    if (graph.updates()[i] != no_node) text += str("  n", graph.updates()[i], " -> n", graph.state_node(i), " [style=dashed];\n");
  return text + "}\n";
}

}  // namespace sinter::ir
