// The gradient of a scan: the step is differentiated as a graph, and its gradient runs over the steps in the other direction.
#include <algorithm>

#include "ir/copy.h"
#include "ir/differentiate.h"
#include "ir/kernel.h"
#include "ir/scan.h"

namespace sinter::ir {

namespace {

/// A step with its gradient, by node, as the graph moves: the nodes of the body, then the seeds, then what differentiate made.
struct Differentiated {
  Graph graph{"step"};
  std::size_t forward = 0;             ///< nodes of the step itself
  std::vector<NodeId> of_body;         ///< by node of the body
  std::vector<std::size_t> with_seed;  ///< numbers of outputs
  std::vector<NodeId> seeds;           ///< their leaves
  std::vector<NodeId> gradients;       ///< of the inputs; no_node for none
};

Differentiated differentiate_step(const Graph& body, const std::vector<char>& has_seed) {
  Differentiated d;
  Copy copy(body, d.graph);
  copy.add_inputs();
  copy.add_all(body.outputs());
  Values inputs;
  for (std::size_t i = 0; i < body.inputs().size(); ++i) inputs.push_back(copy[body.input_node(i)]);
  for (NodeId id = 0; id < body.size(); ++id) d.of_body.push_back(copy[id] ? copy[id].id : no_node);
  d.forward = d.graph.size();
  Values outputs, seeds;
  for (std::size_t i = 0; i < body.outputs().size(); ++i) {
    if (!has_seed[i]) continue;
    outputs.push_back(copy[body.outputs()[i]]);
    seeds.push_back(d.graph.add_input({str("d", i), outputs.back().type(), InputSpec::Kind::hidden}));
    d.with_seed.push_back(i);
    d.seeds.push_back(seeds.back().id);
  }
  for (const Value gradient : differentiate(outputs, seeds, inputs)) d.gradients.push_back(gradient.id);
  return d;
}

/// With seeds for the carries too through which a later step's loss depends on an earlier one.
Differentiated differentiate_steps(const Graph& body, std::size_t carries, std::vector<char> has_seed) {
  for (;;) {
    Differentiated d = differentiate_step(body, has_seed);
    bool more = false;
    for (std::size_t k = 0; k < carries; ++k)
      if (d.gradients[k] != no_node && !has_seed[k]) {
        has_seed[k] = 1;
        more = true;
      }
    if (!more) return d;
  }
}

/// Whether a value is better kept than computed again.
bool is_costly(const Op& op) {
  const auto is_function = []<class O>(const O&) {
    return std::is_same_v<O, Sigmoid> || std::is_same_v<O, Tanh> || std::is_same_v<O, Exp> || std::is_same_v<O, Exp2> || std::is_same_v<O, Expm1> ||
           std::is_same_v<O, Log> || std::is_same_v<O, Log1p> || std::is_same_v<O, Pow> || std::is_same_v<O, Sin> || std::is_same_v<O, Cos> ||
           std::is_same_v<O, Erf>;
  };
  return is_anchor(op) || std::visit(is_function, op);
}

/// Which nodes of a step are kept for its gradient; what else that reads is computed again from them.
class Kept {
 public:
  /// `wanted`: nodes of the gradient.
  Kept(const Differentiated& d, std::size_t carries, std::size_t sequences, Dim samples, std::span<const NodeId> wanted)
      : d_(d), part_(step_parts(d.graph, carries, sequences, samples)), kept_(d.graph.size()) {
    const std::vector<char> needed = needed_nodes(d.graph, wanted);
    std::vector<char> read(d.forward);
    for (const NodeId id : wanted)
      if (id < d.forward) read[id] = 1;
    for (NodeId id = static_cast<NodeId>(d.forward); id < d.graph.size(); ++id)
      if (needed[id])
        for (const NodeId input : d.graph.node(id).inputs)
          if (input < d.forward) read[input] = 1;
    for (NodeId id = 0; id < d.forward; ++id)
      if (read[id] && must_keep(id)) kept_[id] = 1;
    for (NodeId id = 0; id < d.forward; ++id) {
      if (!read[id] || kept_[id]) continue;
      const std::vector<NodeId> from = needs(id);
      double elements = 0;
      for (const NodeId other : from) elements += elements_of(other);
      if (from.empty()) continue;
      if (elements >= elements_of(id)) kept_[id] = 1;
      else
        for (const NodeId other : from) kept_[other] = 1;
    }
  }

  std::vector<NodeId> list() const {
    std::vector<NodeId> ids;
    for (NodeId id = 0; id < kept_.size(); ++id)
      if (kept_[id]) ids.push_back(id);
    return ids;
  }

 private:
  double elements_of(NodeId id) const { return static_cast<double>(d_.graph.node(id).type.shape.elements().factor()); }
  /// What is the same for all steps is there anyway, and so are the elements of sequences.
  bool is_there(NodeId id) const { return part_[id] == StepPart::invariant || (is_leaf(d_.graph.node(id).op) && part_[id] == StepPart::sequence); }
  bool must_keep(NodeId id) const { return !is_there(id) && (is_leaf(d_.graph.node(id).op) || is_costly(d_.graph.node(id).op)); }
  /// What would have to be kept so that the node can be computed again.
  std::vector<NodeId> needs(NodeId id) const {
    std::vector<NodeId> result, stack{id};
    std::vector<char> seen(d_.forward);
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      if (seen[at] || kept_[at] || is_there(at)) continue;
      seen[at] = 1;
      if (must_keep(at)) result.push_back(at);
      else stack.insert(stack.end(), d_.graph.node(at).inputs.begin(), d_.graph.node(at).inputs.end());
    }
    return result;
  }

  const Differentiated& d_;
  std::vector<StepPart> part_;
  std::vector<char> kept_;
};

/// The scan with these nodes of its step as further outputs; returns each of them over all steps, [N, length, ...].
Values keep(Value scan, const Differentiated& d, std::span<const NodeId> nodes, Dim samples) {
  Graph& graph = *scan.graph;
  Scan op = std::get<Scan>(graph.node(scan.id).op);
  const std::vector<NodeId> operands = graph.node(scan.id).inputs;
  const Graph& body = op.body.graph();
  Graph with(body.name());
  Copy copy(body, with);
  copy.add_inputs();
  copy.add_all(body.outputs());
  std::vector<NodeId> outputs;
  for (const NodeId id : body.outputs()) outputs.push_back(copy[id].id);
  std::vector<std::size_t> result;
  for (const NodeId id : nodes) {
    const auto of = static_cast<NodeId>(std::find(d.of_body.begin(), d.of_body.end(), id) - d.of_body.begin());
    if (const Shape& shape = copy[of].shape(); shape.rank() == 0 || !quotient(shape[0], samples))
      throw UserError(body.node(of).origin.text(),
                      str("scan: the gradient needs ", name(body.node(of).op), ": ", body.node(of).type, " of each step, which has no dimension of ",
                          samples, " samples; compute what is of the whole batch before or after the scan"));
    const NodeId value = reshape(copy[of], element_of(copy[of].shape(), samples)).id;
    const auto found = std::find(outputs.begin() + op.carries, outputs.end(), value);
    result.push_back(static_cast<std::size_t>(found - outputs.begin()));
    if (found == outputs.end()) outputs.push_back(value);
  }
  if (outputs.size() > body.outputs().size()) {
    with.set_outputs(outputs);
    op.body = Body(with);
    scan = graph.add(op, operands, graph.origin());
  }
  Values values;
  for (const std::size_t index : result) values.push_back(scan_result(scan, index));
  return values;
}

}  // namespace

Values scan_gradients(Value scan, const Values& gradients_of_results) {
  Graph& graph = *scan.graph;
  const Scan op = std::get<Scan>(graph.node(scan.id).op);
  const std::vector<NodeId> operands = graph.node(scan.id).inputs;
  const std::size_t carries = op.carry_count(), sequences = op.sequence_count();
  const Dim samples = samples_of(op.body.graph(), carries, sequences);
  std::vector<char> has_seed;
  for (const Value gradient : gradients_of_results) has_seed.push_back(bool(gradient));
  Differentiated d = differentiate_steps(op.body.graph(), carries, std::move(has_seed));

  const auto gradient_of = [&](std::size_t operand) {
    return d.gradients[operand] != no_node && is_float(d.graph.inputs()[operand].type.dtype) ? d.graph.value(d.gradients[operand]) : Value{};
  };
  // The carries of the gradient are the gradients of the carries; its step makes each of that of the step after it.
  std::vector<std::size_t> active;
  for (const std::size_t output : d.with_seed)
    if (output < carries) active.push_back(output);
  std::vector<NodeId> next, of_sequences, of_others;
  for (const std::size_t k : active)
    next.push_back((gradient_of(k) ? gradient_of(k) : broadcast(constant(d.graph, 0), d.graph.inputs()[k].type.shape)).id);
  for (std::size_t i = carries; i < operands.size(); ++i)
    if (const Value gradient = gradient_of(i)) (i < carries + sequences ? of_sequences : of_others).push_back(gradient.id);
  std::vector<NodeId> wanted(next);
  wanted.insert(wanted.end(), of_sequences.begin(), of_sequences.end());
  wanted.insert(wanted.end(), of_others.begin(), of_others.end());
  if (wanted.empty()) return Values(operands.size());  // what the loss depends on is whole numbers, say
  const std::vector<NodeId> kept = Kept(d, carries, sequences, samples, wanted).list();

  // The step of the gradient: its carries, then sequences (seeds, what was kept, the scan's own), then what is the same for all steps.
  Graph step("step");
  Copy copy(d.graph, step);
  Values first, over_steps, others;
  for (std::size_t s = 0; s < d.seeds.size(); ++s) {
    const std::size_t output = d.with_seed[s];
    if (output >= carries) continue;
    copy.set(d.seeds[s], step.add_input(d.graph.inputs()[operands.size() + s]));
    const Value given = gradients_of_results[output];
    first.push_back(given ? given : broadcast(constant(graph, 0), d.graph.node(d.seeds[s]).type.shape));
  }
  for (std::size_t s = 0; s < d.seeds.size(); ++s) {
    if (d.with_seed[s] < carries) continue;
    copy.set(d.seeds[s], step.add_input(d.graph.inputs()[operands.size() + s]));
    over_steps.push_back(gradients_of_results[d.with_seed[s]]);
  }
  const Values values = keep(scan, d, kept, samples);
  std::vector<Value> elements;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Type type{d.graph.node(kept[i]).type.dtype, element_of(d.graph.node(kept[i]).type.shape, samples)};
    elements.push_back(step.add_input({str("kept_", i), type, InputSpec::Kind::hidden}));
    over_steps.push_back(values[i]);
  }
  for (std::size_t i = carries; i < operands.size(); ++i) {
    copy.set(d.graph.input_node(i), step.add_input(d.graph.inputs()[i]));
    (i < carries + sequences ? over_steps : others).push_back({&graph, operands[i]});
  }
  for (std::size_t i = 0; i < kept.size(); ++i) copy.set(kept[i], reshape(elements[i], d.graph.node(kept[i]).type.shape));
  copy.add_all(wanted);
  const auto in_step = [&](const std::vector<NodeId>& ids) {
    std::vector<NodeId> result;
    for (const NodeId id : ids) result.push_back(copy[id].id);
    return result;
  };
  const ScanValues made =
      add_scan(graph, {step, first, over_steps, others, op.length, !op.reverse}, {in_step(next), in_step(of_sequences), in_step(of_others)});

  Values result(operands.size());
  for (std::size_t i = 0; i < active.size(); ++i) result[active[i]] = made.last[i];
  std::size_t next_sequence = 0, next_other = 0;
  for (std::size_t i = carries; i < operands.size(); ++i)
    if (gradient_of(i)) result[i] = i < carries + sequences ? made.stacked[next_sequence++] : made.summed[next_other++];
  return result;
}

}  // namespace sinter::ir
