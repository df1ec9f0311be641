// Bytes → program: some nodes, perhaps a loss with its gradients and updates, and results such that every node is needed.
#include <algorithm>

#include "fuzz/program/motifs.h"
#include "fuzz/program/recipes.h"
#include "ir/differentiate.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace sinter::fuzz {

namespace {

void grow(Builder& b) {
  for (int attempt = 0; attempt < 4; ++attempt) try {
      b.keep(b.choose.one_in(3) ? add_motif(b) : add_op(b, b.choose.below(std::variant_size_v<ir::Op>)));
      return;
    } catch (const UserError&) {
    } catch (const Unfit&) {
    }
}

/// A scalar that depends on some of what is there.
ir::Value loss_of(Builder& b) {
  ir::Value loss;
  for (std::size_t terms = 1 + b.choose.below(2); terms > 0; --terms) {
    ir::Value x = b.floats([](const Shape&) { return true; }, {Dim::batch(), 3});
    const Dim count = x.shape().elements();
    if (x.shape().rank()) x = b.add(ir::Sum{0, static_cast<std::int64_t>(x.shape().rank())}, {x});
    if (b.choose.below(2)) x = b.add(ir::Div{}, {x, b.add(ir::Extent{count}, {})});
    loss = loss ? b.add(ir::Add{}, {loss, x}) : x;
  }
  return loss;
}

/// A loss, its gradients and a step of descent; nothing if that came to nothing.
void train(Builder& b, Program& program) try {
  const ir::Value loss = loss_of(b);
  ir::Values leaves;
  for (std::size_t i = 0; i < b.graph.states().size(); ++i) leaves.push_back(b.graph.value(b.graph.state_node(i)));
  for (std::size_t i = 0; i < b.graph.inputs().size(); ++i)
    if (b.graph.inputs()[i].kind != ir::InputSpec::Kind::table) leaves.push_back(b.graph.value(b.graph.input_node(i)));
  std::erase_if(leaves, [](ir::Value v) { return !is_float(v.type().dtype); });
  const ir::Values gradients = ir::differentiate(loss, leaves);
  b.settle();
  b.keep(loss);
  program.loss = loss.id;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!gradients[i]) continue;
    program.gradients.push_back({leaves[i].id, gradients[i].id});
    b.keep(gradients[i]);
    const auto* state = std::get_if<ir::State>(&b.graph.node(leaves[i].id).op);
    if (!state || b.choose.one_in(4)) continue;
    const ir::Value step = b.add(ir::Mul{}, {gradients[i], b.add(ir::Constant{0.125}, {})}), updated = b.add(ir::Sub{}, {leaves[i], step});
    b.graph.set_update(static_cast<std::size_t>(state->index), updated.id);
  }
} catch (const Unfit&) {
}

/// Other updates, then results: some of all, and whatever nothing else needs.
void finish(Builder& b) {
  for (std::size_t i = 0; i < b.graph.states().size(); ++i) {
    if (b.graph.updates()[i] != ir::no_node || b.choose.below(2)) continue;
    ir::Values fitting;
    for (const ir::Value v : b.kept())
      if (v.type() == b.graph.states()[i].type) fitting.push_back(v);
    if (!fitting.empty()) b.graph.set_update(i, b.choose.among(fitting).id);
  }
  for (std::size_t more = b.choose.below(3); more > 0 && !b.kept().empty(); --more) b.graph.add_output(b.choose.among(b.kept()));
  std::vector<char> needed(b.graph.size());
  std::vector<ir::NodeId> stack(b.graph.outputs().begin(), b.graph.outputs().end());
  for (const ir::NodeId id : b.graph.updates())
    if (id != ir::no_node) stack.push_back(id);
  const auto mark = [&] {
    while (!stack.empty()) {
      const ir::NodeId id = stack.back();
      stack.pop_back();
      if (needed[id]) continue;
      needed[id] = 1;
      for (const ir::NodeId input : b.graph.node(id).inputs) stack.push_back(input);
    }
  };
  mark();
  ir::Values rest = b.kept();
  std::sort(rest.begin(), rest.end(), [](ir::Value x, ir::Value y) { return x.id > y.id; });
  for (const ir::Value v : rest)
    if (!needed[v.id] && !ir::is_leaf(b.graph.node(v.id).op)) {
      b.graph.add_output(v);
      stack.push_back(v.id);
      mark();
    }
}

/// Without what is not needed, and with hidden inputs behind the others, where the front end has them.
void tidy(const Builder& b, Program& program) {
  const ir::Graph& from = b.graph;
  ir::Graph& to = program.graph;
  std::vector<ir::NodeId> place(from.size(), ir::no_node);
  for (const Binding& binding : b.bindings()) program.bindings.push_back({binding.sizes, {}, binding.states});
  for (const bool hidden : {false, true})
    for (std::size_t i = 0; i < from.inputs().size(); ++i) {
      if ((from.inputs()[i].kind == ir::InputSpec::Kind::hidden) != hidden) continue;
      place[from.input_node(i)] = to.add_input(from.inputs()[i]).id;
      for (std::size_t k = 0; k < program.bindings.size(); ++k) program.bindings[k].inputs.push_back(b.bindings()[k].inputs[i]);
    }
  for (std::size_t i = 0; i < from.states().size(); ++i) place[from.state_node(i)] = to.add_state(from.states()[i]).id;
  ir::Graph live = from;
  live.erase_dead();
  for (const ir::NodeId id : live.topological_order()) {
    const ir::Node& node = live.node(id);
    if (ir::is_leaf(node.op)) continue;
    std::vector<ir::NodeId> inputs;
    for (const ir::NodeId input : node.inputs) inputs.push_back(place[input]);
    place[id] = to.add(node.op, inputs, {}).id;
  }
  for (const ir::NodeId id : from.outputs()) to.add_output(to.value(place[id]));
  for (std::size_t i = 0; i < from.updates().size(); ++i)
    if (from.updates()[i] != ir::no_node) to.set_update(i, place[from.updates()[i]]);
  if (program.loss != ir::no_node) program.loss = place[program.loss];
  for (GradientOf& g : program.gradients) g = {place[g.leaf], place[g.gradient]};
}

}  // namespace

Program make_program(std::span<const std::uint8_t> bytes) {
  Builder b(bytes);
  Program program;
  program.has_slopes = !b.wild && !b.vast;
  (void)b.leaf({DType::f32, {Dim::batch(), b.vast ? b.vast_extent() : static_cast<std::int64_t>(1 + b.choose.below(9))}});
  for (std::size_t more = 1 + b.choose.below(b.vast ? 3 : 16); more > 0 && !b.choose.used_up(); --more) grow(b);
  if (b.choose.below(2)) train(b, program);
  finish(b);
  tidy(b, program);
  ir::verify(program.graph);
  if (bytes.size() % 4 == 3) {  // so that other programs are what they are without this choice
    const std::vector<std::string> passes = passes::optional_pass_names();
    program.without = {passes[bytes.back() % passes.size()]};
  }
  // A sum over steps adds 0 · NaN of those that a mask leaves out, unless it skips them; and so do rows of a table without a gradient. A factor that
  // is infinite makes a sum NaN or infinite by what it scales: each number, or their sum.
  if (b.specials) program.without.insert(program.without.end(), {"skip_padding", "touched_rows", "factor_sums"});
  return program;
}

std::string to_text(const Program& program) {
  const Sizes a = program.bindings[0].sizes, b = program.bindings[1].sizes;
  return str(ir::to_text(program.graph, {.origins = false, .kernels = false}), "N = ", a.n, " and ", b.n, ", T = ", a.t, " and ", b.t,
             program.without.empty() ? "" : ", without the pass " + program.without[0], "\n");
}

}  // namespace sinter::fuzz
