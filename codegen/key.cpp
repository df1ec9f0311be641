#include "codegen/key.h"

#include <llvm-c/Core.h>

#include <type_traits>

#include "codegen/code_id.h"

namespace sinter::codegen {

namespace {

/// Numbers as in memory, texts and lists after their length: no two sequences of calls give the same bytes.
class Bytes {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
  }
  void add(Dim dim) {
    add(dim.is_batch() ? 'N' : dim.is_rows() ? 'R' : ' ');
    add(dim.factor());
  }
  void add(const Shape& shape) {
    add(shape.rank());
    for (const Dim dim : shape) add(dim);
  }
  void add(const Type& type) {
    add(type.dtype);
    add(type.shape);
  }
  void add(std::span<const ir::NodeId> ids) {
    add(ids.size());
    for (const ir::NodeId id : ids) add(id);
  }
  void add(const ir::Node& node) {
    add(node.dead);
    if (node.dead) return;
    add(ir::name(node.op));
    const ir::Attributes attributes = ir::attributes(node.op);
    add(attributes.size());
    for (const auto& [name, value] : attributes) {
      add(std::string_view(name));
      add(value.index());
      std::visit([&](const auto& v) { add(v); }, value);
    }
    add(std::span<const ir::NodeId>(node.inputs));
    add(std::span<const ir::NodeId>(node.users));  // their order determines the order of kernels
    add(node.type);
    add(node.kernel);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

ObjectKey object_key(const ir::Graph& graph, const Options& options, std::string target) {
  Bytes source;
  // A new option does not compile here until it is known whether it changes the code.
  const auto& [tap, profile, target_name, dump_folder, perf_map, store, threads, checked, sabotage, fault] = options;
  source.add(tap);
  source.add(profile);
  source.add(perf_map);
  source.add(checked);
  source.add(sabotage.kind);
  source.add(sabotage.at);
  source.add(sabotage.argument);
  source.add(std::string_view(fault));
  source.add(graph.size());
  for (ir::NodeId id = 0; id < graph.size(); ++id) source.add(graph.node(id));
  source.add(graph.inputs().size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    source.add(graph.inputs()[i].type);
    source.add(graph.inputs()[i].kind);
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
