#include "frontend/nn/up_to.h"

#include <algorithm>
#include <atomic>

#include "frontend/core/nearest.h"
#include "frontend/core/trace.h"
#include "frontend/nn/call_listener.h"
#include "frontend/nn/module_state.h"

namespace sinter::nn {

struct UpTo::Wanted {
  struct Output {
    std::shared_ptr<const ModuleState> layer;  ///< not its name, which changes when the model becomes part of another
    std::int64_t call;
  };
  std::vector<Output> outputs;
  std::atomic<bool> is_counted = false;  ///< how often the model calls them
};

/// Collects the outputs while the model runs.
class UpTo::Reader : public CallListener {
 public:
  /// What it throws through the model when it has all of them.
  struct Done {
    const Reader* by;
  };

  /// `only_counts`: it lets the model run to its end, and no listener around it learns of the calls.
  Reader(const std::vector<Wanted::Output>& wanted, bool only_counts)
      : CallListener(only_counts), wanted_(wanted), only_counts_(only_counts), calls_(wanted.size()), found_(wanted.size()) {}

  /// Throws UserError unless each layer was called, and it is known which call is meant.
  void require_calls(const std::string& model) const {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const std::string& layer = wanted_[i].layer->label();
      if (calls_[i] == 0)
        throw UserError(model, str("did not call '", layer, "'; only what is called by layer(x) or layer.call_all(...) has an output to take"));
      if (wanted_[i].call == 0 && calls_[i] > 1)
        throw UserError(model, str("calls '", layer, "' ", calls_[i], " times; say which, from 1: {\"", layer, "\", 1}"));
      if (wanted_[i].call > calls_[i])
        throw UserError(model, str("calls '", layer, "' ", calls_[i], calls_[i] == 1 ? " time" : " times", ", so it has no call ", wanted_[i].call));
    }
  }
  std::vector<Tensor> found() && { return std::move(found_); }

  /// The module and all below it, each once.
  static std::vector<std::shared_ptr<const ModuleState>> layers_of(const Module& model) {
    std::vector<std::shared_ptr<const ModuleState>> layers, stack{state_of(model)};
    while (!stack.empty()) {
      const std::shared_ptr<const ModuleState> layer = std::move(stack.back());
      stack.pop_back();
      if (std::find(layers.begin(), layers.end(), layer) != layers.end()) continue;
      layers.push_back(layer);
      stack.insert(stack.end(), layer->children.rbegin(), layer->children.rend());
    }
    return layers;
  }

 private:
  void called(const Module& module, std::span<const Tensor> results) override {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].layer != state_of(module)) continue;
      if (++calls_[i] != std::max<std::int64_t>(1, wanted_[i].call)) continue;
      if (Trace::current() != trace_)
        throw UserError(module.label(), "is called within a loop over time, where each step has an output of its own; take that of the loop's layer");
      found_[i] = results[0];
    }
    if (!only_counts_ && std::all_of(found_.begin(), found_.end(), [](const Tensor& t) { return t.defined(); })) throw Done{this};
  }

  const std::vector<Wanted::Output>& wanted_;
  bool only_counts_;
  const Trace* trace_ = Trace::current();
  std::vector<std::int64_t> calls_;
  std::vector<Tensor> found_;
};

UpTo::UpTo(std::shared_ptr<Module> model, std::vector<LayerOutput> outputs, int)
    : Model(model ? *model : throw UserError("UpTo", "the model is null")), model_(std::move(model)), wanted_(std::make_shared<Wanted>()) {
  if (outputs.empty()) throw UserError("UpTo", "needs the name of at least one layer");
  const std::vector<std::shared_ptr<const ModuleState>> layers = Reader::layers_of(*this);
  std::vector<std::string> known;
  for (const auto& layer : layers) known.push_back(layer->label());
  for (const LayerOutput& output : outputs) {
    const auto found = std::find(known.begin(), known.end(), output.layer);
    if (found == known.end()) throw UserError(label(), str("has no layer '", output.layer, "'", nearest_hint(output.layer, known)));
    if (output.call < 0) throw UserError(label(), str("calls of '", output.layer, "' count from 1, got ", output.call));
    wanted_->outputs.push_back({layers[static_cast<std::size_t>(found - known.begin())], output.call});
  }
}

void UpTo::count_calls(std::span<const Tensor> in) const {
  Trace scratch("up_to");
  std::vector<Tensor> inputs;
  const auto input = [&](const Type& type) { return scratch.input({str("x", inputs.size()), type, ir::InputSpec::Kind::hidden}); };
  for (const Tensor& tensor : in) {
    const Tensor x = input(tensor.type());
    inputs.push_back(tensor.mask() ? Tensor(x, std::make_shared<const Tensor>(input(tensor.mask()->type()))) : x);
  }
  const Reader counter(wanted_->outputs, true);
  try {
    (void)model_->call_all(inputs);
  } catch (const NoTracedValue&) {  // it looks at values: the first calls are taken
    return;
  }
  counter.require_calls(label());
}

std::vector<Tensor> UpTo::forward_all(std::span<const Tensor> in) {
  if (!wanted_->is_counted) {
    count_calls(in);
    wanted_->is_counted = true;
  }
  Reader reader(wanted_->outputs, false);
  try {
    (void)model_->call_all(in);
  } catch (const Reader::Done& done) {
    if (done.by != &reader) throw;
    return std::move(reader).found();
  }
  reader.require_calls(label());
  return std::move(reader).found();
}

}  // namespace sinter::nn
