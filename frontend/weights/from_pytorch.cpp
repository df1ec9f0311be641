// Layers of PyTorch's state dicts: matched by kind and shape, or in a given order.
#include <algorithm>
#include <iterator>
#include <utility>

#include "frontend/core/nearest.h"
#include "frontend/weights/layers.h"

namespace sinter::weights {

namespace {

/// What to do about a layer of a PyTorch file that does not fit.
constexpr std::string_view name_the_layers = "; name the file's layers in the order of the model's in LoadOptions::layers";

/// Whether both are the second layer of a pair that runs in both directions, or neither.
bool is_same_direction(const Target& layer, const Layer& from) { return (layer.place == Place::backwards) == from.is_reversed(); }

/// Whether the layer of a PyTorch file has just the tensors that the model's layer needs, in its shapes.
bool fits(const Target& layer, const Layer& from) {
  if (!is_same_direction(layer, from) || layer.tensors() != from.tensors.size()) return false;
  for (const Slot& slot : layer.slots)
    for (const std::string& name : slot.from)
      if (const Tensor* tensor = from.tensor(name); !tensor || laid_out(slot.layout, tensor->shape()) != slot.parameter.shape()) return false;
  return true;
}

/// Whether the layer of a PyTorch file has a tensor of a name that the model's layer needs.
bool resembles(const Target& layer, const Layer& from) {
  return std::any_of(layer.slots.begin(), layer.slots.end(), [&](const Slot& slot) { return from.tensor(slot.from[0]); });
}

/// The layers of the file in the order of the model's: their names' order, where all match; else, for names like bn1, bn2, conv1, conv2, the first of
/// that order that matches and is not taken. Empty if that finds none.
std::vector<Layer> in_order_of(std::span<const Target> here, std::vector<Layer> there, bool (*match)(const Target&, const Layer&)) {
  if (std::equal(here.begin(), here.end(), there.begin(), there.end(), match)) return there;
  std::vector<Layer> ordered;
  for (const Target& layer : here) {
    const auto next = std::find_if(there.begin(), there.end(), [&](const Layer& l) { return match(layer, l); });
    if (next == there.end()) return {};
    ordered.push_back(std::move(*next));
    there.erase(next);
  }
  return ordered;
}

/// Throws UserError if two layers could change places and their names do not number them: whose weights are whose is then a guess.
void require_only_order(std::span<const Target> here, std::span<const Layer> there) {
  for (std::size_t i = 0; i < here.size(); ++i)
    for (std::size_t k = i + 1; k < here.size(); ++k) {
      if (there[i].path == there[k].path || natural_order(there[i].path, there[k].path).by_number) continue;
      if (!fits(here[i], there[k]) || !fits(here[k], there[i])) continue;
      std::vector<std::string> paths;
      for (const Layer& layer : there)
        if (std::find(paths.begin(), paths.end(), layer.path) == paths.end()) paths.push_back(layer.path);
      std::string list;
      for (const std::string& path : paths) list += (list.empty() ? "\"" : ", \"") + path + "\"";
      throw UserError("load", str("layers ", there[i].label(), " and ", there[k].label(), " of the file both fit '", here[i].path, "' and '",
                                  here[k].path, "', and no number in their names tells their order; give the layers in the order of the model's, ",
                                  "LoadOptions{.layers = {", list, "}} if it is this one"));
    }
}

/// Throws UserError for a dense layer after the Flatten of a convolution's images whose shape was not given.
void require_flattened(std::span<const Target> here, const LoadOptions& options) {
  for (const auto& [wanted, image] : options.flattened)
    if (std::none_of(here.begin(), here.end(), [&, &path = wanted](const Target& l) { return l.kind->kind == "dense" && l.path == path; })) {
      std::vector<std::string> known;
      for (const Target& l : here)
        if (l.kind->kind == "dense") known.push_back(l.path);
      throw UserError("load", str("LoadOptions::flattened names '", wanted, "', which is no dense layer of the model", nearest_hint(wanted, known)));
    }
  const Target* convolution = nullptr;
  for (const Target& layer : here) {
    if (layer.kind->kind.starts_with("conv")) convolution = &layer;
    if (layer.kind->gates) convolution = nullptr;  // what follows it flattens sequences, alike in both
    if (layer.kind->kind != "dense") continue;
    const Target* before = std::exchange(convolution, nullptr);
    const bool is_told = std::any_of(options.flattened.begin(), options.flattened.end(), [&](const auto& f) { return f.first == layer.path; });
    if (!before || is_told) continue;
    const std::int64_t inputs = layer.slots[0].parameter.shape()[0].factor();
    const Shape& weight = before->slots[0].parameter.shape();
    const std::int64_t features = (before->kind->kind == "conv2d_transpose" ? weight[weight.rank() - 2] : weight.back()).factor();
    if (inputs == features || inputs % features) continue;
    throw UserError("load", str("layer '", layer.path, "' has ", inputs, " inputs after '", before->path, "' of ", features,
                                " features: PyTorch flattens [C, H, W], "
                                "the model [H, W, C]. Give the shape of the image: LoadOptions{.flattened = {{\"",
                                layer.path, "\", {H, W, ", features, "}}}}"));
  }
}

void require_same_direction(const Target& layer, const Layer& from) {
  if (is_same_direction(layer, from)) return;
  throw UserError(
      "load", str("layer '", layer.path, "' is ", layer.place == Place::backwards ? "the" : "not the", " second one of a Bidirectional, but layer ",
                  from.label(), " of the file runs ", from.is_reversed() ? "backwards" : "forwards", name_the_layers));
}

}  // namespace

StateDict from_pytorch(const nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  std::vector<Layer> there = layers_of(tensors, '.');
  // PyTorch counts the batches that a normalization has seen, for an average that Sinter does not have.
  for (Layer& layer : there) std::erase_if(layer.tensors, [](const auto& tensor) { return tensor.first == "num_batches_tracked"; });
  if (!options.layers.empty()) {
    std::vector<Layer> ordered;
    for (const std::string& path : options.layers) {
      const std::size_t before = ordered.size();
      std::copy_if(there.begin(), there.end(), std::back_inserter(ordered), [&](const Layer& l) { return l.path == path; });
      std::vector<std::string> known;
      for (const Layer& l : there) known.push_back(l.path);
      if (ordered.size() == before) throw UserError("load", str("the file has no layer '", path, "'", nearest_hint(path, known)));
    }
    there = std::move(ordered);
  }
  const std::vector<Target> here = shared_layers(model, Convention::pytorch);
  for (const Target& layer : here)
    if (layer.kind->kind == "gru" && layer.slot("bias") && !layer.slot("recurrent_bias"))
      throw UserError("load", str("layer '", layer.path, "' has reset_after = false, but PyTorch's GRU resets after the recurrent weight; ",
                                  "build it with reset_after = true"));
  if (here.size() != there.size()) {
    const bool has_levels = std::any_of(there.begin(), there.end(), [](const Layer& l) { return !l.level.empty(); });
    throw UserError("load", str("the model has ", here.size(), " layers with weights, the file has ", there.size(),
                                has_levels ? ", each level and direction of a recurrent one counted" : "",
                                "; name those to take, in order, in LoadOptions::layers"));
  }
  require_flattened(here, options);
  if (options.layers.empty()) {
    if (std::vector<Layer> ordered = in_order_of(here, there, fits); !ordered.empty()) {
      require_only_order(here, ordered);
      there = std::move(ordered);
    } else if (ordered = in_order_of(here, there, resembles); !ordered.empty()) {
      there = std::move(ordered);  // that the message is about layers of one kind
    }
  }
  StateDict result;
  for (std::size_t i = 0; i < here.size(); ++i) {
    require_same_direction(here[i], there[i]);
    require_same_kind(here[i], there[i], name_the_layers);
    take(result, here[i], there[i], options, name_the_layers);
  }
  return result;
}

}  // namespace sinter::weights
