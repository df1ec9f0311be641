#include "frontend/weights/convention.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "frontend/core/nearest.h"

namespace sinter::weights {

namespace {

/// How a tensor of a file becomes a parameter.
enum class Layout {
  same,
  out_first,    ///< [out, in, kernel...] in the file
  reset_first,  ///< the same, and the gates r and z of a GRU in the order r, z
  first_row,    ///< one row of [2, n] in the file: the biases of a GRU in Keras
  second_row,
};

/// A kind of layer with parameters.
struct Kind {
  struct Name {
    std::string_view sinter, pytorch;
    std::string_view added = {};  ///< another tensor of PyTorch: the parameter is the sum of both
  };
  std::string_view kind, keras;
  std::array<Name, 4> parameters;  ///< in Keras's order; a layer may lack some
  Layout pytorch = Layout::same;
  std::int64_t gates = 0;  ///< of a recurrent layer
};
constexpr std::array<Kind, 11> kinds{{
    {"dense", "dense", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv2d", "conv2d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv1d", "conv1d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv2d_transpose", "conv2d_transpose", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"batch_norm",
     "batch_normalization",
     {{{"gamma", "weight"}, {"beta", "bias"}, {"running_mean", "running_mean"}, {"running_variance", "running_var"}}}},
    {"layer_norm", "layer_normalization", {{{"gamma", "weight"}, {"beta", "bias"}, {}, {}}}},
    {"embedding", "embedding", {{{"weight", "weight"}, {}, {}, {}}}},
    {"prelu", "p_re_lu", {{{"weight", "weight"}, {}, {}, {}}}},
    {"simple_rnn",
     "simple_rnn",
     {{{"weight", "weight_ih"}, {"recurrent_weight", "weight_hh"}, {"bias", "bias_ih", "bias_hh"}, {}}},
     Layout::out_first,
     1},
    {"gru",
     "gru",
     {{{"weight", "weight_ih"}, {"recurrent_weight", "weight_hh"}, {"bias", "bias_ih"}, {"recurrent_bias", "bias_hh"}}},
     Layout::reset_first,
     3},
    {"lstm", "lstm", {{{"weight", "weight_ih"}, {"recurrent_weight", "weight_hh"}, {"bias", "bias_ih", "bias_hh"}, {}}}, Layout::out_first, 4},
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

/// The axes of [out, in, kernel...] in the order [kernel..., in, out].
std::vector<std::size_t> out_last(std::size_t rank) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.insert(order.end(), {1, 0});
  return order;
}

/// The shape that a tensor of the file has in the model's layout.
Shape laid_out(Layout layout, const Shape& shape) {
  if (shape.rank() < 2 || layout == Layout::same) return shape;
  if (layout == Layout::first_row || layout == Layout::second_row) return shape.rank() == 2 && shape[0] == Dim(2) ? Shape{shape[1]} : shape;
  std::vector<Dim> dims;
  for (const std::size_t axis : out_last(shape.rank())) dims.push_back(shape[axis]);
  return Shape(dims);
}

/// A tensor of the file, of a shape that fits, in the model's layout.
Tensor laid_out(Layout layout, const Tensor& x) {
  if (layout == Layout::same) return x;
  if (layout == Layout::first_row || layout == Layout::second_row) {
    const std::int64_t row = layout == Layout::second_row;
    return reshape(slice(x, 0, row, row + 1), {x.dim(1)});
  }
  if (layout == Layout::reset_first) {
    const std::int64_t units = x.shape()[0].factor() / 3;
    return laid_out(Layout::out_first, concat({slice(x, 0, units, 2 * units), slice(x, 0, 0, units), slice(x, 0, 2 * units, 3 * units)}));
  }
  return x.rank() < 2 ? x : permuted(x, out_last(x.rank()));
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

/// Where a recurrent layer is in a Bidirectional of the model.
enum class Place { alone, forwards, backwards };

/// A parameter of the model, and what it is in the layer of a file: a tensor or, of several, their sum.
struct Slot {
  std::string name;
  Parameter parameter;
  std::vector<std::string> from;
  Layout layout = Layout::same;
};

/// A layer of the model that other frameworks have too.
struct Target {
  std::string path;
  const Kind* kind;
  Place place;
  std::vector<Slot> slots;

  /// How many tensors the layer has in a file.
  std::size_t tensors() const {
    std::size_t count = 0;
    for (const Slot& slot : slots) count += slot.layout == Layout::second_row ? 0 : slot.from.size();
    return count;
  }
  const Slot* slot(std::string_view name) const {
    const auto at = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.name == name; });
    return at == slots.end() ? nullptr : &*at;
  }
};

/// The tensors of a layer of a file by their own names, and its path.
struct Layer {
  std::string path;
  std::string level;  ///< PyTorch's recurrent layers have several: what ends the names of the tensors of this one, such as "_l1_reverse"
  std::vector<std::pair<std::string, Tensor>> tensors;

  bool is_reversed() const { return level.ends_with("_reverse"); }
  /// For messages.
  std::string label() const { return level.empty() ? str("'", path, "'") : str("'", path, "' (", level.substr(1), ")"); }
  const Tensor* tensor(std::string_view name) const {
    const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
    return at == tensors.end() ? nullptr : &at->second;
  }
};

/// What to do about a layer of a PyTorch file that does not fit; Keras's layers are matched by name.
constexpr std::string_view name_the_layers = "; name the file's layers in the order of the model's in LoadOptions::layers";

constexpr std::string_view digits = "0123456789";

/// The end of a tensor's name that tells the level and direction of a recurrent layer of PyTorch: "_l1_reverse" of "weight_ih_l1_reverse".
std::string_view level_of(std::string_view name) {
  if (!name.starts_with("weight_") && !name.starts_with("bias_")) return {};
  const std::size_t cut = name.rfind("_l");
  if (cut == name.npos) return {};
  std::string_view number = name.substr(cut + 2);
  if (number.ends_with("_reverse")) number.remove_suffix(std::string_view("_reverse").size());
  return number.empty() || number.find_first_not_of(digits) != number.npos ? std::string_view() : name.substr(cut);
}

/// By path and level, in the order of the numbers in these.
std::vector<Layer> layers_of(const StateDict& tensors, char separator) {
  std::vector<Layer> layers;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t cut = name.rfind(separator);
    const std::string path = cut == std::string::npos ? "" : name.substr(0, cut);
    std::string own = cut == std::string::npos ? name : name.substr(cut + 1);
    const std::string level(level_of(own));
    own.resize(own.size() - level.size());
    auto layer = std::find_if(layers.begin(), layers.end(), [&](const Layer& l) { return l.path == path && l.level == level; });
    if (layer == layers.end()) layer = layers.insert(layers.end(), {path, level, {}});
    layer->tensors.emplace_back(own, tensor);
  }
  std::sort(layers.begin(), layers.end(),
            [](const Layer& a, const Layer& b) { return a.path == b.path ? natural_less(a.level, b.level) : natural_less(a.path, b.path); });
  return layers;
}

/// A name without the number behind it: "dense" of "dense_1".
std::string_view unnumbered(std::string_view name) {
  const std::size_t cut = name.rfind('_');
  return cut != name.npos && name.find_first_not_of(digits, cut + 1) == name.npos ? name.substr(0, cut) : name;
}

const Kind* kind_of(const nn::LayerParameters& layer) {
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.kind == layer.kind; });
  return kind == kinds.end() ? nullptr : &*kind;
}

bool has_parameter(const Kind& kind, std::string_view name) {
  return std::any_of(kind.parameters.begin(), kind.parameters.end(), [&](const Kind::Name& n) { return n.sinter == name; });
}

/// The path of the module that a layer is part of; "" of the root's own.
std::string_view parent(std::string_view path) { return path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.')); }

bool is_in_bidirectional(const nn::Module& model, std::string_view path) {
  const std::string_view outer = parent(path);
  if (outer == model.name()) return model.kind() == "bidirectional";
  const std::size_t cut = outer.rfind('.');
  return unnumbered(cut == outer.npos ? outer : outer.substr(cut + 1)) == "bidirectional";
}

/// Layers of the model that other frameworks have too, without own states, such as the draws of a dropout, which are left unchanged.
std::vector<Target> shared_layers(const nn::Module& model, Convention convention) {
  std::vector<Target> targets;
  for (const nn::LayerParameters& layer : model.layers()) {
    const Kind* kind = kind_of(layer);
    if (!kind) continue;
    Target target{layer.path, kind, Place::alone, {}};
    if (kind->gates && is_in_bidirectional(model, layer.path)) {
      const bool is_second = !targets.empty() && targets.back().place == Place::forwards && parent(targets.back().path) == parent(layer.path);
      target.place = is_second ? Place::backwards : Place::forwards;
    }
    std::size_t number = 0;
    for (const Kind::Name& name : kind->parameters)
      for (const auto& [own, parameter] : layer.parameters) {
        if (own != name.sinter) continue;
        Slot slot{own, parameter, {std::string(name.pytorch)}, kind->pytorch};
        if (!name.added.empty()) slot.from.emplace_back(name.added);
        if (convention == Convention::keras) {
          const bool is_row = own == "recurrent_bias" && !target.slots.empty() && target.slots.back().name == "bias";
          slot.from = {std::to_string(is_row ? number - 1 : number++)};
          slot.layout = is_row ? Layout::second_row : Layout::same;
          if (is_row) target.slots.back().layout = Layout::first_row;
        }
        target.slots.push_back(std::move(slot));
      }
    if (!target.slots.empty()) targets.push_back(std::move(target));
  }
  return targets;
}

const Tensor& find(const Target& layer, const Layer& from, const std::string& name, std::string_view next_step) {
  if (const Tensor* tensor = from.tensor(name)) return *tensor;
  std::vector<std::string> there;
  for (const auto& [own, tensor] : from.tensors) there.push_back(own + from.level);
  throw UserError("load", str("layer '", layer.path, "' needs '", name, from.level, "', which layer ", from.label(), " of the file lacks",
                              nearest_hint(name + from.level, there), next_step));
}

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

/// Throws UserError if the layer of the file is a recurrent one of another kind than the model's.
void require_same_kind(const Target& layer, const Layer& from, std::string_view next_step) {
  const Slot* recurrent = layer.slot("recurrent_weight");
  const Tensor* tensor = recurrent ? from.tensor(recurrent->from[0]) : nullptr;
  if (!tensor || tensor->rank() != 2) return;
  const Shape shape = laid_out(recurrent->layout, tensor->shape());  // [units, gates · units]
  for (const Kind& kind : kinds)
    if (kind.gates && kind.gates != layer.kind->gates && shape[1] == shape[0] * kind.gates)
      throw UserError("load", str("layer '", layer.path, "' is of kind ", layer.kind->kind, ", but layer ", from.label(), " of the file of kind ",
                                  kind.kind, ", by its recurrent weight ", shape, next_step));
}

/// The parameters of the layer from that of the file. Throws UserError if that has other tensors than these need.
void take(StateDict& result, const Target& layer, const Layer& from, const LoadOptions& options, std::string_view next_step) {
  for (const Slot& slot : layer.slots) {
    Tensor value;
    for (const std::string& name : slot.from) {
      const Tensor& tensor = find(layer, from, name, next_step);
      if (const Shape shape = laid_out(slot.layout, tensor.shape()); shape != slot.parameter.shape())
        throw UserError("load", str("layer '", layer.path, "' has ", slot.name, " ", slot.parameter.shape(), ", but layer ", from.label(),
                                    " of the file has ", shape, next_step));
      const Tensor part = laid_out(slot.layout, tensor);
      value = value.defined() ? value + part : part;
    }
    for (const auto& [path, image] : options.flattened)
      if (path == layer.path && slot.name == "weight") value = channels_last(path, value, image);
    result.emplace_back(slot.parameter.name(), std::move(value));
  }
  if (layer.tensors() != from.tensors.size())
    throw UserError("load", str("layer '", layer.path, "' has ", layer.tensors(), " weights, layer ", from.label(), " of the file ",
                                from.tensors.size(), "; build it with the options of that layer", next_step));
}

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

/// The path of the layer in a file of Keras, without its number.
std::string keras_path(const Kind& kind, Place place) {
  if (place == Place::alone) return str(kind.keras, kind.gates ? "/cell" : "");
  return place == Place::forwards ? "bidirectional/forward_layer/cell" : "bidirectional/backward_layer/cell";
}

/// Throws UserError if only one of both GRUs resets after the recurrent weight: only that has two biases.
void require_same_reset(const Target& layer, const Layer& from) {
  const Slot* bias = layer.slot("bias");
  const Tensor* tensor = bias ? from.tensor(bias->from[0]) : nullptr;
  const bool resets_after = layer.slot("recurrent_bias");
  if (layer.kind->kind != "gru" || !tensor || (tensor->rank() == 2) == resets_after) return;
  throw UserError("load", str("layer '", layer.path, "' has reset_after = ", resets_after ? "true" : "false", ", but layer ", from.label(),
                              " of the file has a bias ", tensor->shape(), "; build it with reset_after = ", resets_after ? "false" : "true"));
}

StateDict from_keras(const nn::Module& model, const StateDict& tensors) {
  std::map<std::string, std::vector<Layer>, std::less<>> there;  // dense, dense_1, …: by path without number, in the order of the numbers
  for (const Kind& kind : kinds)
    for (const Place place : {Place::alone, Place::forwards, Place::backwards}) there[keras_path(kind, place)];
  for (const Layer& layer : layers_of(tensors, '/')) {
    const std::string_view path = layer.path, name = path.substr(0, path.find('/'));
    const auto same = there.find(str(unnumbered(name), path.substr(name.size())));
    if (same == there.end())
      throw UserError("load",
                      str("the file has weights of a layer '", layer.path, "', and layers of that name cannot be imported; read the file with ",
                          "weights::read and assign them, or save a model without it"));
    same->second.push_back(layer);
  }
  StateDict result;
  std::map<std::string, std::size_t> taken;
  for (const Target& layer : shared_layers(model, Convention::keras)) {
    const std::string path = keras_path(*layer.kind, layer.place);
    const std::vector<Layer>& same = there[path];
    const std::size_t i = taken[path]++;
    if (i >= same.size())
      throw UserError("load", str("layer '", layer.path, "' is the model's ", path.substr(0, path.find('/')), " number ", i + 1,
                                  ", but the file has ", same.size()));
    require_same_kind(layer, same[i], "");
    require_same_reset(layer, same[i]);
    take(result, layer, same[i], {}, "");
  }
  for (const auto& [path, layers] : there)
    if (taken[path] != layers.size())
      throw UserError("load", str("the file has ", layers.size(), " layers like '", layers.front().path, "', the model ", taken[path]));
  return result;
}

}  // namespace

std::vector<std::string> own_states(const nn::Module& model) {
  std::vector<std::string> names;
  for (const nn::LayerParameters& layer : model.layers()) {
    const Kind* kind = kind_of(layer);
    for (const auto& [name, parameter] : layer.parameters)
      if (kind ? !has_parameter(*kind, name) : !parameter.trainable()) names.push_back(parameter.name());
  }
  return names;
}

StateDict to_sinter(const nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  if (options.convention != Convention::pytorch && !(options.layers.empty() && options.flattened.empty()))
    throw UserError("load", "LoadOptions::layers and flattened are for files of PyTorch; leave them out, or set convention to Convention::pytorch");
  return options.convention == Convention::pytorch ? from_pytorch(model, tensors, options) : from_keras(model, tensors);
}

}  // namespace sinter::weights
