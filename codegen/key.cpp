#include "codegen/key.h"

#include <llvm-c/Core.h>

#include "codegen/bytes.h"
#include "codegen/code_id.h"

namespace sinter::codegen {

namespace {

void add(Bytes& bytes, const ir::Node& node) {
  bytes.add(node.dead);
  if (node.dead) return;
  bytes.add(node.op);
  bytes.add(std::span<const ir::NodeId>(node.inputs));
  bytes.add(std::span<const ir::NodeId>(node.users));  // their order determines the order of kernels
  bytes.add(node.type);
  bytes.add(node.kernel);
  bytes.add(node.padding.mask);
  bytes.add(node.padding.anything);
  bytes.add(node.touched_by);
  bytes.add(node.kept);
}

}  // namespace

ObjectKey object_key(const ir::Graph& graph, const Options& options, std::string target) {
  Bytes source;
  // A new option does not compile here until it is known whether it changes the code.
  const auto& [tap, profile, target_name, dump_folder, perf_map, store, threads, share_code, checked, sabotage, fault] = options;
  source.add(tap);
  source.add(profile);
  source.add(share_code);
  source.add(checked);
  source.add(sabotage.kind);
  source.add(sabotage.at);
  source.add(sabotage.argument);
  source.add(std::string_view(fault));
  source.add(graph.size());
  for (ir::NodeId id = 0; id < graph.size(); ++id) add(source, graph.node(id));
  source.add(graph.inputs().size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    source.add(graph.inputs()[i].type);
    source.add(graph.inputs()[i].kind);
    source.add(graph.inputs()[i].unpadded);
    source.add(graph.input_node(i));
  }
  source.add(graph.states().size());
  for (std::size_t i = 0; i < graph.states().size(); ++i) {
    source.add(graph.states()[i].type);
    source.add(graph.state_node(i));
  }
  source.add(graph.outputs());
  source.add(graph.updates());
  return {source.take(), std::move(target), code_version()};
}

std::string code_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);  // of the library that is linked, which may not be the one that this was compiled with
  return str("LLVM ", major, ".", minor, ".", patch, ", Sinter ", code_id);
}

}  // namespace sinter::codegen
