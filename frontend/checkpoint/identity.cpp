#include "frontend/checkpoint/identity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "frontend/checkpoint/data_digest.h"
#include "frontend/file/model_file.h"
#include "ir/print.h"

namespace sinter {

namespace {

constexpr const char* use_the_same = "; use the same, or a folder of its own for this run";
constexpr std::int64_t most_rates = 64;
const std::string set_prefix = "validation data of ", version_key = "version", first_rate = "learning rate at the start of fit";

std::string text_of(const std::vector<double>& numbers) {
  std::string result;
  for (const double number : numbers) result += (result.empty() ? "" : " ") + ir::number_text(number);
  return result.empty() ? "none" : result;
}

/// The first difference of two graphs, "`%3 = relu(%2)`, now `%3 = tanh(%2)`"; empty if they are equal.
std::string first_difference(const ir::Graph& then, const ir::Graph& now) {
  std::istringstream before(ir::to_text(then, {false, false})), after(ir::to_text(now, {false, false}));
  std::string was, is;
  for (;;) {
    const bool more_before = static_cast<bool>(std::getline(before, was)), more_after = static_cast<bool>(std::getline(after, is));
    if (!more_before && !more_after) return "";
    const auto line = [](bool there, const std::string& text) {
      return there ? "`" + text.substr(std::min(text.find_first_not_of(' '), text.size())) + "`" : "nothing";
    };
    if (more_before != more_after || was != is) return line(more_before, was) + ", now " + line(more_after, is);
  }
}

/// A tensor that one of these graphs captured and that is not the same in both; empty if there is none.
std::string first_captured(const std::string& graph, const runtime::Archive& then, const runtime::Archive& now) {
  for (const runtime::NamedArray& array : now.arrays) {
    if (!array.name.starts_with(graph + "/captured/")) continue;
    const runtime::NamedArray* before = then.find_array(array.name);
    if (!before || !std::ranges::equal(before->bytes, array.bytes)) return str("the values of ", array.name);
  }
  return "";
}

}  // namespace

RunIdentity::RunIdentity(Trainer& trainer, Trainer::Impl& impl, const FitOptions& options, const Trainer::Impl::Extent& extent)
    : impl_(impl), options_(options), extent_(extent) {
  now_.set("batch_size", static_cast<double>(options_.batch_size));
  now_.set("steps_per_epoch", static_cast<double>(options_.steps_per_epoch));
  now_.set("samples of an epoch", static_cast<double>(extent_.samples));
  now_.set("shuffle", options_.shuffle);
  now_.set("seed", static_cast<double>(options_.seed & 0xffffffffu));
  now_.set("seed / 2^32", static_cast<double>(options_.seed >> 32));
  now_.set("class_weights", options_.class_weights);
  now_.set("shuffle_buffer", static_cast<double>(options_.shuffle_buffer));
  now_.set("bucket_batches", static_cast<double>(options_.bucket_batches));
  now_.set("evaluate_training", options_.evaluate_training);
  if (!options_.schedule) now_.set(first_rate, trainer.learning_rate());  // with a schedule, its rates are compared
  std::vector<double> steps;
  for (std::int64_t i = 0, count = options_.schedule ? std::min(extent_.steps, most_rates) : 0; i < count; ++i)
    steps.push_back(std::floor(static_cast<double>(i) / static_cast<double>(count) * static_cast<double>(extent_.steps)));
  now_.set("schedule, rates", rates(steps));
  now_.set("schedule, steps", std::move(steps));
  if (extent_.data) now_.set("data", digest_of(*extent_.data));
  if (extent_.validation) now_.set("validation data", digest_of(*extent_.validation));
  for (const auto& [name, set] : options_.validations) now_.set(set_prefix + name, digest_of(set));
}

std::vector<double> RunIdentity::rates(const std::vector<double>& steps) const {
  std::vector<double> result;
  for (const double step : steps) result.push_back(options_.schedule(static_cast<std::int64_t>(step), extent_.steps));
  return result;
}

void RunIdentity::check(const SavedState& then) const {
  const auto of = [](const SavedState& state, const std::string& name) { return state.has(name) ? state.numbers(name) : std::vector<double>{}; };
  constexpr std::array<std::pair<const char*, const char*>, 10> settings{{{"batch_size", "FitOptions::batch_size"},
                                                                          {"steps_per_epoch", "FitOptions::steps_per_epoch"},
                                                                          {"samples of an epoch", "a number of samples per epoch of"},
                                                                          {"shuffle", "FitOptions::shuffle"},
                                                                          {"seed", "FitOptions::seed"},
                                                                          {"seed / 2^32", "FitOptions::seed of which the upper half is"},
                                                                          {"class_weights", "FitOptions::class_weights"},
                                                                          {"shuffle_buffer", "FitOptions::shuffle_buffer"},
                                                                          {"bucket_batches", "FitOptions::bucket_batches"},
                                                                          {"evaluate_training", "FitOptions::evaluate_training"}}};
  for (const auto& [name, words] : settings)
    if (const std::vector<double> before = of(then, name), is = of(now_, name); then.has(name) && before != is)
      throw UserError(str("the checkpoint was made with ", words, " ", text_of(before), ", now it is ", text_of(is), use_the_same));
  if (!then.has("class_weights")) return;  // from a version that saved no more
  std::set<std::string> sets{"data", "validation data"};
  for (const SavedState* state : {&then, &now_})
    for (const auto& [name, digest] : state->all_numbers())
      if (name.starts_with(set_prefix)) sets.insert(name);
  for (const std::string& name : sets)
    if (of(then, name) != of(now_, name)) {
      const char* what = !then.has(name) ? " that was not there" : !now_.has(name) ? " that is not there now" : " that has other samples now";
      throw UserError(str("the checkpoint was made with ", name, what, use_the_same));
    }
  const std::vector<double>& steps = then.numbers("schedule, steps");
  const std::vector<double>& before = then.numbers("schedule, rates");
  if (steps.empty() == static_cast<bool>(options_.schedule))
    throw UserError(str("the checkpoint was made ", steps.empty() ? "without" : "with", " a schedule", use_the_same));
  for (std::size_t i = 0; i < std::min(steps.size(), before.size()) && steps[i] >= 0 && steps[i] < static_cast<double>(extent_.steps); ++i)
    if (const double is = rates({steps[i]})[0]; is != before[i])
      throw UserError(str("the checkpoint was made with a schedule that gives the learning rate ", before[i], " in step ", steps[i],
                          " of fit, now it gives ", is,
                          "; use the same, and the same epochs if it depends on the number of steps, or a folder of its own for this run"));
  if (options_.schedule) return;
  if (const double rate = then.number(first_rate), is = now_.number(first_rate); rate != is)
    throw UserError(str("the checkpoint was made with a learning rate of ", rate, " at the start of fit, now it is ", is, use_the_same));
}

void RunIdentity::check_graphs(const runtime::Archive& then, const std::function<void(const std::string&)>& warn) const {
  const auto inputs = [](const ir::Graph& graph) {
    return std::ranges::count_if(graph.inputs(), [](const ir::InputSpec& input) { return input.kind != ir::InputSpec::Kind::hidden; });
  };
  constexpr std::pair<const char*, const char*> parts[] = {
      {"predict", "model"}, {"evaluate", "loss"}, {"train", "optimizer, regularizer, penalty or set of frozen layers"}};
  for (const auto& [graph, what] : parts)
    if (!then.find_graph(graph)) throw UserError(str("the checkpoint lacks the graph '", graph, "'; it is damaged"));
  // Whether samples have weights is not known before the first piece: take it from the checkpoint.
  const bool weighted =
      std::exchange(impl_.weighted, inputs(then.find_graph("train")->graph) > static_cast<std::ptrdiff_t>(impl_.unweighted_inputs()));
  const runtime::Archive now = impl_.archive("fit");
  impl_.weighted = weighted;
  for (const auto& [graph, what] : parts) {
    std::string difference = first_difference(then.find_graph(graph)->graph, now.find_graph(graph)->graph);
    if (difference.empty()) difference = first_captured(graph, then, now);
    if (difference.empty()) continue;
    const auto version = then.metadata.find(version_key);
    const std::string made = str("the checkpoint was made with another ", what, ": ", difference);
    if (version != then.metadata.end() && version->second == SINTER_VERSION) throw UserError(made + use_the_same);
    return warn(made + ", or another version of Sinter wrote the same differently; training continues");
  }
}

void RunIdentity::mark_version(runtime::Archive& archive) { archive.metadata[version_key] = SINTER_VERSION; }

}  // namespace sinter
