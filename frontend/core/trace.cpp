#include "frontend/core/trace.h"

#include <algorithm>
#include <atomic>

#include "ir/differentiate.h"
#include "ir/kernel.h"
#include "ir/scan.h"

namespace sinter {

namespace {
thread_local Trace* current_trace = nullptr;
thread_local const std::string* layer = nullptr;
std::atomic<std::uint64_t> next_serial{1};
}  // namespace

Trace::Trace(std::string name) : serial_(next_serial++), outer_(current_trace), result_{ir::Graph(std::move(name)), {}, {}} { current_trace = this; }

Trace::Trace(Trace& around) : Trace("step") { around_ = &around; }

Trace::~Trace() { current_trace = outer_; }

Trace* Trace::current() { return current_trace; }

Tensor Trace::tensor_of(ir::Value value) const { return {value.type(), serial_, value.id}; }

Tensor Trace::input(ir::InputSpec spec) { return tensor_of(result_.graph.add_input(std::move(spec))); }

ir::NodeId Trace::node_of(const Tensor& tensor, const std::source_location& where) {
  if (tensor.trace() == serial_) return tensor.node();
  if (around_) return captured_by_step(around_->node_of(tensor, where));
  const auto origin = [&] { return Origin::from(where, current_layer()).text(); };
  if (tensor.is_traced())
    throw UserError(origin(), str("tensor ", tensor, " belongs to another trace; a traced tensor lives only inside the function that made it"));
  if (!tensor.defined()) throw UserError(origin(), "an operand was never set");
  // A tensor with data that the function captured: a hidden input, bound now.
  const auto [found, fresh] = captured_nodes_.try_emplace({tensor.buffer().data(), tensor.record().get()}, ir::no_node);
  if (fresh || result_.graph.node(found->second).type != tensor.type()) {
    const std::string name = str("captured_", result_.captured.size());
    found->second = result_.graph.add_input({name, tensor.type(), ir::InputSpec::Kind::hidden}).id;
    result_.captured.push_back(tensor.detach());
  }
  return found->second;
}

ir::NodeId Trace::captured_by_step(ir::NodeId around) {
  const auto [found, fresh] = captured_step_.try_emplace(around, ir::no_node);
  if (fresh) {
    found->second =
        result_.graph.add_input({str("captured_", captured_around_.size()), around_->result_.graph.node(around).type, ir::InputSpec::Kind::hidden})
            .id;
    captured_around_.push_back(around);
  }
  return found->second;
}

Scanned Trace::scan(const ScanFunction& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, Dim length, bool reverse,
                    const std::source_location& where) {
  ir::Values first, all;
  for (const Tensor& carry : carries) first.push_back({&result_.graph, node_of(carry, where)});
  for (const Tensor& sequence : sequences) all.push_back({&result_.graph, node_of(sequence, where)});
  ir::StepResults results;
  ir::Values others;
  ir::Graph body;
  {
    Trace inner(*this);
    std::vector<Tensor> held, elements;
    for (const Tensor& carry : carries) held.push_back(inner.input({str("carry_", held.size()), carry.type(), ir::InputSpec::Kind::hidden}));
    for (const Tensor& sequence : sequences)
      elements.push_back(
          inner.input({str("element_", elements.size()), {sequence.dtype(), sequence.shape().erase(1, 2)}, ir::InputSpec::Kind::hidden}));
    const ScanStep made = step(held, elements);
    for (const Tensor& carry : made.carries) results.next.push_back(inner.node_of(carry, where));
    for (const Tensor& output : made.outputs) results.stacked.push_back(inner.node_of(output, where));
    for (const ir::NodeId id : inner.captured_around_) others.push_back({&result_.graph, id});
    body = inner.finish().graph;
  }
  const ir::OriginScope scope(result_.graph, Origin::from(where, current_layer()));
  const ir::ScanValues made = ir::add_scan(result_.graph, {body, first, all, others, length, reverse}, results);
  Scanned scanned;
  for (const ir::Value carry : made.last) scanned.carries.push_back(tensor_of(carry));
  for (const ir::Value output : made.stacked) scanned.outputs.push_back(tensor_of(output));
  return scanned;
}

void Trace::output(const Tensor& value) { result_.graph.add_output({&result_.graph, node_of(value, std::source_location::current())}); }

Tensor Trace::apply(ir::Op op, std::span<const Tensor* const> in, const std::source_location& where) {
  std::vector<ir::NodeId> nodes;
  for (const Tensor* tensor : in) nodes.push_back(node_of(*tensor, where));
  return tensor_of(result_.graph.add(std::move(op), nodes, Origin::from(where, current_layer())));
}

Tensor Trace::read(const std::shared_ptr<Cell>& cell) {
  if (around_) {
    const ir::NodeId node = captured_by_step(around_->node_of(around_->read(cell), {}));
    return tensor_of({&result_.graph, node});
  }
  const auto found = states_.find(cell.get());
  if (found != states_.end()) return tensor_of({&result_.graph, found->second.present});
  const std::size_t index = result_.cells.size();
  std::string name = cell->name;
  int& copies = names_[cell->name];
  while (++copies > 1 && !names_.try_emplace(name = str(cell->name, "#", copies), 1).second) {
  }
  const ir::Value leaf = result_.graph.add_state({std::move(name), cell->type, cell->trainable});
  result_.cells.push_back(cell);
  states_[cell.get()] = {index, leaf.id};
  return tensor_of(leaf);
}

void Trace::assign(const std::shared_ptr<Cell>& cell, const Tensor& value, const std::source_location& where) {
  (void)read(cell);  // declares the state
  StateOf& state = states_[cell.get()];
  const ir::NodeId node = node_of(value, where);
  result_.graph.set_update(state.index, node);
  // As in eager mode, later reads carry no gradient record of how the value was computed.
  const ir::OriginScope scope(result_.graph, Origin::from(where, current_layer()));
  state.present = is_float(cell->type.dtype) ? result_.graph.add(ir::StopGradient{}, {ir::Value{&result_.graph, node}}).id : node;
}

std::vector<Tensor> Trace::gradients(const Tensor& loss, std::span<const Tensor> wrt, const std::source_location& where) {
  differentiates_ = true;
  ir::Values values;
  for (const Tensor& tensor : wrt) values.push_back({&result_.graph, node_of(tensor, where)});
  std::vector<Tensor> result;
  for (const ir::Value gradient : ir::differentiate({&result_.graph, node_of(loss, where)}, values))
    result.push_back(gradient ? tensor_of(gradient) : Tensor());
  return result;
}

bool Trace::read_flag(std::shared_ptr<const bool> flag) {
  if (around_) return around_->read_flag(std::move(flag));
  const bool value = *flag;
  if (flags_.insert(flag.get()).second) result_.flags.push_back({std::move(flag), value});
  return value;
}

bool Traced::is_current() const {
  return std::all_of(flags.begin(), flags.end(), [](const Flag& flag) { return *flag.now == flag.was; });
}

const ir::Node* Trace::maker(const Tensor& tensor) const {
  if (tensor.trace() != serial_) return around_ ? around_->maker(tensor) : nullptr;
  return &result_.graph.node(ir::before_reshapes(result_.graph, tensor.node()));
}

namespace {
void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}
}  // namespace

void Trace::warn(const std::string& text) {
  if (around_) around_->warn(text);
  else add_once(warnings_, text);
}

void Trace::note_training() {
  if (around_) around_->note_training();
  else knows_training_ = true;
}

void Trace::note_not_training(const std::string& layer) {
  if (around_) around_->note_not_training(layer);
  else add_once(not_training_, layer);
}

Traced Trace::finish() {
  bool trains = false;
  for (std::size_t i = 0; i < result_.cells.size(); ++i) trains |= result_.graph.states()[i].trainable && result_.graph.updates()[i] != ir::no_node;
  if (!trains || !differentiates_) return std::move(result_);
  result_.warnings = std::move(warnings_);
  if (knows_training_ || not_training_.empty()) return std::move(result_);
  std::string layers = not_training_[0];
  for (std::size_t i = 1; i < std::min<std::size_t>(not_training_.size(), 3); ++i) layers += ", " + not_training_[i];
  if (not_training_.size() > 3) layers += str(" and ", not_training_.size() - 3, " more");
  result_.warnings.push_back(str("updates parameters, but ", layers, not_training_.size() == 1 ? " runs" : " run",
                                 " as in prediction; declare an nn::TrainingScope before the model is called"));
  return std::move(result_);
}

const std::string& current_layer() {
  static const std::string none;
  return layer ? *layer : none;
}

LayerScope::LayerScope(const std::string& name) : outer_(layer) { layer = &name; }
LayerScope::~LayerScope() { layer = outer_; }

}  // namespace sinter
