#include "fuzz/program/compare.h"

#include <algorithm>
#include <sstream>

#include "codegen/compile.h"
#include "frontend/compile/judge.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/interpret.h"
#include "fuzz/program/patterns.h"

namespace sinter::fuzz {

namespace {

Tensor tensor_of(const ir::Array& array) {
  const Type type{array.dtype, array.shape()};
  return with_element_type(type.dtype, [&]<class T>(T) {
    std::vector<T> data(array.data.size());
    std::transform(array.data.begin(), array.data.end(), data.begin(), [](double x) { return static_cast<T>(x); });
    return Tensor::from_bytes(type, data.data());
  });
}

[[noreturn]] void disagree(const Program& program, Sizes sizes, const std::string& what) {
  throw Disagreement(str("at N = ", sizes.n, ", T = ", sizes.t, ": ", what, "\n", to_text(program)));
}

void require_ok(const Program& program, Sizes sizes, const VerifyReport& report, Comparison& result) {
  result.nodes += report.nodes;
  result.worst = std::max(result.worst, report.worst);
  if (report.ok()) return;
  std::ostringstream text;
  text << report;
  disagree(program, sizes, text.str());
}

/// One binding as tensors: inputs of the call, and what the trace would have captured.
struct Values {
  std::vector<Tensor> inputs, states;
};

Values values_of(const Binding& binding) {
  Values values;
  for (const ir::Array& array : binding.inputs) values.inputs.push_back(tensor_of(array));
  for (const ir::Array& array : binding.states) values.states.push_back(tensor_of(array));
  return values;
}

void compare_eager(const Program& program, const Binding& binding, Comparison& result) {
  const Values leaves = values_of(binding);
  const ir::Graph& graph = program.graph;
  std::vector<Tensor> values(graph.size());
  for (std::size_t i = 0; i < leaves.inputs.size(); ++i) values[graph.input_node(i)] = leaves.inputs[i];
  for (std::size_t i = 0; i < leaves.states.size(); ++i) values[graph.state_node(i)] = leaves.states[i];
  interpret(graph, values, {.sizes = binding.sizes, .keep_all = true});
  VerifyReport report;
  judge_nodes(report, "eager", graph, [&](ir::NodeId id) { return values[id]; }, binding.sizes);
  require_ok(program, binding.sizes, report, result);
}

/// The program as a step, compiled once for both bindings. Captured tensors are those of one binding: hidden inputs have no N.
class Compiled {
 public:
  explicit Compiled(const Program& program) : program_(program) {
    const ir::Graph& graph = program.graph;
    Traced traced{graph, {}, {}};
    const Values values = values_of(program.bindings[0]);
    StepOptions options{.name = graph.name(), .without = program.without};
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      options.kinds.push_back(graph.inputs()[i].kind);
      if (graph.inputs()[i].kind == InputKind::hidden) traced.captured.push_back(values.inputs[i]);
    }
    declared_ = graph.inputs().size() - traced.captured.size();
    for (std::size_t i = 0; i < graph.states().size(); ++i) {
      states_.emplace_back(graph.states()[i].name, values.states[i], graph.states()[i].trainable);
      traced.cells.push_back(states_.back().cell());
    }
    step_ = std::make_unique<StepCore>(std::move(traced), std::move(options));
  }

  void compare(const Binding& binding, Comparison& result) {
    const Values values = values_of(binding);
    std::vector<const Tensor*> in;
    for (std::size_t i = 0; i < declared_; ++i) in.push_back(&values.inputs[i]);
    restore(values);
    require_ok(program_, binding.sizes, step_->verify(in), result);
    const std::vector<Tensor> alone = results_on(1, in, values), together = results_on(2, in, values);
    const std::size_t outputs = program_.graph.outputs().size();
    VerifyReport differences;
    for (std::size_t i = 0; i < alone.size(); ++i)
      judge_bytes(differences, i < outputs ? str("output ", i) : "state " + program_.graph.states()[i - outputs].name, together[i], alone[i]);
    if (differences.ok()) return;
    const auto& d = differences.first();
    disagree(program_, binding.sizes,
             str(d.node, " has other bytes on two threads than on one: element ", d.index, " is ", d.got, " and ", d.wanted));
  }

 private:
  void restore(const Values& values) {
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i].assign(values.states[i]);
  }
  /// Of outputs and new states.
  std::vector<Tensor> results_on(int threads, std::span<const Tensor* const> in, const Values& values) {
    restore(values);
    step_->set_threads(threads, true);
    std::vector<Tensor> results = step_->call(in);
    for (const Parameter& state : states_) results.push_back(state.read());
    return results;
  }

  const Program& program_;
  std::vector<Parameter> states_;
  std::size_t declared_ = 0;
  std::unique_ptr<StepCore> step_;
};

}  // namespace

Comparison& Comparison::operator+=(const Comparison& other) {
  nodes += other.nodes;
  slopes += other.slopes;
  kinks += other.kinks;
  worst = std::max(worst, other.worst);
  for (const auto& [name, count] : other.patterns) patterns[name] += count;
  return *this;
}

Comparison compare(const Program& program) {
  Comparison result;
  for (const Binding& binding : program.bindings) compare_eager(program, binding, result);
  if (codegen::is_built()) {
    Compiled compiled(program);
    for (const Binding& binding : program.bindings) compiled.compare(binding, result);
  }
  compare_gradients(program, result);
  for (const std::string_view name : patterns_of(program)) ++result.patterns[name];
  return result;
}

}  // namespace sinter::fuzz
