// verify(): a compiled step judged in four parts, numbered and named as in docs/guide.md, "Verify".
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "frontend/compile/bounds.h"
#include "frontend/compile/cell_snapshot.h"
#include "frontend/compile/judge.h"
#include "frontend/compile/scan_bound.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/counted.h"
#include "frontend/core/finite.h"
#include "frontend/core/warn.h"
#include "ir/print.h"
#include "ir/reference.h"
#include "ir/scan.h"

namespace sinter {

namespace {

std::string described(const ir::Graph& graph, ir::NodeId id, const std::vector<std::string>& names) {
  const ir::Node& node = graph.node(id);
  const std::string origin = node.origin.text();
  return str(names[id], " = ", ir::name(node.op), origin.empty() ? "" : "   # ", origin);
}

/// Which values of a graph are still needed, node after node: doubles and their errors take four times the memory of tensors.
class Readers {
 public:
  explicit Readers(const ir::Graph& graph) : graph_(graph), left_(graph.size()), seen_(graph.size()), result_(graph.size()) {
    for (ir::NodeId id = 0; id < graph.size(); ++id)
      if (!graph.node(id).dead)
        for (const ir::NodeId input : graph.node(id).inputs) ++left_[input];
    for (const ir::NodeId id : graph.outputs()) result_[id] = true;
    for (const ir::NodeId id : graph.updates())
      if (id != ir::no_node) result_[id] = true;
  }
  bool is_result(ir::NodeId id) const { return result_[id]; }
  /// Once for each node.
  bool is_first(ir::NodeId id) { return !std::exchange(seen_[id], true); }
  /// After a node: calls f with each operand that no later one reads, and with the node if none does.
  template <class F>
  void finish(ir::NodeId id, const F& f) {
    for (const ir::NodeId input : graph_.node(id).inputs)
      if (--left_[input] == 0) f(input);
    if (left_[id] == 0) f(id);
  }

 private:
  const ir::Graph& graph_;
  std::vector<std::size_t> left_;
  std::vector<char> seen_, result_;
};

/// Bytes that judge_nodes or reference_of hold at most: a value of 8 bytes and an error of 8 for each element.
double reference_bytes(const ir::Graph& graph, Sizes sizes) {
  const auto bytes_of = [&](ir::NodeId id) {
    const Shape& shape = graph.node(id).type.shape;
    const bool table = shape.rank() && shape[0].is_rows();  // one row: which of them are picked is not known here
    return 16 * static_cast<double>((table ? shape.erase(0, 1) : shape).elements().extent(sizes));
  };
  Readers readers(graph);
  double live = 0, most = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    if (ir::is_leaf(graph.node(id).op)) continue;
    for (const ir::NodeId input : graph.node(id).inputs)
      if (readers.is_first(input)) live += bytes_of(input);
    if (readers.is_first(id)) live += bytes_of(id);
    most = std::max(most, live);
    readers.finish(id, [&](ir::NodeId gone) { live -= readers.is_result(gone) ? 0 : bytes_of(gone); });
  }
  return most;
}

double distance(DType dtype, double got, double wanted) { return is_float(dtype) ? ulps_apart(got, wanted) : std::abs(got - wanted); }

/// Of a value that has an element for each step of a scan: that scan.
const ir::Scan* scan_of_steps(const ir::Graph& graph, ir::NodeId id) {
  const auto* result = graph.op_as<ir::ScanResult>(id);
  if (!result) return nullptr;
  const auto& scan = std::get<ir::Scan>(graph.node(graph.node(id).inputs[0]).op);
  return result->index < scan.carries ? nullptr : &scan;
}

/// Returns when it disagrees: the number of the step, in the order in which they run; of other values the greatest number.
std::int64_t judge_value(VerifyReport& report, const std::string& part, std::string node, const Tensor& got, const Bounded& wanted,
                         const ir::Scan* steps_of = nullptr) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  std::int64_t turn = last;
  ++report.nodes;
  const Bounded actual = exact(got);
  std::int64_t at = -1;
  if (!steps_of) {
    at = first_difference(actual.value, wanted, report.worst);
  } else if (const auto found = first_difference_of_steps(actual.value, wanted, *steps_of, report.worst)) {
    at = found->element;
    turn = found->turn;
    node += str(", step ", found->step);
  }
  if (at < 0) return last;
  const auto i = static_cast<std::size_t>(at);
  const double is = actual.value.data[i], should = wanted.value.data[i];
  report.disagreements.push_back({part, node, i, is, should, wanted.error[i], distance(got.dtype(), is, should)});
  return turn;
}

}  // namespace

namespace {

/// The results of a scan, each step from what the run had as its carries, as far as it kept them.
std::vector<Bounded> bounded_scan(const ir::Graph& graph, ir::NodeId id, std::span<const Bounded* const> operands, const RunValues& values,
                                  Sizes sizes) {
  const auto& scan = std::get<ir::Scan>(graph.node(id).op);
  std::vector<std::optional<ir::Array>> carries;
  for (const std::optional<std::size_t> kept : kept_carries(scan)) {
    carries.emplace_back();
    for (const ir::NodeId user : graph.node(id).users)
      if (kept && ir::result_index(graph, user) == *kept)
        if (const Tensor value = values(user); value.defined()) carries.back() = exact(value).value;
  }
  return evaluate_scan_bounded(scan, operands, carries, sizes);
}

/// The results of a scan, those that are wrong in an earlier step first.
void judge_scan(VerifyReport& report, const std::string& part, const ir::Graph& graph, ir::NodeId id, std::span<const Bounded> results,
                const RunValues& values, const std::vector<std::string>& names) {
  std::multimap<std::int64_t, Disagreement> found;
  for (const ir::NodeId user : graph.node(id).users) {
    const Tensor value = values(user);
    if (!value.defined()) continue;
    VerifyReport one;
    one.worst = report.worst;
    const Bounded& wanted = results[ir::result_index(graph, user)];
    const std::int64_t turn = judge_value(one, part, described(graph, user, names), value, wanted, scan_of_steps(graph, user));
    report.nodes += one.nodes;
    report.worst = one.worst;
    for (const Disagreement& disagreement : one.disagreements) found.emplace(turn, disagreement);
  }
  for (auto& [turn, disagreement] : found) report.disagreements.push_back(std::move(disagreement));
}

}  // namespace

void judge_nodes(VerifyReport& report, const std::string& part, const ir::Graph& graph, const RunValues& values, Sizes sizes) {
  const auto names = ir::printed_names(graph);
  // In double: what the nodes of the same kernel read, and what others do.
  std::vector<Bounded> computed(graph.size()), read(graph.size());
  const auto is_inside = [&](ir::NodeId user, ir::NodeId id) {
    return graph.node(user).kernel >= 0 && graph.node(user).kernel == graph.node(id).kernel;
  };
  std::vector<char> was_kept(graph.size());
  std::map<ir::NodeId, std::vector<Bounded>> scans;
  Readers readers(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::is_leaf(node.op)) continue;
    std::vector<const Bounded*> operands;
    for (const ir::NodeId input : node.inputs) {
      const bool leaf = ir::is_leaf(graph.node(input).op);
      if (leaf && readers.is_first(input)) read[input] = exact(values(input));
      operands.push_back(leaf || (!is_inside(id, input) && was_kept[input]) ? &read[input] : &computed[input]);
    }
    const bool is_result = std::holds_alternative<ir::ScanResult>(node.op);
    if (std::holds_alternative<ir::Scan>(node.op)) {
      scans[id] = bounded_scan(graph, id, operands, values, sizes);
      judge_scan(report, part, graph, id, scans[id], values, names);
    } else if (is_result) {
      computed[id] = scans.at(node.inputs[0])[ir::result_index(graph, id)];
    } else {
      computed[id] = evaluate_bounded(node.op, node.type, operands, sizes);
    }
    if (const Tensor value = values(id); value.defined()) {
      if (!is_result) judge_value(report, part, described(graph, id, names), value, computed[id]);
      was_kept[id] = true;
      const auto& users = node.users;
      const auto inside = std::count_if(users.begin(), users.end(), [&](ir::NodeId user) { return is_inside(user, id); });
      if (inside < std::ssize(users)) read[id] = exact(value);
      if (inside == 0) computed[id] = {};
    }
    readers.finish(id, [&](ir::NodeId gone) {
      computed[gone] = {};  // each for itself: a copy of an empty one would keep its memory
      read[gone] = {};
      scans.erase(gone);
    });
  }
}

void judge_bytes(VerifyReport& report, const std::string& node, const Tensor& got, const Tensor& wanted) {
  const std::size_t element = size_of(got.dtype());
  std::vector<std::byte> x(static_cast<std::size_t>(got.elements()) * element), y(x.size());
  got.copy_to(x.data());
  wanted.copy_to(y.data());
  if (x == y) return;
  const std::vector<double> are = exact(got).value.data, should = exact(wanted).value.data;
  for (std::size_t i = 0; i < are.size(); ++i) {
    const bool same = std::equal(&x[i * element], &x[i * element] + element, &y[i * element]);
    if (same || (std::isnan(are[i]) && std::isnan(should[i]))) continue;
    report.disagreements.push_back({"memory plan", node, i, are[i], should[i], 0, distance(got.dtype(), are[i], should[i])});
    return;
  }
}

namespace {

/// Outputs and new state values of one run.
struct Results {
  std::vector<Tensor> outputs, updates;
};

Results results_of(const Traced& traced, std::vector<Tensor> outputs) {
  Results results{std::move(outputs), {}};
  for (const auto& cell : traced.cells) results.updates.push_back(Tensor(cell->type, cell->buffer));
  return results;
}

/// Part 1, "kernels": each kernel re-evaluated in double from the tapped values that it read.
void judge_kernels(VerifyReport& report, Variant& tapped, const Traced& leaves, std::span<const Tensor* const> in, Sizes sizes) {
  const ir::Graph& graph = tapped.compiled().graph;
  const std::vector<Tensor> leaf = leaf_values(leaves, in);
  std::vector<Tensor> leaf_of(graph.size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) leaf_of[graph.input_node(i)] = leaf[leaves.graph.input_node(i)];
  for (std::size_t i = 0; i < graph.states().size(); ++i) leaf_of[graph.state_node(i)] = leaf[leaves.graph.state_node(i)];
  std::map<ir::NodeId, std::size_t> taps;
  for (const codegen::Tap& tap : tapped.compiled().taps) taps.emplace(tap.node, tap.buffer);
  const auto value_of = [&](ir::NodeId id) {
    const auto tap = taps.find(id);
    if (leaf_of[id].defined() || tap == taps.end()) return leaf_of[id];
    return from_step_memory(graph.node(id).type, sizes, tapped.executor().buffer(tap->second));
  };
  judge_nodes(report, "kernels", graph, value_of, sizes);
}

/// Calls f(text, node, value) with each output and each new state value.
template <class F>
void for_each_result(const Traced& traced, const Results& got, const F& f) {
  const auto names = ir::printed_names(traced.graph);
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    const ir::NodeId id = traced.graph.outputs()[i];
    f(str("output ", i, ": ", described(traced.graph, id, names)), id, got.outputs[i]);
  }
  for (std::size_t i = 0; i < got.updates.size(); ++i)
    if (const ir::NodeId id = traced.graph.updates()[i]; id != ir::no_node)
      f(str("state ", traced.graph.states()[i].name, ": ", described(traced.graph, id, names)), id, got.updates[i]);
}

/// Parts 3 and 4, "graph" and "eager": what a run returned and assigned, against the graph as traced, in double from the inputs.
void judge_results(VerifyReport& report, const std::string& part, const Traced& traced, std::span<const Bounded> reference, const Results& got) {
  for_each_result(traced, got, [&](const std::string& what, ir::NodeId id, const Tensor& value) {
    judge_value(report, part, what, value, reference[id], scan_of_steps(traced.graph, id));
  });
}

/// Which results have NaN or infinite numbers.
std::vector<std::string> non_finite_results(const Traced& traced, const Results& got) {
  std::vector<std::string> found;
  for_each_result(traced, got, [&](const std::string& what, ir::NodeId, const Tensor& value) {
    if (const auto bad = first_non_finite(value)) found.push_back(str(what, " is ", bad->value, " at ", place_text(value.shape(), bad->place)));
  });
  return found;
}

/// Of outputs and new state values. `run`: what a run returned for the graph's outputs, among them the carries of its scans; without it, bounds are
/// carried from step to step.
std::vector<Bounded> reference_of(const Traced& traced, std::span<const Tensor* const> in, Sizes sizes, std::span<const Tensor> run = {}) {
  const ir::Graph& graph = traced.graph;
  const std::vector<Tensor> leaves = leaf_values(traced, in);
  std::vector<Bounded> values(graph.size());
  std::map<ir::NodeId, std::vector<Bounded>> scans;
  std::vector<Tensor> kept(graph.size());
  for (std::size_t i = 0; i < run.size(); ++i) kept[graph.outputs()[i]] = run[i];
  const auto ran = [&](ir::NodeId id) { return kept[id]; };
  Readers readers(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    if (ir::is_leaf(graph.node(id).op)) {
      if (readers.is_result(id)) values[id] = exact(leaves[id]);
      continue;
    }
    std::vector<const Bounded*> operands;
    for (const ir::NodeId input : graph.node(id).inputs) {
      if (ir::is_leaf(graph.node(input).op) && readers.is_first(input) && !readers.is_result(input)) values[input] = exact(leaves[input]);
      operands.push_back(&values[input]);
    }
    if (std::holds_alternative<ir::Scan>(graph.node(id).op)) scans[id] = bounded_scan(graph, id, operands, ran, sizes);
    else if (std::holds_alternative<ir::ScanResult>(graph.node(id).op)) values[id] = scans.at(graph.node(id).inputs[0])[ir::result_index(graph, id)];
    else values[id] = evaluate_bounded(graph.node(id).op, graph.node(id).type, operands, sizes);
    readers.finish(id, [&](ir::NodeId gone) {
      if (!readers.is_result(gone)) values[gone] = {};
      scans.erase(gone);
    });
  }
  return values;
}

/// Where log(softmax(x)) and its gradient became one stable op, they are finite where the single ops are not: log of a probability of 0 is
/// infinite, and its gradient 1 / 0 · 0. Those elements of the reference are taken from the stable op.
std::vector<Bounded> with_stable_results(std::vector<Bounded> reference, const CompiledGraph& compiled, std::span<const Tensor* const> in,
                                         Sizes sizes) {
  constexpr std::string_view pass = "log_softmax";
  const auto changed = [&](const passes::PassReport& report) { return report.name == pass && report.changed; };
  if (std::none_of(compiled.passes.begin(), compiled.passes.end(), changed)) return reference;
  Traced stable = compiled.traced;
  Settings until;
  until.stop_after = pass;
  optimize_graph(stable.graph, until);
  const std::vector<Bounded> values = reference_of(stable, in, sizes);
  const auto take = [&](ir::NodeId to, ir::NodeId from) {
    if (to == ir::no_node) return;
    Bounded& mine = reference[to];
    for (std::size_t i = 0; i < mine.error.size(); ++i) {
      if (std::isfinite(mine.value.data[i])) continue;
      mine.value.data[i] = values[from].value.data[i];
      mine.error[i] = values[from].error[i];
    }
  };
  const ir::Graph& traced = compiled.traced.graph;
  for (std::size_t i = 0; i < traced.outputs().size(); ++i) take(traced.outputs()[i], stable.graph.outputs()[i]);
  for (std::size_t i = 0; i < traced.updates().size(); ++i) take(traced.updates()[i], stable.graph.updates()[i]);
  return reference;
}

/// Throws MemoryError if the machine has less than the double reference takes and a run that keeps every value.
void require_memory(const StepCore::Impl& step, const Variant& tapped, Sizes sizes) {
  const int threads = tapped.executor().estimate(sizes, step.options.threads).threads;
  const CompiledGraph& compiled = tapped.compiled();
  const double reference = std::max(reference_bytes(compiled.traced.graph, sizes), reference_bytes(compiled.graph, sizes));
  const double needed = reference + static_cast<double>(planned_memory(tapped, sizes, threads).all());
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)), all = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > all)
    throw MemoryError(step.options.name,
                      str("verify: the reference in double, and a run that keeps every value, take ", size_text(needed), ", and this machine has ",
                          size_text(all), "; verify a smaller batch, or a smaller model of the same kind"));
  if (needed > 1e9) warn(step.options.log, str("verify of '", step.options.name, "' takes ", size_text(needed), " of memory"));
}

}  // namespace

VerifyReport judge(StepCore::Impl& step, std::span<const Tensor* const> in) {
  VerifyReport report;
  Variant& ordinary = step.variant_for(in);
  const Traced& traced = ordinary.compiled().traced;
  const Sizes sizes = sizes_of(traced.graph, in);

  // Each step of a scan is judged from the run's own carries, which are further outputs of the tapped run: through many steps a bound says nothing.
  Traced kept = traced;
  keep_carries(kept.graph);
  const bool has_scans = kept.graph.outputs().size() > traced.graph.outputs().size();

  // 1. kernels: run with separate memory and every result kept, and judge each result by what its kernel read.
  auto tapped = std::make_unique<Variant>(
      std::make_shared<CompiledGraph>(compile_graph(kept, {.tap = true, .settings = step.compile_settings(), .log = step.options.log})));
  require_memory(step, *tapped, sizes);
  const CellSnapshot saved(traced.cells);
  std::vector<Tensor> outputs(tapped->output_count());
  tapped->run(in, outputs, step.options.threads, step.options.force);
  const std::vector<Tensor> kept_outputs = outputs;
  outputs.resize(traced.graph.outputs().size());
  const Results tapped_results = results_of(traced, outputs);
  saved.restore();
  judge_kernels(report, *tapped, kept, in, sizes);
  tapped.reset();  // the memory that keeps every result

  // 2. memory plan: the ordinary run has the same bytes, else the memory plan or the schedule is wrong.
  ordinary.run(in, outputs, step.options.threads, step.options.force);
  const Results results = results_of(traced, outputs);
  saved.restore();
  for (std::size_t i = 0; i < results.outputs.size(); ++i) judge_bytes(report, str("output ", i), results.outputs[i], tapped_results.outputs[i]);
  for (std::size_t i = 0; i < results.updates.size(); ++i)
    judge_bytes(report, str("state ", traced.graph.states()[i].name), results.updates[i], tapped_results.updates[i]);

  // 3. graph: the traced graph, unoptimized, says what the compiled run should have returned.
  const std::vector<Bounded> reference = reference_of(kept, in, sizes, kept_outputs);
  judge_results(report, "graph", traced, with_stable_results(reference, ordinary.compiled(), in, sizes), results);
  report.non_finite = non_finite_results(traced, results);

  // 4. eager: the same of the eager run.
  const std::vector<Bounded> carried = has_scans ? reference_of(traced, in, sizes) : std::vector<Bounded>();
  std::vector<Tensor> eager_outputs = step.run_eagerly(in);
  judge_results(report, "eager", traced, has_scans ? carried : reference, results_of(traced, std::move(eager_outputs)));
  return report;
}

}  // namespace sinter
