#include "ir/scan.h"

#include <algorithm>
#include <optional>

#include "ir/copy.h"
#include "ir/kernel.h"

namespace sinter::ir {

namespace {

/// Whether a value has one row or more for each of N samples. Of a fixed number of samples it is unknown whether a dimension is that number by
/// chance.
bool leads(const Shape& shape, Dim samples) { return shape.rank() && samples.is_batch() && shape[0].is_batch(); }

/// Whether each sample of a node depends on the same sample of this operand alone.
bool reads_own(const Graph& step, NodeId id, std::size_t operand) {
  return reads_own_samples(access_of(step, id), operand, step.node(step.node(id).inputs[operand]).type.shape);
}

bool is_source(const Op& op) { return std::holds_alternative<Constant>(op) || std::holds_alternative<Extent>(op); }

/// The shape of a value over all steps, [k·N·length, ...] of [k·N, ...]; nothing if a length would occur twice.
std::optional<Shape> over_steps(const Shape& shape, Dim length) {
  const std::optional<Dim> rows = product(shape[0], length);
  if (!rows || (length.is_length() && shape.has_length())) return std::nullopt;
  return shape.with(0, *rows);
}

/// The same; throws UserError if a length would occur twice.
Shape all_steps(const Shape& shape, Dim length) { return shape.with(0, shape[0] * length); }

/// The op on all steps together.
Op op_over_steps(const Op& op, Dim samples, Dim length) {
  const auto widen = [&]<class T>(T& member) {
    if constexpr (std::is_same_v<T, Shape>)
      if (leads(member, samples)) member = all_steps(member, length);
  };
  return std::visit(
      [&]<class O>(O o) -> Op {
        std::apply([&](const auto&... f) { (widen(o.*(f.member)), ...); }, O::fields);
        return o;
      },
      op);
}

class LoopBuilder {
 public:
  LoopBuilder(Graph& graph, const StepCall& call, const StepResults& results)
      : graph_(graph),
        call_(call),
        step_(call.step),
        results_(results),
        size_(step_.size()),
        outside_(step_, graph),
        body_("step"),
        inside_(step_, body_) {
    samples_ = samples_of(step_, call.carries.size(), call.sequences.size());
    part_ = step_parts(step_, call.carries.size(), call.sequences.size(), samples_);
    std::vector<NodeId> wanted(results.next);
    wanted.insert(wanted.end(), results.stacked.begin(), results.stacked.end());
    wanted.insert(wanted.end(), results.summed.begin(), results.summed.end());
    const std::vector<char> needed = needed_nodes(step_, wanted);
    for (const NodeId id : step_.topological_order())
      if (needed[id]) order_.push_back(id);
  }

  ScanValues run() {
    if (samples_.is_batch())
      for (const NodeId id : results_.next) require_samples(id, "a carry");
    for (const NodeId id : results_.stacked) require_samples(id, "an output");
    choose();
    place_leaves();
    for (const NodeId id : order_)
      if (need_outside_[id] && part_[id] != StepPart::mixed && !outside_[id] && !is_in_loop(id)) add_outside(id);
    add_loop();
    for (const NodeId id : order_)
      if (need_outside_[id] && !outside_[id] && !is_in_loop(id)) add_outside(id);
    ScanValues values{last_, {}, {}};
    for (const NodeId id : results_.stacked) values.stacked.push_back(stacked(id));
    for (std::size_t i = 0; i < results_.summed.size(); ++i) values.summed.push_back(summed(i));
    return values;
  }

 private:
  const Shape& shape(NodeId id) const { return step_.node(id).type.shape; }
  std::size_t inner_inputs() const { return call_.carries.size() + call_.sequences.size(); }
  bool is_leaf_of_step(NodeId id) const { return is_leaf(step_.node(id).op); }
  /// The number of the step's input; only for leaves.
  std::size_t input_number(NodeId id) const { return static_cast<std::size_t>(std::get<Input>(step_.node(id).op).index); }

  void require_samples(NodeId id, std::string_view what) const {
    if (part_[id] != StepPart::mixed && shape(id).rank() && shape(id)[0] == samples_) return;
    // The first node on the way that mixes them.
    NodeId at = id;
    for (bool deeper = part_[id] == StepPart::mixed; deeper;) {
      deeper = false;
      for (const NodeId input : step_.node(at).inputs)
        if (part_[input] == StepPart::mixed) {
          at = input;
          deeper = true;
          break;
        }
    }
    const Node& node = step_.node(at);
    throw UserError(node.origin.text(), str("scan: ", what, " has a value for each sample, which depends on that sample alone, but ", name(node.op),
                                            ": ", node.type, part_[at] == StepPart::mixed ? " mixes samples" : " has none for each",
                                            "; compute what is of the whole batch before or after the scan"));
  }

  /// Which nodes are computed for all steps together, and which in the loop.
  void choose() {
    can_fold_.assign(size_, 0);
    materialized_.assign(size_, 0);
    is_constant_.assign(size_, 0);
    for (const NodeId id : order_) {
      const Node& node = step_.node(id);
      const bool of_constants = std::all_of(node.inputs.begin(), node.inputs.end(), [&](NodeId input) { return is_constant_[input] != 0; });
      is_constant_[id] = is_source(node.op) || (is_elementwise(node.op) && node.type.shape.is_scalar() && of_constants);
    }
    std::vector<std::size_t> uses(size_);
    for (const NodeId id : order_)
      for (const NodeId input : step_.node(id).inputs) ++uses[input];
    for (const NodeId id : results_.next) ++uses[id];
    for (const NodeId id : results_.stacked) ++uses[id];
    for (const NodeId id : order_) {
      if (part_[id] != StepPart::sequence) continue;
      const std::vector<NodeId>& inputs = step_.node(id).inputs;
      const auto folds = [&](NodeId input) {
        return part_[input] == StepPart::invariant ? !leads(shape(input), samples_) || over_steps(shape(input), call_.length) : can_fold_[input] != 0;
      };
      if (!leads(shape(id), samples_) || std::holds_alternative<ScanResult>(step_.node(id).op)) continue;
      can_fold_[id] = over_steps(shape(id), call_.length) && std::all_of(inputs.begin(), inputs.end(), folds);
      if (!can_fold_[id] || is_leaf_of_step(id)) continue;
      // What follows a product replaces it, where nothing else reads that.
      const auto is_only_reader_of = [&](NodeId input) { return materialized_[input] && uses[input] == 1 && shape(input) == shape(id); };
      const auto is_small = [&](NodeId input) { return part_[input] == StepPart::invariant && !leads(shape(input), samples_); };
      const auto follows = [&] {
        return is_pointwise(step_.node(id).op) && std::any_of(inputs.begin(), inputs.end(), is_only_reader_of) &&
               std::all_of(inputs.begin(), inputs.end(), [&](NodeId input) { return is_only_reader_of(input) || is_small(input); });
      };
      materialized_[id] = is_anchor(step_.node(id).op) || follows();
    }
    need_outside_.assign(size_, 0);
    need_inside_.assign(size_, 0);
    stacked_.assign(size_, 0);
    for (const NodeId id : results_.next) need_inside_[id] = 1;
    for (const NodeId id : results_.stacked) need_outside_[id] = 1;
    for (const NodeId id : results_.summed) (is_in_loop(id) ? need_inside_ : need_outside_)[id] = 1;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const std::vector<NodeId>& inputs = step_.node(*id).inputs;
      if (need_outside_[*id] && is_in_loop(*id)) need_inside_[*id] = stacked_[*id] = 1;
      if (need_inside_[*id] && enters(*id)) need_outside_[*id] = 1;
      for (const NodeId input : inputs) {
        if (need_inside_[*id] && !enters(*id)) need_inside_[input] = 1;
        if (need_outside_[*id] && !is_in_loop(*id)) need_outside_[input] = 1;
      }
    }
  }
  /// Whether the loop computes it even where it is wanted outside.
  bool is_in_loop(NodeId id) const { return part_[id] == StepPart::carry || (part_[id] == StepPart::sequence && !can_fold_[id]); }
  /// Whether the loop gets it from outside.
  bool enters(NodeId id) const {
    if (is_leaf_of_step(id)) return false;
    return part_[id] == StepPart::invariant ? !is_constant_[id] : materialized_[id] != 0;
  }

  // ---- outside of the loop: invariants once, all else over all steps ----
  Value operand(NodeId leaf) const {
    const std::size_t i = input_number(leaf);
    if (i < call_.carries.size()) return call_.carries[i];
    if (i < inner_inputs()) return call_.sequences[i - call_.carries.size()];
    return call_.others[i - inner_inputs()];
  }
  void place_leaves() {
    for (const NodeId id : order_)
      if (is_leaf_of_step(id) && part_[id] == StepPart::invariant) outside_.set(id, operand(id));
      else if (is_leaf_of_step(id) && part_[id] == StepPart::sequence && can_fold_[id]) outside_.set(id, folded(operand(id), shape(id)));
  }
  /// [k·N·length, ...] of [N, length, ...].
  Value folded(Value sequence, const Shape& element) const {
    const OriginScope scope(graph_, graph_.node(sequence.id).origin);
    return reshape(sequence, all_steps(element, call_.length));
  }
  /// [N, length, ...] of [k·N·length, ...], for elements [N, ...].
  Value unfolded(Value all, const Shape& element) const { return reshape(all, stacked_shape(element, call_.length)); }
  Shape element_shape(NodeId id) const { return element_of(shape(id), samples_); }
  /// What is the same for all steps, with N, once for each of them.
  Value repeated(Value once, const Shape& of) const {
    const Shape element = element_of(of, samples_);
    return reshape(broadcast(reshape(once, element.insert(1, 1)), stacked_shape(element, call_.length)), all_steps(of, call_.length));
  }

  void add_outside(NodeId id) {
    if (is_in_loop(id)) throw InternalError("scan", str("node ", id, " is in the loop"));
    const Node& node = step_.node(id);
    if (part_[id] == StepPart::invariant) {
      outside_.add(id);
      return;
    }
    // An operand that is the same for all steps but has N is repeated.
    const OriginScope scope(graph_, node.origin);
    std::vector<std::pair<NodeId, Value>> once;
    for (const NodeId input : node.inputs) {
      if (part_[input] != StepPart::invariant || !leads(shape(input), samples_)) continue;
      once.emplace_back(input, outside_[input]);
      outside_.set(input, repeated(outside_[input], shape(input)));
    }
    outside_.add(id, op_over_steps(node.op, samples_, call_.length));
    for (const auto& [input, value] : once) outside_.set(input, value);
  }

  // ---- the loop ----
  void add_loop() {
    std::vector<NodeId> sums;
    for (const NodeId id : results_.summed)
      if (is_in_loop(id)) sums.push_back(id);
    const bool any = !results_.next.empty() || !sums.empty() || std::find(stacked_.begin(), stacked_.end(), 1) != stacked_.end();
    if (!any) return;
    Values carries, sequences, others;
    // The inputs of a body: carries, sequences, others.
    for (std::size_t i = 0; i < call_.carries.size(); ++i) {
      inside_.set(step_.input_node(i), add_input(step_.inputs()[i].name, step_.inputs()[i].type));
      carries.push_back(call_.carries[i]);
    }
    Values totals;
    for (const NodeId id : sums) {
      totals.push_back(add_input(str("sum_", totals.size()), step_.node(id).type));
      carries.push_back(broadcast(constant(graph_, 0), shape(id)));
    }
    const auto add_sequence = [&](NodeId id, std::string name, Value all) {
      const Shape element = element_shape(id);
      const Value leaf = add_input(std::move(name), {step_.node(id).type.dtype, element});
      sequences.push_back(all.shape() == stacked_shape(element, call_.length) ? all : unfolded(all, element));
      reshaped_.emplace_back(id, leaf);
    };
    for (const NodeId id : order_)
      if (need_inside_[id] && part_[id] == StepPart::sequence && (is_leaf_of_step(id) || enters(id)))
        add_sequence(id, is_leaf_of_step(id) ? step_.inputs()[input_number(id)].name : str("sequence_", sequences.size()),
                     is_leaf_of_step(id) ? operand(id) : outside_[id]);
    for (const NodeId id : order_)
      if (need_inside_[id] && part_[id] == StepPart::invariant && (is_leaf_of_step(id) || enters(id))) {
        inside_.set(id,
                    add_input(is_leaf_of_step(id) ? step_.inputs()[input_number(id)].name : str("invariant_", others.size()), step_.node(id).type));
        others.push_back(outside_[id]);
      }
    for (const auto& [id, leaf] : reshaped_) inside_.set(id, reshape(leaf, shape(id)));
    for (const NodeId id : order_)
      if (need_inside_[id] && !inside_[id]) inside_.add(id);

    for (const NodeId id : results_.next) body_.add_output(inside_[id]);
    for (std::size_t i = 0; i < sums.size(); ++i) body_.add_output(totals[i] + inside_[sums[i]]);
    std::vector<NodeId> stacks;
    for (const NodeId id : order_)
      if (stacked_[id]) {
        body_.add_output(reshape(inside_[id], element_shape(id)));
        stacks.push_back(id);
      }
    const Scan op{Body(body_), static_cast<std::int64_t>(carries.size()), static_cast<std::int64_t>(sequences.size()), call_.length, call_.reverse};
    std::vector<NodeId> operands;
    for (const Values* list : {&carries, &sequences, &others})
      for (const Value v : *list) operands.push_back(v.id);
    const Value scan = graph_.add(op, operands, graph_.origin());
    for (std::size_t i = 0; i < results_.next.size(); ++i) last_.push_back(scan_result(scan, i));
    for (std::size_t i = 0; i < sums.size(); ++i) sums_.emplace_back(sums[i], scan_result(scan, results_.next.size() + i));
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const Value all = scan_result(scan, carries.size() + i);
      stacks_.emplace_back(stacks[i], all);
      if (leads(shape(stacks[i]), samples_) && over_steps(shape(stacks[i]), call_.length)) outside_.set(stacks[i], folded(all, shape(stacks[i])));
    }
  }
  Value add_input(std::string name, const Type& type) {
    std::string own = name;
    for (int copy = 2; std::any_of(body_.inputs().begin(), body_.inputs().end(), [&](const InputSpec& input) { return input.name == own; }); ++copy)
      own = str(name, "#", copy);
    return body_.add_input({std::move(own), type, InputSpec::Kind::hidden});
  }

  // ---- results ----
  Value stacked(NodeId id) {
    const auto found = std::find_if(stacks_.begin(), stacks_.end(), [&](const auto& stack) { return stack.first == id; });
    if (found != stacks_.end()) return found->second;
    if (part_[id] == StepPart::invariant) return broadcast(reshape(outside_[id], shape(id).insert(1, 1)), stacked_shape(shape(id), call_.length));
    return unfolded(outside_[id], shape(id));
  }
  Value summed(std::size_t number) {
    const NodeId id = results_.summed[number];
    for (const auto& [of, sum] : sums_)
      if (of == id) return sum;
    if (part_[id] == StepPart::mixed) return outside_[id];
    if (part_[id] == StepPart::invariant) return outside_[id] * extent(graph_, call_.length);
    return reshape(sum(unfolded(outside_[id], element_shape(id)), 1, 2), shape(id));
  }

  Graph& graph_;
  const StepCall& call_;
  const Graph& step_;
  const StepResults& results_;
  std::size_t size_;
  Dim samples_;
  std::vector<StepPart> part_;
  std::vector<NodeId> order_;       ///< needed nodes of the step
  std::vector<char> is_constant_;   ///< arithmetic of constants, which the loop does for itself
  std::vector<char> can_fold_;      ///< depends on sequences alone, and has a shape over all steps
  std::vector<char> materialized_;  ///< is computed for all steps together where the loop reads it
  std::vector<char> need_outside_, need_inside_, stacked_;
  Copy outside_;
  Graph body_;
  Copy inside_;
  std::vector<std::pair<NodeId, Value>> reshaped_;  ///< sequences of the body: the node, and the leaf that holds its elements
  Values last_;
  std::vector<std::pair<NodeId, Value>> sums_, stacks_;
};

}  // namespace

Shape element_of(const Shape& rows, Dim samples) {
  const Dim of_sample = *quotient(rows[0], samples);
  return of_sample == Dim(1) ? rows : rows.with(0, of_sample).insert(0, samples);
}

std::vector<StepPart> step_parts(const Graph& step, std::size_t carries, std::size_t sequences, Dim samples) {
  std::vector<StepPart> part(step.size(), StepPart::invariant);
  for (const NodeId id : step.topological_order()) {
    const Node& node = step.node(id);
    if (const auto* input = std::get_if<Input>(&node.op)) {
      const auto i = static_cast<std::size_t>(input->index);
      part[id] = i < carries ? StepPart::carry : i < carries + sequences ? StepPart::sequence : StepPart::invariant;
      continue;
    }
    for (const NodeId input : node.inputs) part[id] = std::max(part[id], part[input]);
    if (part[id] == StepPart::invariant || !samples.is_batch()) continue;
    // Whatever has N is read sample by sample, what is the same for all steps too.
    const bool is_scan = std::holds_alternative<Scan>(node.op), is_result = std::holds_alternative<ScanResult>(node.op);
    if (!is_scan && !leads(node.type.shape, samples)) part[id] = StepPart::mixed;
    for (std::size_t i = 0; i < node.inputs.size() && !is_result; ++i) {
      const bool has_samples = leads(step.node(node.inputs[i]).type.shape, samples), varies = part[node.inputs[i]] != StepPart::invariant;
      if (is_scan ? varies && !has_samples : (varies || has_samples) && !reads_own(step, id, i)) part[id] = StepPart::mixed;
    }
  }
  return part;
}

Dim samples_of(const Graph& step, std::size_t carries, std::size_t sequences) {
  const Shape& first = step.inputs()[sequences ? carries : 0].type.shape;
  if (first.rank() == 0)
    throw UserError(str("its sequences have a dimension of samples, got ", step.inputs()[sequences ? carries : 0].type, " for a step"));
  return first[0];
}

void check_steps(const Graph& step, std::size_t carries, std::size_t sequences) {
  const Dim samples = samples_of(step, carries, sequences);
  if (samples.is_length() || samples.is_rows() || samples.factor() < 1 || (samples.is_batch() && samples != Dim::batch()))
    throw UserError(str("samples are N or a number, got ", samples));
  for (std::size_t i = samples.is_batch() ? 0 : carries; i < carries + sequences; ++i)
    if (const Shape& shape = step.inputs()[i].type.shape; shape.rank() == 0 || shape[0] != samples)
      throw UserError(str("operand ", i, " has ", samples, " samples, got ", step.inputs()[i].type, " for a step"));
  const std::vector<StepPart> part = step_parts(step, carries, sequences, samples);
  for (NodeId id = 0; id < step.size(); ++id)
    if (part[id] == StepPart::mixed) throw UserError(str("node %", id, " of the body (", name(step.node(id).op), ") mixes samples"));
  for (const NodeId id : step.outputs().subspan(samples.is_batch() ? 0 : carries))
    if (const Shape& shape = step.node(id).type.shape; shape.rank() == 0 || shape[0] != samples)
      throw UserError(str("an output of the body has a value for each of ", samples, " samples, got ", step.node(id).type));
}

void check_scan_operands(const Graph& graph, const Op& op, std::span<const NodeId> inputs) {
  const auto* result = std::get_if<ScanResult>(&op);
  for (const NodeId id : inputs) {
    const Op& of = graph.node(id).op;
    const auto* scan = std::get_if<Scan>(&of);
    if (!scan && !result) continue;
    if (!result) throw UserError("cannot read a scan; a scan_result can");
    if (!scan) throw UserError(str("reads a scan, got ", name(of)));
    if (result->index < 0 || static_cast<std::size_t>(result->index) >= scan->result_count())
      throw UserError(str("the scan has ", scan->result_count(), " results, no result ", result->index));
    const Type type = scan->result(static_cast<std::size_t>(result->index));
    if (type != Type{result->dtype, result->shape})
      throw UserError(str("result ", result->index, " of the scan is ", type, ", got ", Type{result->dtype, result->shape}));
  }
}

ScanValues add_scan(Graph& graph, const StepCall& call, const StepResults& results) { return LoopBuilder(graph, call, results).run(); }

Value scan_result(Value scan, std::size_t index) {
  const Scan& op = std::get<Scan>(scan.graph->node(scan.id).op);
  const Type type = op.result(index);
  return scan.graph->add(ScanResult{static_cast<std::int64_t>(index), type.dtype, type.shape}, {scan});
}

std::size_t result_index(const Graph& graph, NodeId result) { return static_cast<std::size_t>(std::get<ScanResult>(graph.node(result).op).index); }

}  // namespace sinter::ir
