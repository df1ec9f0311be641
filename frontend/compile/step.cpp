#include "frontend/compile/step.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "frontend/compile/judge.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/assignment_log.h"
#include "frontend/core/clock.h"
#include "frontend/core/grad.h"
#include "frontend/core/interpret.h"
#include "frontend/core/name.h"
#include "frontend/core/warn.h"

namespace sinter {

namespace {

Type typed(DType dtype, Shape lead, const std::vector<std::int64_t>& dims) {
  const bool batch = lead.has_batch();
  for (const std::int64_t dim : dims) {
    if (dim == Spec::any_length && !batch) throw UserError("spec", "only batch inputs may have any_length; a table or a fixed input has numbers");
    lead = lead.insert(lead.rank(), dim == Spec::any_length ? Dim::length() : Dim(dim));
  }
  return {dtype, Shape(lead)};
}

}  // namespace

Spec Spec::batch(DType dtype, const std::vector<std::int64_t>& dims) { return {typed(dtype, {Dim::batch()}, dims), InputKind::batch}; }
Spec Spec::fixed(DType dtype, const std::vector<std::int64_t>& dims) { return {typed(dtype, {}, dims), InputKind::fixed}; }
Spec Spec::table(DType dtype, const std::vector<std::int64_t>& dims) { return {typed(dtype, {Dim::rows()}, dims), InputKind::table}; }

namespace {

/// The term of a parameter's gradient in the global norm that clip_gradients limits becomes 0.
void leave_out_of_norm(ir::Graph& graph, const std::string& parameter) {
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    const ir::Node& node = graph.node(id);
    const auto is_elsewhere = [&](ir::NodeId user) { return graph.node(user).origin.layer != parameter; };
    if (node.dead || node.origin.layer != parameter || node.type != Type{} || std::none_of(node.users.begin(), node.users.end(), is_elsewhere))
      continue;
    graph.replace_all_uses(id, graph.add(ir::Constant{0, DType::f32}, {}).id);
  }
}

/// A recorded graph in which frozen parameters keep their values, and so do their optimizer slots, `adam/dense_1.weight/m`.
Traced with_frozen(Traced traced) {
  ir::Graph& graph = traced.graph;
  for (std::size_t i = 0; i < traced.cells.size(); ++i) {
    const std::shared_ptr<Cell>& cell = traced.cells[i];
    if (!graph.states()[i].trainable || graph.updates()[i] == ir::no_node) continue;
    traced.flags.push_back({{cell, &cell->trainable}, cell->trainable});
    if (cell->trainable) continue;
    leave_out_of_norm(graph, graph.states()[i].name);
    for (std::size_t k = 0; k < traced.cells.size(); ++k)
      if (k == i || graph.states()[k].name.find("/" + graph.states()[i].name + "/") != std::string::npos) graph.clear_update(k);
  }
  return traced;
}

}  // namespace

namespace {

void require_threads(const std::string& name, int threads) {
  if (threads < 0) throw UserError(name, str("threads must not be negative, got ", threads, "; 0 means all that the process may use"));
}

}  // namespace

StepCore::StepCore(Function function, StepOptions options, std::source_location where) : impl_(std::make_unique<Impl>()) {
  impl_->function = std::move(function);
  impl_->options = std::move(options);
  impl_->where = where;
  require_name("compile", impl_->options.name);
  require_threads(impl_->options.name, impl_->options.threads);
}

StepCore::StepCore(Traced traced, StepOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->recorded = std::make_shared<Traced>(std::move(traced));
  impl_->options = std::move(options);
  if (impl_->options.name == StepOptions{}.name) impl_->options.name = impl_->recorded->graph.name();
  require_threads(impl_->options.name, impl_->options.threads);
}

StepCore::StepCore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StepCore::~StepCore() = default;

// ---- variants ----

Settings StepCore::Impl::compile_settings() const {
  Settings result = settings();
  result.without.insert(result.without.end(), options.without.begin(), options.without.end());
  return result;
}

std::vector<Spec> StepCore::Impl::specs_of(std::span<const Tensor* const> in) const {
  std::vector<Spec> specs;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]->defined()) throw UserError(options.name, str("input ", i, " was never set"));
    if (in[i]->mask())
      throw UserError(options.name,
                      str("input ", i, " has a mask, which would be lost here; make the mask an input too, and call nn::with_mask inside"));
    const Shape& shape = in[i]->shape();
    InputKind kind = shape.rank() ? InputKind::batch : InputKind::fixed;
    if (i < options.kinds.size()) kind = options.kinds[i];
    if (kind != InputKind::fixed && shape.rank() == 0)
      throw UserError(options.name, str("input ", i, " is declared a ", kind == InputKind::batch ? "batch" : "table", " but is a scalar"));
    Type type = in[i]->type();
    if (kind == InputKind::batch) type.shape = shape.with(0, Dim::batch());
    if (kind == InputKind::table) type.shape = shape.with(0, Dim::rows());
    if (std::find(options.lengths.begin(), options.lengths.end(), i) != options.lengths.end()) {
      if (kind != InputKind::batch || shape.rank() < 2)
        throw UserError(options.name, str("input ", i, " is to have any length, but is no batch [N, T, ...]: it is ", in[i]->type()));
      type.shape = type.shape.with(1, Dim::length());
    }
    specs.push_back({type, kind});
  }
  return specs;
}

Traced StepCore::Impl::trace(std::span<const Spec> specs) const {
  if (recorded) {
    const auto declared = recorded->graph.inputs().size() - recorded->captured.size();
    if (specs.size() != declared) throw UserError(options.name, str("takes ", declared, " inputs, got ", specs.size()));
    for (std::size_t i = 0; i < specs.size(); ++i)
      if (!accepts(recorded->graph.inputs()[i], specs[i].type))
        throw UserError(options.name,
                        str("input '", recorded->graph.inputs()[i].name, "' must be ", recorded->graph.inputs()[i].type, ", got ", specs[i].type));
    return with_frozen(*recorded);  // that of a clone has the clone's cells already
  }
  Trace trace(options.name);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < specs.size(); ++i) inputs.push_back(trace.input({str("x", i), specs[i].type, specs[i].kind}));
  for (const Tensor& output : function(inputs)) trace.output(output);
  Traced traced = trace.finish();
  if (published) make_own(traced);
  return traced;
}

void StepCore::Impl::make_own(Traced& traced) const {
  for (std::size_t i = 0; i < traced.cells.size(); ++i)
    if (traced.graph.updates()[i] != ir::no_node)
      throw UserError(options.name, str("clone() is for steps that assign nothing, this one assigns '", traced.cells[i]->name,
                                        "'; run it on one thread, and publish() what clones of other steps read"));
  traced.cells = published->in_place_of(traced.cells);
  traced.flags.clear();  // those of the parameters and modules that another thread may freeze
}

void StepCore::Impl::tell(const Traced& traced) {
  for (const std::string& text : traced.warnings) {
    if (std::find(warned.begin(), warned.end(), text) != warned.end()) continue;
    warned.push_back(text);
    warn(options.log, str("[", Origin::from(where, options.name).text(), "] ", text));
  }
}

Traced StepCore::Impl::kept(Traced traced) const {
  if (!kept_outputs) return traced;
  std::vector<ir::NodeId> outputs;
  for (const std::size_t i : *kept_outputs) outputs.push_back(traced.graph.outputs()[i]);
  traced.graph.set_outputs(std::move(outputs));
  return traced;
}

Variant& StepCore::Impl::build(std::span<const Spec> specs, std::span<const Tensor* const> in) {
  constexpr std::size_t most_variants = 8;
  const auto start = std::chrono::steady_clock::now();
  Traced traced = kept(trace(specs));
  tell(traced);
  const Sizes sizes = in.empty() ? Sizes(0) : sizes_of(traced.graph, in);
  const double seconds = since(start);
  auto compiled = std::make_shared<CompiledGraph>(
      compile_graph(std::move(traced), {.profile = watched != nullptr, .sizes = sizes, .settings = compile_settings(), .log = options.log}));
  compiled->trace_seconds = seconds;
  const std::lock_guard lock(changing);
  ++compiles;
  compile_seconds += compiled->seconds();
  if (variants.size() == most_variants) {
    if (options.log)
      options.log(str("[", options.name, "] more than ", most_variants,
                      " combinations of input shapes and types; the one used least recently is dropped and will be compiled again. "
                      "Only the leading (batch) dimension may vary freely"));
    variants.pop_back();
  }
  variants.insert(variants.begin(), std::make_unique<Variant>(std::move(compiled)));
  if (watched) watched->add(*variants.front());
  return *variants.front();
}

Variant& StepCore::Impl::variant_for(std::span<const Tensor* const> in) {
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (variants[i]->accepts(in)) {
      if (i == 0) return *variants.front();
      const std::lock_guard lock(changing);
      std::rotate(variants.begin(), variants.begin() + static_cast<std::ptrdiff_t>(i), variants.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return *variants.front();
    }
  build(specs_of(in), in);
  if (settings().verify) verify_latest(in);
  return *variants.front();
}

void StepCore::Impl::verify_latest(std::span<const Tensor* const> in) {
  const VerifyReport report = judge(*this, in);
  if (report.ok()) return;
  {
    const std::lock_guard lock(changing);
    variants.erase(variants.begin());
  }
  throw UserError(options.name, str("SINTER_VERIFY: the compiled step is wrong, this is a bug in Sinter; nothing was changed.\n", report));
}

const Variant& StepCore::Impl::latest() const {
  if (variants.empty())
    throw UserError(options.name, "has not been compiled yet; call it once in graph mode, or compile it with the types of its inputs");
  return *variants.front();
}

// ---- eager ----

void StepCore::Impl::require_traceable(std::span<const Tensor* const> in) {
  std::vector<Spec> specs = specs_of(in);
  if (std::find(traceable.begin(), traceable.end(), specs) != traceable.end()) return;
  try {
    tell(trace(specs));
  } catch (const NoTracedValue&) {  // it looks at values, which is what eager mode is for
  }
  traceable.push_back(std::move(specs));
}

std::vector<Tensor> StepCore::Impl::run_eagerly(std::span<const Tensor* const> in) {
  if (!recorded && !published) {
    if (!seen) {
      std::vector<Spec> specs = specs_of(in);
      const std::lock_guard lock(changing);
      seen = std::move(specs);
    }
    require_traceable(in);
    std::vector<Tensor> inputs;
    for (const Tensor* tensor : in) inputs.push_back(is_float(tensor->dtype()) ? watch(tensor->detach()) : *tensor);
    AssignmentLog log;
    std::vector<Tensor> out = function(inputs);
    log.keep();
    for (Tensor& tensor : out) tensor = tensor.detach();
    return out;
  }
  const Traced traced = kept(trace(specs_of(in)));
  const ir::Graph& graph = traced.graph;
  std::vector<Tensor> values = leaf_values(traced, in);
  const auto observer = watched ? watched->observer(graph) : nullptr;
  interpret(graph, values, {.sizes = sizes_of(graph, in), .keep_all = true, .observer = observer});
  for (std::size_t i = 0; i < traced.cells.size(); ++i)
    if (const ir::NodeId update = graph.updates()[i]; update != ir::no_node) {
      traced.cells[i]->buffer = values[update].padded().buffer();
      traced.cells[i]->changed();
    }
  std::vector<Tensor> out;
  for (const ir::NodeId id : graph.outputs()) out.push_back(values[id]);
  return out;
}

std::vector<Tensor> leaf_values(const Traced& traced, std::span<const Tensor* const> in) {
  const ir::Graph& graph = traced.graph;
  std::vector<Tensor> values(graph.size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    values[graph.input_node(i)] = i < in.size() ? in[i]->detach() : traced.captured[i - in.size()];
  for (std::size_t i = 0; i < graph.states().size(); ++i) values[graph.state_node(i)] = Tensor(traced.cells[i]->type, traced.cells[i]->buffer);
  return values;
}

void StepCore::compile(std::span<const Spec> specs) {
  if (effective_mode(impl_->options.mode) == Mode::graph) impl_->build(specs);
}

Traced StepCore::record(std::span<const Spec> specs) const { return impl_->trace(specs); }

// ---- looking inside ----

const ir::Graph& StepCore::graph() const { return impl_->latest().compiled().graph; }
const ir::Graph& StepCore::traced_graph() const {
  return impl_->variants.empty() && impl_->recorded ? impl_->recorded->graph : impl_->latest().compiled().traced.graph;
}
std::vector<std::shared_ptr<Cell>> StepCore::cells() const {
  return impl_->variants.empty() && impl_->recorded ? impl_->recorded->cells : impl_->latest().compiled().traced.cells;
}
std::size_t StepCore::compile_count() const { return impl_->compiles; }
double StepCore::compile_seconds() const { return impl_->compile_seconds; }
std::int64_t StepCore::last_threads() const { return impl_->variants.empty() ? 0 : impl_->variants.front()->executor().last_threads(); }
const StepOptions& StepCore::options() const { return impl_->options; }
void StepCore::set_mode(Mode mode) { impl_->options.mode = mode; }
void StepCore::set_find_non_finite(bool on) { impl_->options.find_non_finite = on; }
void StepCore::keep_outputs(std::vector<std::size_t> indices) { impl_->kept_outputs = std::move(indices); }

void StepCore::observe(StepTimes* into) {
  const std::lock_guard lock(impl_->changing);
  if (impl_->watched) {
    impl_->variants = std::move(impl_->watched->unwatched);
    impl_->watched.reset();
  }
  if (!into) return;
  impl_->watched = std::make_unique<StepWatch>(*into);
  impl_->watched->unwatched = std::exchange(impl_->variants, {});
}

void StepCore::set_kinds(std::vector<InputKind> kinds, std::vector<std::size_t> lengths) {
  impl_->options.kinds = std::move(kinds);
  impl_->options.lengths = std::move(lengths);
}

void StepCore::set_threads(int threads, bool force) {
  require_threads(impl_->options.name, threads);
  impl_->options.threads = threads;
  impl_->options.force = force;
}

std::shared_ptr<StepCore> StepCore::clone() const {
  auto impl = std::make_unique<Impl>();
  const std::lock_guard lock(impl_->changing);
  impl->function = impl_->function;
  impl->kept_outputs = impl_->kept_outputs;
  impl->options = impl_->options;
  impl->where = impl_->where;
  std::vector<std::shared_ptr<Cell>> cells;
  if (impl_->published) cells = impl_->published->all();
  const auto read = [&](const Traced& traced) { cells.insert(cells.end(), traced.cells.begin(), traced.cells.end()); };
  if (impl_->recorded) read(*impl_->recorded);
  for (const auto& variant : impl_->variants) read(variant->compiled().traced);
  Traced eager;
  if (cells.empty() && impl_->seen) read(eager = impl_->trace(*impl_->seen));
  impl->published = std::make_unique<PublishedCells>(cells);
  impl->make_own(eager);
  if (impl_->recorded) impl->make_own(*(impl->recorded = std::make_shared<Traced>(*impl_->recorded)));
  for (const auto& variant : impl_->variants) {
    auto own = std::make_shared<CompiledGraph>(variant->compiled());
    impl->make_own(own->traced);
    impl->variants.push_back(std::make_unique<Variant>(std::move(own)));
  }
  return std::shared_ptr<StepCore>(new StepCore(std::move(impl)));
}

VerifyReport StepCore::verify(std::span<const Tensor* const> in) {
  const Call call(*impl_);
  return judge(*impl_, in);
}

TimeReport StepCore::time(std::span<const Tensor* const> in, int repeats) {
  const Call call(*impl_);
  return measure(*impl_, in, repeats);
}

}  // namespace sinter
