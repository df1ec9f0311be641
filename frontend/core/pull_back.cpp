#include "frontend/core/pull_back.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontend/core/grad.h"
#include "frontend/core/interpret.h"
#include "frontend/core/ops.h"
#include "frontend/core/record_node.h"
#include "frontend/core/trace.h"
#include "ir/differentiate.h"

namespace sinter {

namespace {

/// The identity of a record's value. Records of the same read, gradient or result are one value.
using Key = std::pair<const void*, std::uint64_t>;

struct KeyHash {
  std::size_t operator()(const Key& key) const { return std::hash<const void*>()(key.first) ^ (key.second * 0x9e3779b97f4a7c15u); }
};

Key key_of(const Record& record) {
  if (const auto* read = std::get_if<Record::Read>(&record.how)) return {read->cell.get(), read->version};
  if (const auto* gradient = std::get_if<Record::Gradient>(&record.how)) return {gradient->of.get(), gradient->index};
  if (const auto* custom = std::get_if<Record::Custom>(&record.how)) return {custom->call.get(), custom->result};
  return {&record, 0};
}

std::span<const Tensor> made_of(const Record& record, bool through_custom) {
  if (const auto* applied = std::get_if<Record::Applied>(&record.how)) return applied->inputs;
  if (const auto* gradient = std::get_if<Record::Gradient>(&record.how)) return gradient->of->tensors;
  if (const auto* custom = std::get_if<Record::Custom>(&record.how); custom && through_custom) return custom->call->inputs;
  return {};
}

/// Calls visit(tensor) for each tensor with a record that the roots depend on, including the roots, in topological order, each value once.
/// Uses an explicit stack: records can be deep.
template <class Visit>
void walk(std::span<const Tensor> roots, bool through_custom, std::unordered_set<Key, KeyHash>& visited, Visit visit) {
  struct Frame {
    const Tensor* tensor;
    Key key;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](const Tensor& tensor) {
    if (const Record* record = tensor.record().get())
      if (const Key key = key_of(*record); !visited.contains(key)) stack.push_back({&tensor, key});
  };
  for (const Tensor& root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto inputs = made_of(*frame.tensor->record().get(), through_custom);
      if (frame.next < inputs.size()) {
        enter(inputs[frame.next++]);
      } else {
        if (visited.insert(frame.key).second) visit(*frame.tensor);
        stack.pop_back();
      }
    }
  }
}

/// Records as a graph, with the values that its nodes already have. Everything but ops and gradients is a leaf.
class RecordedGraph {
 public:
  RecordedGraph() : graph_("gradient") {}

  ir::Value value_of(const Tensor& tensor) {
    if (!tensor.record()) return constant(tensor);
    walk({&tensor, 1}, false, visited_, [&](const Tensor& t) { nodes_[key_of(*t.record().get())] = add(t); });
    return graph_.value(nodes_.at(key_of(*tensor.record().get())));
  }
  ir::Values values_of(std::span<const Tensor> tensors) {
    ir::Values result;
    for (const Tensor& tensor : tensors) result.push_back(value_of(tensor));
    return result;
  }
  ir::Values gradients(const Pullback& of) {
    return ir::differentiate(values_of(of.all().first(of.outputs)), values_of(of.seeds()), values_of(of.wrt()));
  }
  /// Computes these; undefined for empty values.
  std::vector<Tensor> evaluate(const ir::Values& wanted) {
    std::vector<ir::NodeId> outputs;
    for (const ir::Value v : wanted)
      if (v) outputs.push_back(v.id);
    graph_.set_outputs(outputs);
    graph_.erase_dead();
    interpret(graph_, known_, {});
    std::vector<Tensor> result;
    for (const ir::Value v : wanted) result.push_back(v ? known_[v.id] : Tensor());
    return result;
  }

 private:
  ir::NodeId add(const Tensor& tensor) {
    const auto& how = tensor.record()->how;
    ir::NodeId id = ir::no_node;
    if (const auto* applied = std::get_if<Record::Applied>(&how)) {
      std::vector<ir::NodeId> inputs;
      for (const Tensor& input : applied->inputs) inputs.push_back(input.record() ? nodes_.at(key_of(*input.record().get())) : constant(input).id);
      id = graph_.add(applied->op, inputs, Origin::from(applied->where)).id;
    } else if (const auto* gradient = std::get_if<Record::Gradient>(&how)) {
      const auto [found, fresh] = gradients_.try_emplace(gradient->of.get());
      if (fresh) found->second = gradients(*gradient->of);
      id = found->second[gradient->index].id;
    } else {
      return leaf(tensor);
    }
    known_.resize(graph_.size());
    if (!known_[id].defined()) known_[id] = tensor.detach();
    return id;
  }

  ir::NodeId leaf(const Tensor& tensor) {
    const ir::NodeId id = graph_.add_input({str("v", graph_.inputs().size()), tensor.type(), ir::InputSpec::Kind::hidden}).id;
    known_.resize(graph_.size());
    known_[id] = tensor.detach();
    return id;
  }

  ir::Value constant(const Tensor& tensor) {
    const auto [found, fresh] = constants_.try_emplace(tensor.buffer().data(), ir::no_node);
    if (fresh || graph_.node(found->second).type != tensor.type()) found->second = leaf(tensor);
    return graph_.value(found->second);
  }

  ir::Graph graph_;
  std::vector<Tensor> known_;  ///< by node id; empty for nodes still to be computed
  std::unordered_set<Key, KeyHash> visited_;
  std::unordered_map<Key, ir::NodeId, KeyHash> nodes_;
  std::unordered_map<const Pullback*, ir::Values> gradients_;
  std::unordered_map<const std::byte*, ir::NodeId> constants_;  ///< of tensors without a record, by address
};

/// The gradients that do not pass through results of custom calls, with records.
std::vector<Tensor> pull_back_ops(std::span<const Tensor> outputs, std::span<const Tensor> seeds, std::span<const Tensor> wrt) {
  auto of = std::make_shared<Pullback>();
  for (const auto& list : {outputs, seeds, wrt}) of->tensors.insert(of->tensors.end(), list.begin(), list.end());
  of->outputs = outputs.size();
  RecordedGraph graph;
  std::vector<Tensor> result = graph.evaluate(graph.gradients(*of));
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result[i].defined()) result[i] = Tensor(result[i], make_record(Record::Gradient{of, i}));
  return result;
}

/// The calls whose results the tensors depend on, each after those that it depends on.
std::vector<std::shared_ptr<const CustomCall>> custom_calls(std::span<const Tensor> tensors) {
  std::vector<std::shared_ptr<const CustomCall>> calls;
  std::unordered_set<Key, KeyHash> visited;
  walk(tensors, true, visited, [&](const Tensor& tensor) {
    const auto* custom = std::get_if<Record::Custom>(&tensor.record()->how);
    if (custom && std::find(calls.begin(), calls.end(), custom->call) == calls.end()) calls.push_back(custom->call);
  });
  return calls;
}

/// The results with the records that they were given.
std::vector<Tensor> recorded_results(const std::shared_ptr<const CustomCall>& call) {
  std::vector<Tensor> results;
  for (const Tensor& result : call->results) {
    const bool is_recorded = is_float(result.dtype());
    results.emplace_back(result, is_recorded ? make_record(Record::Custom{call, results.size()}) : RecordRef());
  }
  return results;
}

void add_to(Tensor& total, const Tensor& term) {
  if (term.defined()) total = total.defined() ? total + term : term;
}

}  // namespace

std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> seeds, std::span<const Tensor> wrt) {
  std::vector<std::shared_ptr<const CustomCall>> calls = custom_calls(outputs);
  if (calls.empty()) return pull_back_ops(outputs, seeds, wrt);
  // The requested tensors, then the results of the calls: their gradients are complete when everything that depends on them was processed.
  std::vector<Tensor> targets(wrt.begin(), wrt.end());
  for (const auto& call : calls)
    for (const Tensor& result : recorded_results(call))
      if (result.record()) targets.push_back(result);
  std::vector<Tensor> totals(targets.size());
  const auto add = [&](const std::vector<Tensor>& terms) {
    for (std::size_t i = 0; i < terms.size(); ++i) add_to(totals[i], terms[i]);
  };
  add(pull_back_ops(outputs, seeds, targets));
  for (; !calls.empty(); calls.pop_back()) {
    const CustomCall& call = *calls.back();
    const std::vector<Tensor> results = recorded_results(calls.back());
    const std::size_t count =
        static_cast<std::size_t>(std::count_if(results.begin(), results.end(), [](const Tensor& t) { return bool(t.record()); }));
    std::span<const Tensor> found = std::span(totals).last(count);
    if (std::any_of(found.begin(), found.end(), [](const Tensor& t) { return t.defined(); })) {
      std::vector<Tensor> gradients;
      for (const Tensor& result : results) {
        const Tensor gradient = result.record() ? found.front() : Tensor();
        if (result.record()) found = found.subspan(1);
        gradients.push_back(gradient.defined() ? gradient : Tensor::zeros(result.type()));
      }
      const std::vector<Tensor> by_input = call.rule(call.inputs, results, gradients);
      std::vector<Tensor> next, next_seeds;
      for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (!call.inputs[i].record() || !by_input.at(i).defined()) continue;
        next.push_back(call.inputs[i]);
        next_seeds.push_back(by_input[i]);
      }
      targets.resize(targets.size() - count), totals.resize(totals.size() - count);
      add(pull_back_ops(next, next_seeds, targets));
    } else {
      targets.resize(targets.size() - count), totals.resize(totals.size() - count);
    }
  }
  return totals;
}

std::vector<Tensor> with_gradient(std::span<const Tensor> inputs, std::vector<Tensor> results, GradientRule rule) {
  if (Trace::current()) throw InternalError("with_gradient", "is for eager functions");
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return bool(t.record()); })) return results;
  for (Tensor& result : results) result = result.detach();
  return recorded_results(std::make_shared<CustomCall>(CustomCall{{inputs.begin(), inputs.end()}, std::move(results), std::move(rule)}));
}

}  // namespace sinter
