#include "frontend/core/grad.h"

#include <unordered_map>

#include "frontend/core/interpret.h"
#include "frontend/core/record_node.h"
#include "frontend/core/trace.h"
#include "ir/differentiate.h"

namespace sinter {

namespace {

/// A record copied into a graph, with the values that its nodes already have.
struct Copied {
  ir::Graph graph{"gradient"};
  std::vector<Tensor> values;                                  // by node id; empty for nodes still to be computed
  std::unordered_map<const Record*, ir::NodeId> nodes;         // of records
  std::unordered_map<const std::byte*, ir::NodeId> constants;  // of tensors without a record, by address
};

ir::NodeId add_leaf(Copied& copied, const Tensor& tensor) {
  const ir::NodeId id = copied.graph.add_input({str("v", copied.graph.inputs().size()), tensor.type(), ir::InputSpec::Kind::hidden}).id;
  copied.values.push_back(tensor);
  return id;
}

ir::NodeId constant_node(Copied& copied, const Tensor& tensor) {
  const auto [found, fresh] = copied.constants.try_emplace(tensor.buffer().data(), ir::no_node);
  if (fresh || copied.graph.node(found->second).type != tensor.type()) found->second = add_leaf(copied, tensor);
  return found->second;
}

/// Depth-first over the record with a stack of our own: records can be deep.
void copy_record(Copied& copied, const Tensor& loss) {
  struct Frame {
    const Tensor* tensor;
    std::size_t next = 0;
  };
  std::vector<Frame> stack{{&loss}};
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const Record* record = frame.tensor->record().get();
    if (copied.nodes.contains(record)) {
      stack.pop_back();
    } else if (record->cell) {
      copied.nodes[record] = add_leaf(copied, *frame.tensor);
      stack.pop_back();
    } else if (frame.next < record->inputs.size()) {
      const Tensor& input = record->inputs[frame.next++];
      if (input.record() && !copied.nodes.contains(input.record().get())) stack.push_back({&input});
    } else {
      std::vector<ir::NodeId> inputs;
      for (const Tensor& input : record->inputs)
        inputs.push_back(input.record() ? copied.nodes.at(input.record().get()) : constant_node(copied, input));
      copied.nodes[record] = copied.graph.add(record->op, inputs, Origin::from(record->where)).id;
      copied.values.push_back(*frame.tensor);
      stack.pop_back();
    }
  }
}

/// The leaves that are reads of these cells at their present versions.
std::vector<ir::Value> leaves_of(Copied& copied, std::span<const Parameter> parameters) {
  std::unordered_map<const Cell*, std::vector<ir::NodeId>> reads;
  for (const auto& [record, id] : copied.nodes)
    if (record->cell && record->version == record->cell->version) reads[record->cell.get()].push_back(id);
  std::vector<ir::Value> result;
  for (const Parameter& parameter : parameters) {
    const auto found = reads.find(parameter.cell().get());
    if (found == reads.end()) {
      result.push_back({});
      continue;
    }
    // Reads of one version are one value: the gradient belongs to their common leaf.
    for (const ir::NodeId other : found->second) copied.graph.replace_all_uses(other, found->second.front());
    result.push_back({&copied.graph, found->second.front()});
  }
  return result;
}

std::vector<Tensor> eager_gradients(const Tensor& loss, std::span<const Parameter> parameters) {
  Copied copied;
  copy_record(copied, loss);
  const ir::NodeId loss_node = copied.nodes.at(loss.record().get());
  ir::Values wrt = leaves_of(copied, parameters), present;
  for (const ir::Value v : wrt)
    if (v) present.push_back(v);
  const ir::Values found = ir::differentiate({&copied.graph, loss_node}, present);
  std::vector<ir::NodeId> outputs;
  for (const ir::Value v : found)
    if (v) outputs.push_back(v.id);
  copied.graph.set_outputs(outputs);
  copied.graph.erase_dead();
  interpret(copied.graph, copied.values, {});
  std::vector<Tensor> result;
  std::size_t next = 0;
  for (const ir::Value v : wrt) {
    const ir::Value gradient = v ? found[next++] : ir::Value{};
    result.push_back(gradient ? copied.values[gradient.id].detach() : Tensor());
  }
  return result;
}

std::vector<Tensor> traced_gradients(Trace& trace, const Tensor& loss, std::span<const Parameter> parameters, const std::source_location& where) {
  std::vector<Tensor> wrt;
  for (const Parameter& parameter : parameters) wrt.push_back(parameter.read());
  return trace.gradients(loss, wrt, where);
}

}  // namespace

std::vector<Tensor> grad(const Tensor& loss, std::span<const Parameter> parameters, GradOptions options, std::source_location where) {
  const std::string origin = Origin::from(where, current_layer()).text();
  if (loss.type() != Type{}) throw UserError(origin, str("grad needs a scalar f32 loss, got ", loss.type(), "; take its mean or sum first"));
  Trace* trace = Trace::current();
  if (!trace && !loss.record())
    throw UserError(origin,
                    "the loss was not computed from trainable parameters, so it has no gradient; was it detached or returned by a compiled step?");
  std::vector<Tensor> result = trace ? traced_gradients(*trace, loss, parameters, where) : eager_gradients(loss, parameters);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (!options.allow_unused)
      throw UserError(origin, str("the loss does not depend on parameter '", parameters[i].name(), "'; leave it out or pass {.allow_unused = true}"));
    result[i] = Tensor::zeros(parameters[i].type());
  }
  return result;
}

}  // namespace sinter
