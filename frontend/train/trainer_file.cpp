// Trainer::save and Trainer::load.
#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "frontend/core/name.h"
#include "frontend/core/nearest.h"
#include "frontend/file/model_file.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

constexpr const char* kind = "trainer";
// Entries of what is not as in most files: columns that are sequences, by number, and outputs of which only the steps of a mask count.
constexpr const char *sequence_inputs = "sequence_inputs", *sequence_outputs = "sequence_outputs", *masked_outputs = "masked_outputs";
const std::string user_prefix = "user.";  // of the keys of metadata
constexpr const char* vocabulary_key = "vocabulary";

const std::string& entry(const ModelFile& file, const std::string& path, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) throw UserError(path, str("the entry '", key, "' is missing; the file is damaged"));
  return found->second;
}

template <class T>
T number(const ModelFile& file, const std::string& path, const std::string& key) {
  const std::string& text = entry(file, path, key);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
    throw UserError(path, str("the entry '", key, "' must be a number of at least 0, got '", text, "'; the file is damaged"));
  return value;
}

/// "0 2" for the first and the third.
std::string numbers_of(const std::vector<bool>& are) {
  std::string text;
  for (std::size_t i = 0; i < are.size(); ++i)
    if (are[i]) text += str(text.empty() ? "" : " ", i);
  return text;
}

/// Which of so many an entry of numbers_of() names; none if there is no such entry.
std::vector<bool> those_of(const ModelFile& file, const std::string& path, const char* key, std::size_t count) {
  std::vector<bool> are(count);
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return are;
  std::istringstream text(found->second);
  for (std::size_t number; text >> number; are[number] = true)
    if (number >= count) throw UserError(path, str("the entry '", key, "' names number ", number, " of ", count, "; the file is damaged"));
  if (!text.eof()) throw UserError(path, str("the entry '", key, "' must be numbers, got '", found->second, "'; the file is damaged"));
  return are;
}

std::size_t count_of(const std::vector<bool>& are) { return static_cast<std::size_t>(std::count(are.begin(), are.end(), true)); }

}  // namespace

void Trainer::save(const std::string& path) {
  impl_->warn_of_statistics("save");
  runtime::save(path, impl_->archive(path));
}

void Trainer::Impl::require_known(const char* where) const {
  if (x_types.empty()) throw UserError(where, "the shapes of the data are not known yet; call fit, train_on_batch or evaluate first");
}

Traced Trainer::recorded_predictions() const {
  impl_->require_known("recorded_predictions");
  if (!impl_->has_byte_features()) return impl_->predict->record(impl_->predict_specs());
  const Spec floats = impl_->float_spec();
  return impl_->predict_floats->record({&floats, 1});
}

runtime::Archive Trainer::Impl::archive(const std::string& path) {
  Impl& impl = *this;
  require_known("save");
  const std::vector<Spec> tables = impl.table_specs();
  const bool returned_predictions = std::exchange(impl.returns_predictions, true);  // for the metrics that a loaded trainer may be given
  std::map<std::string, Traced> graphs{
      {"train", impl.train->record(tables)}, {"evaluate", impl.evaluate->record(tables)}, {"predict", impl.predict->record(impl.predict_specs())}};
  if (impl.has_byte_features()) {
    const Spec floats = impl.float_spec();
    graphs.emplace("predict_floats", impl.predict_floats->record({&floats, 1}));
  }
  impl.returns_predictions = returned_predictions;
  std::map<std::string, std::string> entries{
      {"kind", kind}, {"epoch", std::to_string(impl.epoch)}, {"scale", ir::number_text(impl.scale)}, {"learning_rate", impl.learning_rate.name()}};
  entries["inputs"] = std::to_string(impl.x_types.size());
  entries["outputs"] = std::to_string(impl.y_types.size());
  const auto add = [&](const char* key, const std::vector<bool>& are) {
    if (count_of(are)) entries[key] = numbers_of(are);
  };
  std::vector<bool> y_are_sequences;
  for (const Type& type : impl.y_types) y_are_sequences.push_back(is_of_sequences(type));
  add(sequence_inputs, impl.x_are_sequences);
  add(sequence_outputs, y_are_sequences);
  add(masked_outputs, impl.are_masked);
  for (const auto& [key, value] : impl.metadata) entries[user_prefix + key] = value;
  return model_archive(path, graphs, entries);
}

Trainer Trainer::load(const std::string& path, TrainerOptions options) {
  ModelFile file = read_model_file(path);
  if (entry(file, path, "kind") != kind) throw UserError(path, str("holds a ", entry(file, path, "kind"), ", not a trainer; load it with load_step"));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->epoch = number<std::int64_t>(file, path, "epoch");
  impl->scale = number<float>(file, path, "scale");
  impl->loaded = file.states;
  for (const auto& [key, value] : file.metadata)
    if (key.starts_with(user_prefix)) impl->metadata[key.substr(user_prefix.size())] = value;
  const std::string& rate = entry(file, path, "learning_rate");
  const auto found = std::find_if(file.states.begin(), file.states.end(), [&](const Parameter& p) { return p.name() == rate && p.type() == Type{}; });
  if (found == file.states.end()) throw UserError(path, str("the learning rate '", rate, "' is missing; the file is damaged"));
  impl->learning_rate = *found;
  const auto inputs = number<std::size_t>(file, path, "inputs"), outputs = number<std::size_t>(file, path, "outputs");
  if (inputs < 1 || outputs < 1) throw UserError(path, "the model has no inputs or no outputs; the file is damaged");
  const auto graph_of = [&](const std::string& name) -> Traced& {
    const auto graph = file.graphs.find(name);
    if (graph == file.graphs.end()) throw UserError(path, str("the graph '", name, "' is missing; the file is damaged"));
    return graph->second;
  };
  if (const std::size_t all = graph_of("train").graph.inputs().size(); inputs > all || outputs > all - inputs)
    throw UserError(path, str("the graph 'train' has ", all, " inputs, too few for ", inputs, " x and ", outputs, " y; the file is damaged"));
  impl->x_are_sequences = those_of(file, path, sequence_inputs, inputs);
  const std::vector<bool> y_are_sequences = those_of(file, path, sequence_outputs, outputs);
  impl->are_masked = those_of(file, path, masked_outputs, outputs);
  for (std::size_t i = 0; i < inputs + outputs; ++i) {
    Type type = graph_of("train").graph.inputs()[i].type;  // of the table
    const bool of_sequences = i < inputs ? impl->x_are_sequences[i] : y_are_sequences[i - inputs];
    if (of_sequences) type.shape = type.shape.insert(1, Dim::length());
    (i < inputs ? impl->x_types : impl->y_types).push_back(type);
  }
  const auto step = [&](const std::string& name, std::size_t least, std::size_t most) {
    Traced& traced = graph_of(name);
    const auto specs = traced.graph.inputs();
    const std::size_t declared = specs.size() - traced.captured.size();
    if (declared < least || declared > most)
      throw UserError(path, str("the graph '", name, "' must have ", least, " inputs, got ", declared, "; the file is damaged"));
    impl->weighted = impl->weighted || (least != most && declared > least);
    std::vector<InputKind> kinds;
    for (const ir::InputSpec& input : specs) kinds.push_back(input.kind);
    return std::make_shared<StepCore>(std::move(traced), step_options(options, name, std::move(kinds)));
  };
  const std::size_t unweighted = impl->unweighted_inputs(), masks = count_of(impl->x_are_sequences);
  impl->train = step("train", unweighted, unweighted + 1);
  impl->evaluate = step("evaluate", unweighted, unweighted + 1);
  impl->predict = step("predict", inputs + masks, inputs + masks);
  if (file.graphs.contains("predict_floats")) impl->predict_floats = step("predict_floats", 1, 1);
  const ir::Graph& graph = impl->train->traced_graph();
  if (const ir::InputSpec& rows = graph.inputs()[inputs + outputs]; rows.kind == InputKind::fixed && rows.type.shape.rank() == 1)
    impl->options.fixed_batch = rows.type.shape[0].factor();
  if (impl->has_byte_features() && !impl->predict_floats) throw UserError(path, "the graph 'predict_floats' is missing; the file is damaged");
  impl->metrics = named_metrics(options.metrics, options.weighted_metrics, outputs);
  impl->returns_predictions = !impl->metrics.empty();
  const std::vector<OutputTypes> types = impl->output_types();
  impl->layout = ResultLayout(types, impl->returns_predictions);
  const ResultLayout saved(types, true), without(types, false);
  for (const auto& judged : {impl->train, impl->evaluate}) {
    const std::size_t count = judged->traced_graph().outputs().size();
    if (count == without.count) {  // a file of a version that saved no predictions
      if (impl->returns_predictions)
        throw UserError(path, "holds no predictions for metrics, as files of earlier versions do; save it again from the program that made it");
      continue;
    }
    if (count != saved.count)
      throw UserError(path,
                      str("the graph '", judged->options().name, "' must have ", saved.count, " outputs, got ", count, "; the file is damaged"));
    if (!impl->returns_predictions) judged->keep_outputs(saved.results());
  }
  return Trainer(std::move(impl));
}

void Trainer::set_metadata(const std::string& key, std::string value) {
  require_name("set_metadata", key);
  if (key == vocabulary_key) impl_->vocabulary.reset();
  impl_->metadata[key] = std::move(value);
}

void Trainer::set_vocabulary(const data::Vocabulary& vocabulary) {
  set_metadata(vocabulary_key, vocabulary.to_json());
  impl_->vocabulary = vocabulary;
}

const data::Vocabulary& Trainer::vocabulary() const {
  if (!impl_->vocabulary) impl_->vocabulary = data::Vocabulary::from_json(metadata(vocabulary_key));
  return *impl_->vocabulary;
}

bool Trainer::has_metadata(const std::string& key) const { return impl_->metadata.contains(key); }

const std::string& Trainer::metadata(const std::string& key) const {
  const auto found = impl_->metadata.find(key);
  std::vector<std::string> known;
  for (const auto& [name, value] : impl_->metadata) known.push_back(name);
  if (found == impl_->metadata.end()) throw UserError("Trainer", str("there is no metadata '", key, "'", nearest_hint(key, known)));
  return found->second;
}

}  // namespace sinter
