#include "frontend/compile/training_parts.h"

#include <algorithm>
#include <numeric>

#include "ir/kernel.h"
#include "runtime/team.h"

namespace sinter {

namespace {

/// Marks the nodes that `ids` depend on, including these.
void mark(const ir::Graph& graph, std::vector<ir::NodeId> ids, std::vector<char>& reached) {
  while (!ids.empty()) {
    const ir::NodeId id = ids.back();
    ids.pop_back();
    if (reached[id]) continue;
    reached[id] = 1;
    ids.insert(ids.end(), graph.node(id).inputs.begin(), graph.node(id).inputs.end());
  }
}

/// Whether it reads rows of a data set.
bool gathers_data(const ir::Graph& graph, const ir::Node& node) {
  if (!std::holds_alternative<ir::GatherRows>(node.op)) return false;
  const auto inputs = graph.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (graph.input_node(i) == node.inputs[0]) return inputs[i].kind == ir::InputSpec::Kind::table;
  return false;
}

/// Whether the optimizer changes it: a trained parameter, or a state of its own, `adam/dense_1.weight/m`.
bool is_of_optimizer(const ir::StateSpec& state) { return state.trainable || state.name.find('/') != state.name.npos; }

double& of(ByPart<double>& values, TrainingPart part) { return values[static_cast<std::size_t>(part)]; }

}  // namespace

std::vector<TrainingPart> parts_of(const ir::Graph& step) {
  std::vector<char> in_loss(step.size()), in_gradients(step.size()), in_update(step.size()), in_states(step.size());
  if (!step.outputs().empty()) mark(step, {step.outputs()[0]}, in_loss);
  for (ir::NodeId id = 0; id < step.size(); ++id)
    if (!step.node(id).dead && !in_loss[id] && !step.node(id).origin.gradient_of.empty()) mark(step, {id}, in_gradients);
  for (std::size_t i = 0; i < step.updates().size(); ++i)
    if (step.updates()[i] != ir::no_node) mark(step, {step.updates()[i]}, is_of_optimizer(step.states()[i]) ? in_update : in_states);
  std::vector<TrainingPart> parts(step.size(), TrainingPart::forward);
  for (ir::NodeId id = 0; id < step.size(); ++id) {
    if (gathers_data(step, step.node(id))) parts[id] = TrainingPart::data;
    else if (in_loss[id]) parts[id] = TrainingPart::forward;
    else if (in_gradients[id]) parts[id] = TrainingPart::backward;
    else if (in_update[id]) parts[id] = TrainingPart::update;
    else if (!in_states[id]) parts[id] = TrainingPart::metrics;
  }
  return parts;
}

ByPart<ir::Cost> flops_by_part(const ir::Graph& step, std::span<const TrainingPart> parts) {
  ByPart<ir::Cost> flops;
  for (const ir::NodeId id : step.topological_order()) flops[static_cast<std::size_t>(parts[id])] += ir::flops(step, id);
  return flops;
}

std::vector<ByPart<double>> kernel_shares(const ir::Graph& step, std::span<const TrainingPart> parts, Sizes sizes) {
  std::vector<ByPart<double>> shares;
  std::vector<ByPart<double>> counts;  // of nodes, for kernels that the model thinks are free
  for (const ir::NodeId id : step.topological_order()) {
    const ir::Node& node = step.node(id);
    if (node.kernel < 0) continue;
    const auto kernel = static_cast<std::size_t>(node.kernel);
    if (kernel >= shares.size()) shares.resize(kernel + 1), counts.resize(kernel + 1);
    const auto is_outside = [&](ir::NodeId other) { return step.node(other).kernel != node.kernel; };
    ir::Cost bytes;
    for (const ir::NodeId input : node.inputs)
      if (is_outside(input)) bytes += ir::bytes(step.node(input).type);
    const bool is_kept = step.is_output(id) || std::any_of(node.users.begin(), node.users.end(), is_outside);
    if (is_kept || parts[id] == TrainingPart::data) bytes += ir::bytes(node.type);  // of a data set, so many rows are read
    of(counts[kernel], parts[id]) += 1;
    if (!ir::is_view(step, id)) of(shares[kernel], parts[id]) += runtime::one_core_seconds(ir::flops(step, id).at(sizes), bytes.at(sizes));
  }
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (std::accumulate(shares[k].begin(), shares[k].end(), 0.0) <= 0) shares[k] = counts[k];
    const double all = std::accumulate(shares[k].begin(), shares[k].end(), 0.0);
    for (double& share : shares[k]) share = all > 0 ? share / all : 0;
  }
  return shares;
}

}  // namespace sinter
