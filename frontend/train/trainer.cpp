#include "frontend/train/trainer.h"

#include <algorithm>
#include <numeric>

#include "frontend/compile/variant.h"
#include "frontend/core/grad.h"
#include "frontend/core/nearest.h"
#include "frontend/core/publish.h"
#include "frontend/nn/mask.h"
#include "frontend/nn/summary.h"
#include "frontend/train/trainer_impl.h"
#include "frontend/train/training_batch.h"

namespace sinter {

Trainer::Trainer(std::shared_ptr<nn::Module> model, Losses losses, std::shared_ptr<optim::Optimizer> optimizer, TrainerOptions options)
    : impl_(std::make_unique<Impl>()) {
  Impl* impl = impl_.get();
  impl->options = options;
  if (options.fixed_batch < 0) throw UserError("Trainer", str("fixed_batch must not be negative, got ", options.fixed_batch));
  if (!model || !optimizer) throw UserError("Trainer", str("the ", model ? "optimizer" : "model", " is null"));
  impl->model = model;
  impl->optimizer = optimizer;
  impl->losses = losses;
  impl->learning_rate = optimizer->learning_rate();
  impl->metrics = named_metrics(options.metrics, options.weighted_metrics, losses.size());
  impl->returns_predictions = !impl->metrics.empty();
  const auto step = [&](const char* name, StepCore::Function function) {
    return std::make_shared<StepCore>(std::move(function), step_options(options, name), std::source_location::current());
  };
  impl->train = step("train", [impl, model, losses, optimizer, regularizer = options.regularizer](std::span<const Tensor> in) -> std::vector<Tensor> {
    const nn::TrainingScope training;
    PartClock clock(Trace::current() ? nullptr : impl->times);
    const TrainingBatch batch(in, *impl);
    clock.enter(TrainingPart::forward);
    const std::vector<Tensor> predictions = model->call_all(batch.x);
    BatchLoss loss(losses, predictions, batch);
    if (regularizer) loss.total = loss.total + regularizer();
    if (model->has_penalty()) loss.total = loss.total + model->penalty();
    const std::vector<Parameter> parameters = model->trainable_parameters();
    clock.enter(TrainingPart::metrics);
    std::vector<Tensor> out = results_of(loss, predictions, batch, impl->returns_predictions);
    clock.enter(TrainingPart::backward);
    const std::vector<Tensor> gradients = grad(loss.total, parameters);
    clock.enter(TrainingPart::update);
    optimizer->update(parameters, gradients);
    return out;
  });
  impl->evaluate = step("evaluate", [impl, model, losses](std::span<const Tensor> in) {
    const TrainingBatch batch(in, *impl);
    const std::vector<Tensor> predictions = model->call_all(batch.x);
    const BatchLoss loss(losses, predictions, batch);
    return results_of(loss, predictions, batch, impl->returns_predictions);
  });
  const auto predict = [impl](std::span<const Tensor> in) { return impl->forward(in); };
  impl->predict = step("predict", predict);
  impl->predict_floats = step("predict_floats", predict);
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

// ---- data ----

void Trainer::Impl::accept(const Dataset& data, const char* where) {
  data.check(where);
  if (x_types.empty()) {
    if (options.fixed_batch && !sequences_of(data).empty())
      throw UserError(where, "TrainerOptions::fixed_batch needs arrays, and this data has sequences; pad them with Sequences::padded");
    for (const Column& column : data.x) x_types.push_back(column.type());
    for (const Column& column : data.y) y_types.push_back(column.type());
    if (model) {
      scale = data.scale;
      take_sequences(data.x);
      std::vector<InputKind> kinds;
      std::vector<std::size_t> lengths;
      for (const Spec& spec : table_specs()) {
        if (spec.kind == InputKind::batch && spec.type.shape.has_length()) lengths.push_back(kinds.size());
        kinds.push_back(spec.kind);
      }
      if (!weighted) kinds.push_back(InputKind::table);
      train->set_kinds(kinds, lengths);
      evaluate->set_kinds(kinds, lengths);
    }
    try {
      layout = ResultLayout(output_types(), returns_predictions);
    } catch (...) {  // data that the model cannot take does not fix the types
      x_types.clear(), y_types.clear(), x_are_sequences.clear();
      throw;
    }
    return;
  }
  const auto check = [&](const char* what, const Columns& list, std::span<const Type> known) {
    if (list.size() != known.size()) throw UserError(where, str("the first data had ", known.size(), " ", what, ", now there are ", list.size()));
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Type type = list[i].type();
      const bool fits = sinter::accepts({what, known[i], InputKind::table}, type), both = is_of_sequences(known[i]) == list[i].has_sequences();
      if (fits && both) continue;
      throw UserError(where, str("the first data had ", what, " of ", known[i], " (samples first), now they are ", type,
                                 fits ? "; give sequences: Sequences::from_padded makes them" : ""));
    }
  };
  check("x", data.x, x_types);
  check("y", data.y, y_types);
  for (const Type& type : x_types)
    if (type.dtype == DType::u8 && data.scale != scale) throw UserError(where, str("the first data had scale ", scale, ", now it is ", data.scale));
}

Tensor Trainer::Impl::as_feature(const Tensor& x) const { return x.dtype() == DType::u8 ? cast(x, DType::f32) * scale : x; }

bool Trainer::Impl::takes_sequences() const { return std::find(x_are_sequences.begin(), x_are_sequences.end(), true) != x_are_sequences.end(); }

void Trainer::Impl::take_sequences(const Columns& x) {
  x_are_sequences.clear();
  for (const Column& column : x) x_are_sequences.push_back(column.has_sequences());
  predict->set_kinds({}, inputs_in_steps());
}

std::vector<std::size_t> Trainer::Impl::inputs_in_steps() const {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < x_are_sequences.size(); ++i)
    if (x_are_sequences[i]) inputs.push_back(i);
  const std::size_t masks = inputs.size();
  for (std::size_t i = 0; i < masks; ++i) inputs.push_back(x_are_sequences.size() + i);
  return inputs;
}

std::vector<Tensor> Trainer::Impl::forward(std::span<const Tensor> in, std::vector<bool>* have_masks) const {
  const auto masks = static_cast<std::size_t>(std::count(x_are_sequences.begin(), x_are_sequences.end(), true));
  std::vector<Tensor> x;
  for (std::size_t i = 0, mask = in.size() - masks; i < in.size() - masks; ++i) {
    x.push_back(as_feature(in[i]));
    if (masks && x_are_sequences[i]) x[i] = nn::with_mask(x[i], in[mask++]);
  }
  std::vector<Tensor> out = model->call_all(x);
  for (Tensor& y : out) {
    const Tensor mask = nn::mask_of(y);
    if (have_masks) have_masks->push_back(mask.defined());
    if (masks && mask.defined()) y = nn::where_exists(mask, y);
  }
  return out;
}

Tensor Trainer::Impl::row_numbers(std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(first));
  return Tensor(numbers, {count});
}

std::vector<Spec> Trainer::Impl::table_specs() const {
  std::vector<Spec> specs;
  for (const std::vector<Type>* types : {&x_types, &y_types})
    for (const Type& type : *types)
      specs.push_back({{type.dtype, (is_of_sequences(type) ? type.shape.erase(1, 2) : type.shape).with(0, Dim::rows())}, InputKind::table});
  specs.push_back(options.fixed_batch ? Spec::fixed(DType::i32, {options.fixed_batch}) : Spec::batch(DType::i32, {}));
  for (const std::vector<Type>* types : {&x_types, &y_types})
    for (const Type& type : *types)
      if (is_of_sequences(type))
        specs.insert(specs.end(), {Spec::batch(DType::i32, {Spec::any_length}), Spec::batch(DType::boolean, {Spec::any_length})});
  if (weighted) specs.push_back(Spec::table(DType::f32, {}));
  return specs;
}

std::size_t Trainer::Impl::unweighted_inputs() const {
  const auto in_sequences =
      std::count_if(x_types.begin(), x_types.end(), is_of_sequences) + std::count_if(y_types.begin(), y_types.end(), is_of_sequences);
  return x_types.size() + y_types.size() + 1 + 2 * static_cast<std::size_t>(in_sequences);
}

std::vector<Spec> Trainer::Impl::predict_specs() const {
  std::vector<Spec> specs;
  for (const Type& type : x_types) specs.push_back({{type.dtype, type.shape.with(0, Dim::batch())}, InputKind::batch});
  for (const Type& type : x_types)
    if (is_of_sequences(type)) specs.push_back(Spec::batch(DType::boolean, {Spec::any_length}));
  return specs;
}

void Trainer::Impl::require_registered(const Traced& forward) const {
  const std::vector<Parameter> known = model->parameters();
  for (const auto& cell : forward.cells)
    if (cell->trainable && std::none_of(known.begin(), known.end(), [&](const Parameter& p) { return p.cell() == cell; }))
      throw UserError("Trainer", str("the model uses the parameter '", cell->qualified_name.empty() ? cell->name : cell->qualified_name,
                                     "', which is none of its parameters() and would not be trained; add() the "
                                     "layer that holds it in the constructor, or freeze it"));
}

void Trainer::Impl::require_batch(std::int64_t samples, const char* where) const {
  if (options.fixed_batch && samples != options.fixed_batch)
    throw UserError(where, str("batches have ", options.fixed_batch, " samples here, by TrainerOptions::fixed_batch, got a batch size of ", samples));
}

void Trainer::Impl::require_whole_batch(const Dataset& data, const char* where) const {
  if (data.size() < options.fixed_batch)
    throw UserError(where,
                    str("batches have ", options.fixed_batch, " samples here, by TrainerOptions::fixed_batch, and there are only ", data.size()));
}

std::vector<OutputTypes> Trainer::Impl::output_types() {
  Traced traced;
  if (model) {
    are_masked.clear();
    traced = StepCore([this](std::span<const Tensor> in) { return forward(in, &are_masked); }, step_options(options, "predict"),
                      std::source_location::current())
                 .record(predict_specs());
    require_registered(traced);
  } else {
    traced = predict->record(predict_specs());
  }
  const auto outputs = traced.graph.outputs();
  if (outputs.size() != y_types.size())
    throw UserError("Trainer", str("the model gives ", outputs.size(), " outputs, but the data has ", y_types.size(), " targets; give one for each"));
  std::vector<OutputTypes> types;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    types.push_back({traced.graph.node(outputs[i]).type, y_types[i], is_of_sequences(y_types[i]) || are_masked[i]});
  return types;
}

// ---- calls ----

TimeReport Trainer::time(const Dataset& data, std::int64_t batch_size, int repeats) {
  Impl& impl = *impl_;
  impl.accept(data, "time");
  if (batch_size < 1 || repeats < 1) throw UserError("time", str("batch_size and repeats must be at least 1, got ", batch_size, " and ", repeats));
  impl.require_batch(std::min(batch_size, data.size()), "time");
  const Tensor rows = Impl::row_numbers(0, std::min(batch_size, data.size())), weights = impl.step_weights(data, data.weights);
  BatchInputs inputs;
  return impl.train->time(inputs.of({data, weights}, rows), repeats);
}

namespace {

/// "dense" of "encoder_1.dense_2".
std::string kind_of(const std::string& layer) {
  const std::size_t dot = layer.rfind('.'), first = dot == layer.npos ? 0 : dot + 1, last = layer.rfind('_');
  const bool is_numbered = last != layer.npos && last > first && layer.find_first_not_of("0123456789", last + 1) == layer.npos;
  return layer.substr(first, is_numbered ? last - first : layer.npos);
}

/// The summary of a graph from a file: one line for each layer that nodes name, in the order in which they end.
std::string summary_of(const Traced& traced) {
  std::vector<nn::SummaryLine> lines;
  std::vector<Parameter> all;
  const ir::Graph& graph = traced.graph;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const std::string& layer = node.origin.layer;
    if (layer.empty() || ir::is_leaf(node.op)) continue;
    std::erase_if(lines, [&](const nn::SummaryLine& line) { return line.layer == layer; });
    lines.push_back({layer, kind_of(layer), node.type.shape, 0});
  }
  for (const auto& cell : traced.cells) {
    all.emplace_back(cell->name, Tensor(cell->type, cell->buffer), cell->trainable);
    const std::size_t dot = cell->name.rfind('.');
    const bool is_of_root = dot == cell->name.npos;  // the line of a root has its kind
    for (nn::SummaryLine& line : lines)
      if (is_of_root ? line.layer == line.kind : line.layer == cell->name.substr(0, dot)) line.parameters += nn::count_elements({&all.back(), 1});
  }
  return nn::summary_table(lines, all);
}

}  // namespace

std::string Trainer::summary(nn::SummaryOptions options) {
  if (!impl_->model)
    return summary_of(impl_->predict->record(impl_->predict_specs())) + (options.details ? "A file does not have the settings of layers.\n" : "");
  if (impl_->x_types.empty()) throw UserError("Trainer", "the shapes of the data are not known yet; call fit, train_on_batch or evaluate first");
  std::vector<Type> types;
  for (const Type& type : impl_->x_types) types.push_back({type.dtype == DType::u8 ? DType::f32 : type.dtype, type.shape.with(0, Dim::batch())});
  std::string text = impl_->model->summary_all(types, options);
  if (!options.details) return text;
  const auto add = [&](const std::string& what, const std::string& name, const std::vector<Setting>& settings) {
    text += str(what, " ", name, "\n");
    for (const std::string& line : nn::details_of(name, settings)) text += "  " + line + "\n";
  };
  const Losses& losses = *impl_->losses;
  for (std::size_t i = 0; i < losses.size(); ++i)
    add(losses.size() == 1 ? str("Loss:") : str("Loss of output ", i + 1, ", times ", losses[i].factor, ":"), losses[i].loss.name(),
        losses[i].loss.settings());
  add("Optimizer:", impl_->optimizer->name(), impl_->optimizer->settings());
  return text;
}

void Trainer::set_mode(Mode mode) {
  impl_->options.mode = mode;
  for (const auto& step : {impl_->train, impl_->evaluate, impl_->predict, impl_->predict_floats})
    if (step) step->set_mode(mode);
}

MonitorMode Trainer::monitor_mode(const std::string& name) const {
  std::vector<std::string> own{name};  // as it may be called without the name of a set
  for (const std::string& prefix : impl_->value_prefixes)
    if (name.starts_with(prefix)) own.push_back(name.substr(prefix.size()));
  const auto is_own = [&](const std::string& its) { return std::find(own.begin(), own.end(), its) != own.end(); };
  std::string known = "loss, accuracy";
  bool is_value = is_own("learning_rate") || is_own("seconds");
  for (const NamedMetric& judged : impl_->metrics) {
    const MonitorMode mode = judged.metric->mode();
    if (is_own(judged.name) && mode != MonitorMode::automatic) return mode;
    is_value |= is_own(judged.name);
    if (mode != MonitorMode::automatic) known += ", " + judged.name;
  }
  if (is_value)
    throw UserError("Trainer", str("it is not known whether a smaller or a greater '", name, "' is better, but only of ", known,
                                   "; give the callback .mode = MonitorMode::min or max, or the metric's constructor"));
  for (const std::string& its : own)
    if (const MonitorMode mode = mode_of_value(its); mode != MonitorMode::automatic) return mode;
  return MonitorMode::automatic;
}

void Trainer::stop() { impl_->stopped = true; }

void Trainer::set_learning_rate(float rate) {
  if (!(rate >= 0) || rate > 3e38f) throw UserError("Trainer", str("the learning rate must be a finite number of at least 0, got ", rate));
  impl_->learning_rate.assign(Tensor(rate));
}

float Trainer::learning_rate() const { return static_cast<float>(impl_->learning_rate.read().item()); }

void Trainer::publish() const {
  if (impl_->model) return impl_->model->publish();
  const auto cells = impl_->predict->cells();
  std::vector<Parameter> read;
  for (const Parameter& p : impl_->loaded)
    if (std::find(cells.begin(), cells.end(), p.cell()) != cells.end()) read.push_back(p);
  sinter::publish(read);
}

std::vector<Parameter> Trainer::parameters() const {
  if (!impl_->model) return impl_->loaded;
  std::vector<Parameter> result = impl_->model->parameters();
  for (const Parameter& p : impl_->optimizer->state()) result.push_back(p);
  return result;
}

namespace {

std::string layer_of(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.') + 1); }

/// Throws UserError if a layer with statistics would be frozen: it would have to run as in inference, but what was recorded takes the statistics of
/// the batch.
void require_no_statistics(const ir::Graph& graph, std::span<const Parameter> all, std::span<const Parameter> frozen) {
  for (std::size_t i = 0; i < graph.states().size(); ++i) {
    const ir::StateSpec& state = graph.states()[i];
    const std::string layer = layer_of(state.name);
    if (state.trainable || graph.updates()[i] == ir::no_node || state.name.find('/') != state.name.npos) continue;  // '/': of the optimizer
    const auto is_of_layer = [&](const Parameter& p) { return layer_of(p.name()) == layer; };
    const auto stays = [&](const Parameter& p) {
      return is_of_layer(p) && p.trainable() && std::find(frozen.begin(), frozen.end(), p) == frozen.end();
    };
    if (std::any_of(frozen.begin(), frozen.end(), is_of_layer) && std::none_of(all.begin(), all.end(), stays))
      throw UserError("Trainer",
                      str("a trainer from a file cannot freeze '", layer.empty() ? "model" : layer.substr(0, layer.size() - 1),
                          "', whose training step changes '", state.name, "'; freeze it before saving, in the program that defines the model"));
  }
}

}  // namespace

void Trainer::set_trainable(const std::string& pattern, bool trainable) {
  if (impl_->model) return impl_->model->set_trainable(pattern, trainable);
  std::vector<std::string> known;
  std::vector<Parameter> matched;
  const ir::Graph& graph = impl_->train->traced_graph();
  const auto states = graph.states();
  for (const Parameter& p : impl_->loaded) {
    const bool is_trained = std::any_of(states.begin(), states.end(), [&](const ir::StateSpec& s) { return s.trainable && s.name == p.name(); });
    if (!is_trained) continue;
    known.push_back(p.name());
    if (matches(pattern, p.name())) matched.push_back(p);
  }
  if (!trainable) require_no_statistics(graph, impl_->loaded, matched);
  for (Parameter& p : matched) p.set_trainable(trainable);
  if (matched.empty()) throw UserError("Trainer", str("no parameter that the file trains matches '", pattern, "'", nearest_hint(pattern, known)));
}

StepCore& Trainer::train_step() { return *impl_->train; }
StepCore& Trainer::predict_step() { return *impl_->predict; }
std::string Trainer::explain() { return impl_->train->explain(); }
std::int64_t Trainer::epoch() const { return impl_->epoch; }

}  // namespace sinter
