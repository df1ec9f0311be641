#include "frontend/compile/variant.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>

#include "frontend/compile/cell_snapshot.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/assignment_log.h"
#include "frontend/core/clock.h"
#include "frontend/core/interpret.h"
#include "frontend/core/ops.h"
#include "ir/positions.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/file/object_cache.h"
#include "runtime/interpreter.h"
#include "runtime/team.h"

namespace sinter {

namespace {

GraphFilter graph_filter = nullptr;

/// Constants are folded by the interpreter, so that a step has the numbers of an eager run.
double evaluate_constant(const ir::Op& op, const Type& type, std::span<const ir::Constant> operands) {
  std::vector<Tensor> tensors;
  std::vector<runtime::View> in;
  for (const ir::Constant& c : operands) tensors.push_back(Tensor::filled({c.dtype, {}}, c.value));
  for (const Tensor& tensor : tensors) in.push_back(tensor.view());
  const Tensor result = Tensor::result(type);
  runtime::evaluate(op, in, result.view());
  return with_element_type(type.dtype, [&]<class T>(T) { return static_cast<double>(*result.view().as<T>()); });
}

void generate_code(CompiledGraph& result, const CompileOptions& options) {
  const auto start = Clock::now();
  codegen::Options codegen_options;
  codegen_options.tap = options.tap;
  codegen_options.profile = options.profile || result.trace;
  codegen_options.target = options.settings.target;
  codegen_options.dump_folder = options.settings.dump_folder;
  codegen_options.fault = options.settings.fault;
  codegen_options.perf_map = options.settings.perf_map;
  codegen_options.checked = options.settings.checked;
  codegen_options.threads = runtime::default_threads();
  std::optional<runtime::ObjectCache> cache;
  if (const CacheSettings& wanted = options.settings.cache; !wanted.folder.empty()) {
    cache.emplace(wanted.folder, wanted.bytes, options.log);
    if (cache->problem().empty()) codegen_options.store = &*cache;
  }
  codegen::Compiled compiled = codegen::compile(result.graph, codegen_options);
  result.image = std::move(compiled.image);
  result.report = std::move(compiled.report);
  result.taps = std::move(compiled.taps);
  result.cache = !cache ? "off" : !cache->problem().empty() ? "the folder " + cache->problem() : result.report.cache_hit ? "hit" : "miss";
  result.codegen_seconds = since(start);
}

/// Whether a tensor of this shape may be bound where the first dimension is open, and any length.
bool matches_beyond_first(const Shape& spec, const Shape& shape) {
  const auto matches = [](Dim wanted, Dim extent) { return wanted == extent || wanted.is_length(); };
  return spec.rank() == shape.rank() && std::equal(spec.begin() + 1, spec.end(), shape.begin() + 1, matches);
}

}  // namespace

std::vector<passes::PassReport> optimize_graph(ir::Graph& graph, const Settings& settings, Sizes sizes) {
  passes::PipelineOptions options;
  options.evaluate = evaluate_constant;
  options.dump_folder = settings.dump_folder;
  options.stop_after = settings.stop_after;
  options.without = settings.without;
  options.sizes = sizes;
#ifndef NDEBUG
  options.verify = true;
#endif
  return passes::optimize(graph, options);
}

CompiledGraph compile_graph(Traced traced, const CompileOptions& options) {
  CompiledGraph result;
  result.traced = std::move(traced);
  result.graph = graph_filter ? graph_filter(result.traced.graph) : result.traced.graph;
  const auto start = Clock::now();
  ir::verify(result.graph);
  result.sizes = options.sizes;
  result.passes = optimize_graph(result.graph, options.settings, options.sizes);
  result.pass_seconds = since(start);
  if (!options.settings.profile.empty()) result.trace = &runtime::ChromeTrace::at(options.settings.profile);
  generate_code(result, options);
  return result;
}

void set_graph_filter(GraphFilter filter) { graph_filter = filter; }

bool accepts(const ir::InputSpec& spec, const Type& type) {
  if (type.dtype != spec.type.dtype) return false;
  const bool open = spec.kind == ir::InputSpec::Kind::batch || spec.kind == ir::InputSpec::Kind::table;
  return open ? matches_beyond_first(spec.type.shape, type.shape) : spec.type.shape == type.shape;
}

namespace {

/// An extent that all inputs of a call share.
struct Shared {
  std::int64_t extent = 0;  ///< 0: of no input yet
  std::size_t first = 0;    ///< the input that has it

  void add(const ir::Graph& graph, std::size_t input, std::int64_t its, const char* of_what, const char* rule) {
    if (its == 0) throw UserError(graph.name(), str("input '", graph.inputs()[input].name, "' has no ", of_what));
    if (extent && its != extent)
      throw UserError(graph.name(), str("inputs '", graph.inputs()[first].name, "' and '", graph.inputs()[input].name, "' have ", extent, " and ",
                                        its, " ", of_what, "; ", rule));
    if (!extent) first = input;
    extent = its;
  }
};

}  // namespace

Sizes sizes_of(const ir::Graph& graph, std::span<const Tensor* const> in) {
  Shared samples, steps;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const ir::InputSpec& spec = graph.inputs()[i];
    if (spec.kind != ir::InputSpec::Kind::batch) continue;
    const Shape& shape = in[i]->shape();
    samples.add(graph, i, shape[0].factor(), "samples", "all batch inputs need the same number, declare others fixed");
    for (std::size_t axis = 1; axis < shape.rank(); ++axis)
      if (spec.type.shape[axis].is_length())
        steps.add(graph, i, shape[axis].factor(), "steps", "all inputs of a call need the same length, pad the shorter ones");
  }
  return {std::max<std::int64_t>(1, samples.extent), std::max<std::int64_t>(1, steps.extent)};
}

namespace {

/// Whether steps keep the rows dense, which results pad.
bool has_open_rows(const Shape& shape) { return shape.rank() > 1 && !shape.back().is_fixed(); }
bool is_read_unpadded(const ir::InputSpec& input) { return input.unpadded || has_open_rows(input.type.shape); }

/// A new tensor of padded rows, its tail zeroed: a vector over the batch is written without padding.
Tensor padded_tensor(const Type& type) {
  Tensor result(type, runtime::Buffer::allocate(runtime::storage_bytes(type)));
  const Layout at = result.view().layout();
  const std::size_t element = size_of(type.dtype);
  if (at.rows == 1)
    std::memset(result.buffer().data() + static_cast<std::size_t>(at.cols) * element, 0, static_cast<std::size_t>(at.stride - at.cols) * element);
  return result;
}

/// For a result, as a step writes it.
Tensor result_tensor(const Type& type) { return rests_unpadded(type.shape) ? Tensor::at_rest(type) : padded_tensor(type); }

constexpr const char* one_thread = "train and predict on one thread, or predict with a clone() and publish() what it shall read";

/// Marks cells as being assigned while it lives. Throws UserError if one of them is already.
class Assignment {
 public:
  explicit Assignment(std::span<Cell* const> cells) : cells_(cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (std::atomic_ref(cells[i]->assigning).exchange(true, std::memory_order_acq_rel)) {
        cells_ = cells.first(i);
        end();
        throw UserError(cells[i]->name, "two steps on two threads assign it at the same time; give each model parameters of its own");
      }
  }
  ~Assignment() { end(); }
  Assignment(const Assignment&) = delete;
  Assignment& operator=(const Assignment&) = delete;

 private:
  void end() {
    for (Cell* cell : cells_) std::atomic_ref(cell->assigning).store(false, std::memory_order_release);
  }
  std::span<Cell* const> cells_;
};

}  // namespace

Tensor from_step_memory(const Type& symbolic, Sizes sizes, const std::byte* data) {
  const Type type{symbolic.dtype, symbolic.shape.at(sizes)};
  if (has_open_rows(symbolic.shape)) return Tensor::from_bytes(type, data);
  Tensor result = padded_tensor(type);
  const Layout at = result.view().layout();
  std::memcpy(result.buffer().data(), data, static_cast<std::size_t>(at.rows == 1 ? at.cols : at.padded_elements()) * size_of(type.dtype));
  return result;
}

Variant::Variant(std::shared_ptr<const CompiledGraph> compiled)
    : compiled_(std::move(compiled)), executor_(compiled_->image), guard_(compiled_->graph) {
  const ir::Graph& graph = compiled_->graph;
  if (compiled_->trace) executor_.observe(compiled_->trace->observer(graph.name(), compiled_->image.kernels));
  inputs_.resize(graph.inputs().size());
  table_rows_.resize(graph.inputs().size());
  states_.resize(graph.states().size());
  versions_.resize(graph.states().size());
  outputs_.resize(graph.outputs().size());
  copies_.resize(graph.inputs().size());
  dense_outputs_.resize(graph.outputs().size());
  for (std::size_t i = 0; i < graph.updates().size(); ++i)
    if (graph.updates()[i] != ir::no_node) assigned_.push_back(compiled_->traced.cells[i].get());
  for (const ir::NodeId id : graph.topological_order())
    if (std::holds_alternative<ir::Iota>(graph.node(id).op) && !graph.node(id).type.shape.is_fixed()) numbered_.push_back(id);
  const std::size_t declared = graph.inputs().size() - compiled_->traced.captured.size();
  for (std::size_t i = declared; i < inputs_.size(); ++i) inputs_[i] = step_memory(i, compiled_->traced.captured[i - declared]);
}

bool Variant::accepts(std::span<const Tensor* const> in) const {
  const auto specs = compiled_->graph.inputs();
  if (specs.size() - compiled_->traced.captured.size() != in.size() || !compiled_->traced.is_current()) return false;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i]->mask() || !sinter::accepts(specs[i], in[i]->type())) return false;
  return true;
}

std::byte* Variant::step_memory(std::size_t input, const Tensor& tensor) {
  const bool unpadded = is_read_unpadded(compiled_->graph.inputs()[input]);
  if (unpadded == tensor.is_unpadded() || (unpadded && tensor.view().layout().is_dense())) return tensor.buffer().data();
  runtime::Buffer& copy = copies_[input];
  const std::size_t bytes = runtime::storage_bytes(tensor.type(), {}, unpadded);
  if (!copy || copy.bytes() < bytes) copy = runtime::Buffer::allocate(bytes);
  if (unpadded) runtime::copy_to_dense(tensor.view(), copy.data());
  else runtime::copy_from_dense(tensor.buffer().data(), {tensor.type(), copy.data()});
  return copy.data();
}

void Variant::run(std::span<const Tensor* const> in, std::span<Tensor> out, int threads, bool force) {
  const ir::Graph& graph = compiled_->graph;
  const Sizes sizes = sizes_of(graph, in);
  check_numbered(sizes);
  for (std::size_t i = 0; i < in.size(); ++i) {
    inputs_[i] = step_memory(i, *in[i]);
    table_rows_[i] = graph.inputs()[i].kind == ir::InputSpec::Kind::table ? in[i]->shape()[0].factor() : 0;
  }
  check_indices(in, sizes);
  const Assignment assignment(assigned_);
  bind_states();
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Type& symbolic = graph.node(graph.outputs()[i]).type;
    const Type type{symbolic.dtype, symbolic.shape.at(sizes)};
    if (has_open_rows(symbolic.shape)) {
      dense_outputs_[i] = runtime::Buffer::allocate(static_cast<std::size_t>(type.shape.elements().factor()) * size_of(type.dtype));
      outputs_[i] = dense_outputs_[i].data();
    } else {
      out[i] = result_tensor(type);
      outputs_[i] = out[i].buffer().data();
    }
  }
  const std::uint32_t fault = executor_.run({inputs_, states_, outputs_, table_rows_, sizes, states_unchanged_}, threads, force);
  finish(fault, in);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (dense_outputs_[i]) out[i] = from_step_memory(graph.node(graph.outputs()[i]).type, sizes, dense_outputs_[i].data());
}

void Variant::check_numbered(Sizes sizes) const {
  for (const ir::NodeId id : numbered_) try {
      ir::require_numbered(compiled_->graph.node(id).type.shape.at(sizes).elements());
    } catch (const UserError&) {
      rethrow_at(compiled_->graph.node(id).origin.text(), str(ir::name(compiled_->graph.node(id).op), ": "));
    }
}

void Variant::check_indices(std::span<const Tensor* const> in, Sizes sizes) const {
  const auto& captured = compiled_->traced.captured;
  guard_.check(compiled_->graph, [&](std::size_t i) -> const Tensor& { return i < in.size() ? *in[i] : captured[i - in.size()]; }, sizes);
}

void Variant::bind_states() {
  const auto& cells = compiled_->traced.cells;
  before_.clear();
  if (!guard_.is_complete()) before_ = values_of(cells);
  states_unchanged_ = std::exchange(finished_, false);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Cell& cell = *cells[i];
    if (compiled_->graph.updates()[i] == ir::no_node) {
      if (cell.is_assigning()) cell.require_unassigned(one_thread);
    } else {
      AssignmentLog::note(cells[i]);
      if (!cell.buffer.unique()) {  // a snapshot still reads the old value
        runtime::Buffer own = runtime::Buffer::allocate(cell.buffer.bytes());
        std::memcpy(own.data(), cell.buffer.data(), cell.buffer.bytes());
        cell.buffer = std::move(own);
      }
    }
    states_[i] = cell.buffer.data();
    states_unchanged_ = states_unchanged_ && versions_[i] == cell.version;
    versions_[i] = cell.version;
  }
}

void Variant::finish(std::uint32_t fault, std::span<const Tensor* const> in) {
  const ir::Graph& graph = compiled_->graph;
  for (Cell* cell : assigned_) cell->changed();
  const std::vector<CellValue> before = std::exchange(before_, {});
  if (fault) {
    if (!before.empty()) restore(compiled_->traced.cells, before);
    tell(fault - 1, in);
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Cell& cell = *compiled_->traced.cells[i];
    if (graph.updates()[i] == ir::no_node && (cell.version != versions_[i] || cell.is_assigning()))
      throw UserError(cell.name, str("was assigned by a step on another thread while this one read it; ", one_thread));
  }
  finished_ = true;
}

void Variant::tell(ir::NodeId node, std::span<const Tensor* const> in) const {
  const Traced& traced = compiled_->traced;
  std::vector<Tensor> values = leaf_values(traced, in);
  interpret(traced.graph, values, {.sizes = sizes_of(traced.graph, in)});
  const ir::Graph& graph = compiled_->graph;  // it computes the index a little differently
  throw UserError(graph.node(node).origin.text(), fault_message(graph, node));
}

SampleSlice slice_of(std::int64_t step, std::int64_t batch, std::int64_t samples) {
  const std::int64_t begin = step % ((samples + batch - 1) / batch) * batch;
  return {begin, std::min(batch, samples - begin)};
}

void Variant::run_steps(std::span<const Tensor* const> in, std::span<Tensor> out, const RunOptions& run, int threads, bool force) {
  const ir::Graph& graph = compiled_->graph;
  const Sizes all = sizes_of(graph, in);
  check_numbered({run.batch ? std::min(all.n, run.batch) : all.n, all.t});
  check_indices(in, {run.batch ? std::min(all.n, run.steps * run.batch) : all.n, all.t});
  const Assignment assignment(assigned_);
  bind_states();
  struct Loop {
    Variant& self;
    std::vector<std::byte*> inputs, outputs;  ///< of step 0
    std::vector<std::size_t> sample_bytes;    ///< one per input: the stride between samples, 0 for inputs that all steps share
    std::int64_t samples, batch, length;
    std::span<const float> rates;
    std::size_t rate = 0;  ///< the state that takes them
  } loop{*this, {}, {}, {}, all.n, 0, all.t, run.learning_rates, 0};
  loop.batch = run.batch ? std::min(run.batch, loop.samples) : loop.samples;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const ir::InputSpec& spec = graph.inputs()[i];
    const Layout padded = layout(in[i]->shape(), 0), at = is_read_unpadded(spec) ? padded.unpadded() : padded;
    const bool sliced = spec.kind == ir::InputSpec::Kind::batch;
    const bool flat = at.stride == 1 || at.rows == 1;  // samples are adjacent elements
    inputs_[i] = step_memory(i, *in[i]);
    table_rows_[i] = spec.kind == ir::InputSpec::Kind::table ? in[i]->shape()[0].factor() : 0;
    loop.sample_bytes.push_back(sliced ? size_of(spec.type.dtype) * static_cast<std::size_t>(flat ? 1 : at.rows / loop.samples * at.stride) : 0);
  }
  loop.inputs = inputs_;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Type& type = graph.node(graph.outputs()[i]).type;
    require_scalar_output(graph.name(), i, type);
    out[i] = result_tensor({type.dtype, {run.steps}});
    loop.outputs.push_back(out[i].buffer().data());
  }
  const auto& cells = compiled_->traced.cells;
  if (!run.learning_rates.empty()) {
    while (loop.rate < cells.size() && cells[loop.rate] != run.learning_rate->cell()) ++loop.rate;
    if (loop.rate == cells.size())
      throw UserError(graph.name(), str("run: the step does not read '", run.learning_rate->name(), "', which has a value per step"));
    if (graph.updates()[loop.rate] != ir::no_node)
      throw UserError(graph.name(), str("run: the step assigns '", run.learning_rate->name(), "' itself; leave learning_rates empty"));
  }
  const auto bind = [](void* with, std::int64_t step, runtime::Bindings& bindings) {
    Loop& l = *static_cast<Loop*>(with);
    Variant& v = l.self;
    const auto [begin, count] = slice_of(step, l.batch, l.samples);
    for (std::size_t i = 0; i < l.sample_bytes.size(); ++i) v.inputs_[i] = l.inputs[i] + static_cast<std::size_t>(begin) * l.sample_bytes[i];
    for (std::size_t i = 0; i < l.outputs.size(); ++i)
      v.outputs_[i] = l.outputs[i] + static_cast<std::size_t>(step) * size_of(v.compiled_->graph.node(v.compiled_->graph.outputs()[i]).type.dtype);
    if (!l.rates.empty())  // memory of the caller: checked above that the step only reads it
      v.states_[l.rate] = reinterpret_cast<std::byte*>(const_cast<float*>(&l.rates[static_cast<std::size_t>(step)]));
    bindings = {v.inputs_, v.states_, v.outputs_, v.table_rows_, {count, l.length}};
  };
  const std::uint32_t fault = executor_.run_sequence({run.steps, {loop.batch, loop.length}, bind, &loop}, threads, force);
  std::vector<Tensor> slices;
  std::vector<const Tensor*> last;
  if (fault) {
    const auto [begin, count] = slice_of(executor_.last_step(), loop.batch, loop.samples);
    for (std::size_t i = 0; i < in.size(); ++i)
      slices.push_back(graph.inputs()[i].kind == ir::InputSpec::Kind::batch ? slice(*in[i], 0, begin, begin + count) : *in[i]);
    for (const Tensor& tensor : slices) last.push_back(&tensor);
  }
  finish(fault, last);
  if (!run.learning_rates.empty()) run.learning_rate->assign(Tensor(run.learning_rates.back()));
}

void require_scalar_output(const std::string& step, std::size_t output, const Type& type) {
  if (!type.shape.is_scalar())
    throw UserError(step, str("run: output ", output, " is ", type, "; many steps in a row return only scalars; call the step for other outputs"));
}

}  // namespace sinter
