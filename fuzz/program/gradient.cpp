// Gradients against differences of the loss, all in double.
#include <algorithm>
#include <cmath>

#include "frontend/core/random.h"
#include "fuzz/program/compare.h"
#include "ir/reference.h"

namespace sinter::fuzz {

namespace {

ir::Array& leaf_of(Binding& binding, const ir::Graph& graph, ir::NodeId id) {
  if (const auto* state = std::get_if<ir::State>(&graph.node(id).op)) return binding.states[static_cast<std::size_t>(state->index)];
  return binding.inputs[static_cast<std::size_t>(std::get<ir::Input>(graph.node(id).op).index)];
}

/// Ops through which values flow but, on purpose, no gradient does.
bool blocks_gradient(const ir::Graph& graph, const ir::Node& node) {
  if (std::holds_alternative<ir::StopGradient>(node.op)) return true;
  return std::holds_alternative<ir::Cast>(node.op) && is_float(node.type.dtype) && is_float(graph.node(node.inputs[0]).type.dtype);
}

/// All values of the forward part as functions of t: every chosen element moved by t times its direction.
class Line {
 public:
  struct Step {
    std::size_t gradient, element;
    double direction;
  };
  Line(const Program& program, const ir::Graph& forward, const Binding& at) : program_(program), forward_(forward), at_(at) {}

  void along(std::vector<Step> steps) { steps_ = std::move(steps); }
  std::vector<ir::Array> operator()(double t) const {
    Binding moved = at_;
    for (const Step& s : steps_) leaf_of(moved, program_.graph, program_.gradients[s.gradient].leaf).data[s.element] += t * s.direction;
    return ir::evaluate(forward_, moved.inputs, moved.states, moved.sizes);
  }

 private:
  const Program& program_;
  const ir::Graph& forward_;
  const Binding& at_;
  std::vector<Step> steps_;
};

/// A number at 0, ±h and ±h/2 of a line.
struct Stencil {
  double h, here, above, below, half_above, half_below;

  double mean() const { return (above - below) / (2 * h); }
  double half_mean() const { return (half_above - half_below) / h; }
  bool is_constant() const { return above == here && below == here && half_above == here && half_below == here; }
  /// Where it is smooth, halving the step halves the difference of the slopes on both sides, and hardly moves their mean.
  bool is_smooth(double scale) const {
    const double bend = (above + below - 2 * here) / h, half_bend = (half_above + half_below - 2 * here) / (h / 2);
    return std::abs(mean() - half_mean()) <= 1e-4 * scale && std::abs(half_bend) <= 0.75 * std::abs(bend) + 1e-6 * scale;
  }
};

}  // namespace

void compare_gradients(const Program& program, Comparison& result) {
  if (program.gradients.empty() || !program.has_slopes) return;
  ir::Graph forward = program.graph;
  forward.set_outputs({program.loss});
  for (std::size_t i = 0; i < forward.states().size(); ++i) forward.set_update(i, forward.state_node(i));
  forward.erase_dead();
  const std::vector<ir::NodeId> order = forward.topological_order();
  for (const ir::NodeId id : order)
    if (blocks_gradient(forward, forward.node(id))) return;

  const Binding& at = program.bindings[1];
  const std::vector<ir::Array> values = ir::evaluate(program.graph, at.inputs, at.states, at.sizes);
  Line line(program, forward, at);
  const std::vector<ir::Array> here = line(0);
  const auto judge = [&](const std::vector<Line::Step>& steps, const std::string& what) {
    double slope = 0, size = 0;
    for (const Line::Step& s : steps) {
      const double term = values[program.gradients[s.gradient].gradient].data[s.element] * s.direction;
      slope += term;
      size += std::abs(term);
    }
    line.along(steps);
    constexpr double h = 1e-4;
    const std::vector<ir::Array> above = line(h), below = line(-h), half_above = line(h / 2), half_below = line(-h / 2);
    const auto stencil = [&](ir::NodeId id, std::size_t i) {
      return Stencil{h, here[id].data[i], above[id].data[i], below[id].data[i], half_above[id].data[i], half_below[id].data[i]};
    };
    const Stencil loss = stencil(program.loss, 0);
    const double scale = 1 + size + std::abs(loss.half_mean());
    // A smooth loss is not enough: minimum(x, log1p(relu(x))) is smooth at 0, where both of its parts have a kink and gradients are a convention. And
    // where(x == 0, -x, swish(x)) has the gradient of -x at 0, where its values are smooth: what decides must not change.
    const auto is_smooth = [&](ir::NodeId id) {
      const bool decides = !is_float(forward.node(id).type.dtype);
      for (std::size_t i = 0; i < here[id].data.size(); ++i)
        if (const Stencil near = stencil(id, i); decides ? !near.is_constant() : !near.is_smooth(1 + std::abs(here[id].data[i]))) return false;
      return true;
    };
    if (!loss.is_smooth(scale) || !std::all_of(order.begin(), order.end(), is_smooth)) {
      ++result.kinks;
      return;
    }
    ++result.slopes;
    if (std::abs(slope - loss.half_mean()) > 1e-5 * scale + 2 * std::abs(loss.mean() - loss.half_mean()))
      throw Disagreement(str("at N = ", at.sizes.n, ", T = ", at.sizes.t, ": the gradient ", what, " is ", slope, ", differences of the loss say ",
                             loss.half_mean(), "\n", to_text(program)));
  };

  RandomStream random(7, program.graph.size());
  std::vector<Line::Step> all;
  for (std::size_t g = 0; g < program.gradients.size(); ++g) {
    const std::size_t count = values[program.gradients[g].leaf].data.size();
    for (std::size_t i = 0; i < count; ++i) all.push_back({g, i, 2 * random.uniform() - 1});
    for (int tried = 0; tried < 2; ++tried) {
      const auto element = static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(count)));
      judge({{g, element, 1}}, str("to element ", element, " of leaf %", program.gradients[g].leaf));
    }
  }
  judge(all, "along a random direction of all leaves");
}

}  // namespace sinter::fuzz
