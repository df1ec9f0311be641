#include "frontend/weights/convention.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <span>
#include <utility>

#include "frontend/core/nearest.h"

namespace sinter::weights {

namespace {

/// A kind of layer with parameters.
struct Kind {
  struct Name {
    std::string_view sinter, pytorch;
  };
  std::string_view kind, keras;
  std::array<Name, 4> parameters;  ///< in Keras's order; a layer may lack some
  bool out_first = false;          ///< PyTorch's weight is [out, in, kernel...]
};
constexpr std::array<Kind, 8> kinds{{
    {"dense", "dense", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, true},
    {"conv2d", "conv2d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, true},
    {"conv1d", "conv1d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, true},
    {"conv2d_transpose", "conv2d_transpose", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, true},
    {"batch_norm",
     "batch_normalization",
     {{{"gamma", "weight"}, {"beta", "bias"}, {"running_mean", "running_mean"}, {"running_variance", "running_var"}}}},
    {"layer_norm", "layer_normalization", {{{"gamma", "weight"}, {"beta", "bias"}, {}, {}}}},
    {"embedding", "embedding", {{{"weight", "weight"}, {}, {}, {}}}},
    {"prelu", "p_re_lu", {{{"weight", "weight"}, {}, {}, {}}}},
}};

/// Axis i of the result is axis order[i] of x.
Tensor permuted(const Tensor& x, std::span<const std::size_t> order) {
  std::vector<std::int64_t> extents, steps(x.rank(), 1);
  for (std::size_t axis = x.rank() - 1; axis-- > 0;) steps[axis] = steps[axis + 1] * x.shape()[axis + 1].factor();
  for (const std::size_t axis : order) extents.push_back(x.shape()[axis].factor());
  const std::vector<float> from = x.to_vector<float>();
  std::vector<float> to(from.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t place = 0;
    for (std::size_t axis = order.size(); axis-- > 0; rest /= extents[axis]) place += rest % extents[axis] * steps[order[axis]];
    to[i] = from[static_cast<std::size_t>(place)];
  }
  return {to, Shape::fixed(extents)};
}

/// [out, in, kernel...] as [kernel..., in, out].
Tensor out_last(const Tensor& x) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) order.push_back(axis);
  order.insert(order.end(), {1, 0});
  return permuted(x, order);
}

/// Reorders the rows of a weight after a Flatten of [C, H, W] to those after a Flatten of [H, W, C].
Tensor channels_last(const std::string& layer, const Tensor& weight, const Shape& image) {
  if (image.rank() != 3 || image.elements() != weight.shape()[0])
    throw UserError("load",
                    str("the image that layer '", layer, "' has flattened must be [H, W, C] of ", weight.shape()[0], " numbers, got ", image));
  const Tensor apart = reshape(weight, {image[2], image[0], image[1], weight.dim(1)});
  const std::size_t order[] = {1, 2, 0, 3};
  return reshape(permuted(apart, order), {weight.dim(0), weight.dim(1)});
}

/// The order of two names, in which numbers compare as numbers: "fc10" is after "fc2".
struct NaturalOrder {
  bool less = false;
  bool by_number = false;  ///< the first difference is between two numbers
};

NaturalOrder natural_order(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return {a[i] < b[j], false};
      ++i, ++j;
      continue;
    }
    const auto number = [&](std::string_view text, std::size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && digit(text[at + 1])) ++at;
      const std::size_t first = at;
      while (at < text.size() && digit(text[at])) ++at;
      return text.substr(first, at - first);
    };
    const std::string_view x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return {x.size() < y.size(), true};
    if (x != y) return {x < y, true};
  }
  return {a.size() - i < b.size() - j, false};
}

bool natural_less(std::string_view a, std::string_view b) { return natural_order(a, b).less; }

/// The tensors of a layer of a file by their own names, and its path.
struct Layer {
  std::string path;
  std::vector<std::pair<std::string, Tensor>> tensors;
};

/// What to do about a layer of a PyTorch file that does not fit; Keras's layers are matched by name.
constexpr std::string_view name_the_layers = "; name the file's layers in the order of the model's in LoadOptions::layers";

std::vector<Layer> layers_of(const StateDict& tensors, char separator) {
  std::vector<Layer> layers;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t cut = name.rfind(separator);
    const std::string path = cut == std::string::npos ? "" : name.substr(0, cut), own = cut == std::string::npos ? name : name.substr(cut + 1);
    auto layer = std::find_if(layers.begin(), layers.end(), [&](const Layer& l) { return l.path == path; });
    if (layer == layers.end()) layer = layers.insert(layers.end(), {path, {}});
    layer->tensors.emplace_back(own, tensor);
  }
  std::sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) { return natural_less(a.path, b.path); });
  return layers;
}

const Kind* kind_of(const nn::LayerParameters& layer) {
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.kind == layer.kind; });
  return kind == kinds.end() ? nullptr : &*kind;
}

/// Layers of the model that other frameworks have too; own states, such as the draws of a dropout, are left unchanged.
std::vector<nn::LayerParameters> shared_layers(const nn::Module& model) {
  std::vector<nn::LayerParameters> layers = model.layers();
  std::erase_if(layers, [](const nn::LayerParameters& layer) { return layer.parameters.empty() || !kind_of(layer); });
  return layers;
}

Tensor find(const nn::LayerParameters& layer, const Layer& from, std::string_view name, std::string_view next_step) {
  for (const auto& [own, tensor] : from.tensors)
    if (own == name) return tensor;
  std::vector<std::string> there;
  for (const auto& [own, tensor] : from.tensors) there.push_back(own);
  throw UserError("load", str("layer '", layer.path, "' needs '", name, "', which layer '", from.path, "' of the file lacks",
                              nearest_hint(name, there), next_step));
}

std::string_view pytorch_name(const Kind& kind, std::string_view name) {
  return std::find_if(kind.parameters.begin(), kind.parameters.end(), [&](const Kind::Name& n) { return n.sinter == name; })->pytorch;
}

/// PyTorch's weight in our layout.
Tensor laid_out(const Kind& kind, const Tensor& tensor) { return kind.out_first && tensor.rank() >= 2 ? out_last(tensor) : tensor; }

/// Whether the layer of a PyTorch file has just the tensors that the model's layer needs, in its shapes.
bool fits(const nn::LayerParameters& layer, const Layer& from) {
  const Kind& kind = *kind_of(layer);
  std::size_t found = 0;
  for (const auto& [name, parameter] : layer.parameters) {
    const auto tensor =
        std::find_if(from.tensors.begin(), from.tensors.end(), [&, &own = name](const auto& t) { return t.first == pytorch_name(kind, own); });
    if (tensor == from.tensors.end() || tensor->second.rank() != parameter.shape().rank()) return false;
    if (laid_out(kind, tensor->second).shape() != parameter.shape()) return false;
    ++found;
  }
  return found == from.tensors.size();
}

/// The layers of the file in the order of the model's: their names' order, where that fits; else, for names like bn1, bn2, conv1, conv2, the first of
/// that order that fits and is not taken. Empty if that finds none.
std::vector<Layer> in_order_of(std::span<const nn::LayerParameters> here, std::vector<Layer> there) {
  const auto all_fit = [&] { return std::equal(here.begin(), here.end(), there.begin(), there.end(), fits); };
  if (all_fit()) return there;
  std::vector<Layer> ordered;
  for (const nn::LayerParameters& layer : here) {
    const auto next = std::find_if(there.begin(), there.end(), [&](const Layer& l) { return fits(layer, l); });
    if (next == there.end()) return {};
    ordered.push_back(std::move(*next));
    there.erase(next);
  }
  return ordered;
}

/// Throws UserError if two layers could change places and their names do not number them: whose weights are whose is then a guess.
void require_only_order(std::span<const nn::LayerParameters> here, std::span<const Layer> there) {
  for (std::size_t i = 0; i < here.size(); ++i)
    for (std::size_t k = i + 1; k < here.size(); ++k) {
      if (natural_order(there[i].path, there[k].path).by_number || !fits(here[i], there[k]) || !fits(here[k], there[i])) continue;
      std::string list;
      for (const Layer& layer : there) list += (list.empty() ? "\"" : ", \"") + layer.path + "\"";
      throw UserError("load", str("layers '", there[i].path, "' and '", there[k].path, "' of the file both fit '", here[i].path, "' and '",
                                  here[k].path, "', and no number in their names tells their order; give the layers in the order of the model's, ",
                                  "LoadOptions{.layers = {", list, "}} if it is this one"));
    }
}

/// Throws UserError for a dense layer after the Flatten of a convolution's images whose shape was not given.
void require_flattened(std::span<const nn::LayerParameters> here, const LoadOptions& options) {
  for (const auto& [wanted, image] : options.flattened)
    if (std::none_of(here.begin(), here.end(), [&, &path = wanted](const nn::LayerParameters& l) { return l.kind == "dense" && l.path == path; })) {
      std::vector<std::string> known;
      for (const nn::LayerParameters& l : here)
        if (l.kind == "dense") known.push_back(l.path);
      throw UserError("load", str("LoadOptions::flattened names '", wanted, "', which is no dense layer of the model", nearest_hint(wanted, known)));
    }
  const nn::LayerParameters* convolution = nullptr;
  for (const nn::LayerParameters& layer : here) {
    if (layer.kind.starts_with("conv")) convolution = &layer;
    if (layer.kind != "dense") continue;
    const nn::LayerParameters* before = std::exchange(convolution, nullptr);
    const bool is_told = std::any_of(options.flattened.begin(), options.flattened.end(), [&](const auto& f) { return f.first == layer.path; });
    if (!before || is_told) continue;
    const std::int64_t inputs = layer.parameters[0].second.shape()[0].factor();
    const Shape& weight = before->parameters[0].second.shape();
    const std::int64_t features = (before->kind == "conv2d_transpose" ? weight[weight.rank() - 2] : weight.back()).factor();
    if (inputs == features || inputs % features) continue;
    throw UserError("load", str("layer '", layer.path, "' has ", inputs, " inputs after '", before->path, "' of ", features,
                                " features: PyTorch flattens [C, H, W], "
                                "the model [H, W, C]. Give the shape of the image: LoadOptions{.flattened = {{\"",
                                layer.path, "\", {H, W, ", features, "}}}}"));
  }
}

void take(StateDict& result, const nn::LayerParameters& layer, const Layer& from, std::string_view name, const Parameter& parameter, Tensor tensor,
          std::string_view next_step) {
  if (tensor.shape() != parameter.shape())
    throw UserError("load", str("layer '", layer.path, "' has ", name, " ", parameter.shape(), ", but layer '", from.path, "' of the file has ",
                                tensor.shape(), next_step));
  result.emplace_back(parameter.name(), std::move(tensor));
}

StateDict from_pytorch(const nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  std::vector<Layer> there = layers_of(tensors, '.');
  // PyTorch counts the batches that a normalization has seen, for an average that Sinter does not have.
  for (Layer& layer : there) std::erase_if(layer.tensors, [](const auto& tensor) { return tensor.first == "num_batches_tracked"; });
  if (!options.layers.empty()) {
    std::vector<Layer> ordered;
    for (const std::string& path : options.layers) {
      const auto layer = std::find_if(there.begin(), there.end(), [&](const Layer& l) { return l.path == path; });
      std::vector<std::string> known;
      for (const Layer& l : there) known.push_back(l.path);
      if (layer == there.end()) throw UserError("load", str("the file has no layer '", path, "'", nearest_hint(path, known)));
      ordered.push_back(*layer);
    }
    there = std::move(ordered);
  }
  const std::vector<nn::LayerParameters> here = shared_layers(model);
  if (here.size() != there.size())
    throw UserError("load", str("the model has ", here.size(), " layers with weights, the file has ", there.size(),
                                "; name those to take, in order, in LoadOptions::layers"));
  require_flattened(here, options);
  if (options.layers.empty())
    if (std::vector<Layer> ordered = in_order_of(here, there); !ordered.empty()) {
      require_only_order(here, ordered);
      there = std::move(ordered);
    }
  StateDict result;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Kind& kind = *kind_of(here[i]);
    for (const auto& [name, parameter] : here[i].parameters) {
      Tensor tensor = laid_out(kind, find(here[i], there[i], pytorch_name(kind, name), name_the_layers));
      for (const auto& [layer, image] : options.flattened)
        if (layer == here[i].path && name == "weight") tensor = channels_last(layer, tensor, image);
      take(result, here[i], there[i], name, parameter, tensor, name_the_layers);
    }
  }
  return result;
}

/// Whether a layer of a Keras file is called by the kind's name alone, or with a number behind it: dense, dense_1.
bool is_numbered(std::string_view layer, std::string_view kind) {
  if (!layer.starts_with(kind)) return false;
  const std::string_view rest = layer.substr(kind.size());
  return rest.empty() || (rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == rest.npos);
}

StateDict from_keras(const nn::Module& model, const StateDict& tensors) {
  // dense, dense_1, …: the number after the kind's name, 0 if there is none.
  std::map<std::string, std::vector<Layer>, std::less<>> there;
  for (const Layer& layer : layers_of(tensors, '/')) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return is_numbered(layer.path, k.keras); });
    if (kind == kinds.end())
      throw UserError("load",
                      str("the file has weights of a layer '", layer.path, "', and layers of that name cannot be imported; read the file with ",
                          "weights::read and assign them, or save a model without it"));
    there[std::string(kind->kind)].push_back(layer);
  }
  StateDict result;
  std::map<std::string, std::size_t> taken;
  for (const nn::LayerParameters& layer : shared_layers(model)) {
    const Kind& kind = *kind_of(layer);
    const std::vector<Layer>& same = there[layer.kind];
    const std::size_t i = taken[layer.kind]++;
    if (i >= same.size())
      throw UserError("load", str("layer '", layer.path, "' is the model's ", kind.keras, " number ", i + 1, ", but the file has ", same.size()));
    std::size_t number = 0;
    for (const Kind::Name& name : kind.parameters)
      for (const auto& [own, parameter] : layer.parameters)
        if (own == name.sinter) take(result, layer, same[i], own, parameter, find(layer, same[i], std::to_string(number++), ""), "");
    if (number != same[i].tensors.size())
      throw UserError("load",
                      str("layer '", layer.path, "' has ", number, " weights, layer '", same[i].path, "' of the file ", same[i].tensors.size()));
  }
  for (const auto& [kind, layers] : there)
    if (taken[kind] != layers.size())
      throw UserError("load", str("the file has ", layers.size(), " layers like '", layers.front().path, "', the model ", taken[kind]));
  return result;
}

}  // namespace

std::vector<std::string> own_states(const nn::Module& model) {
  std::vector<std::string> names;
  for (const nn::LayerParameters& layer : model.layers())
    if (!kind_of(layer))
      for (const auto& [name, parameter] : layer.parameters)
        if (!parameter.trainable()) names.push_back(parameter.name());
  return names;
}

StateDict to_sinter(const nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  if (options.convention != Convention::pytorch && !(options.layers.empty() && options.flattened.empty()))
    throw UserError("load", "LoadOptions::layers and flattened are for files of PyTorch; leave them out, or set convention to Convention::pytorch");
  return options.convention == Convention::pytorch ? from_pytorch(model, tensors, options) : from_keras(model, tensors);
}

}  // namespace sinter::weights
