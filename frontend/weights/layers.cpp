#include "frontend/weights/layers.h"

#include <algorithm>
#include <cctype>

#include "frontend/core/nearest.h"

namespace sinter::weights {

namespace {

constexpr std::array<Kind, 13> all_kinds{{
    {"dense", "dense", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv2d", "conv2d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv1d", "conv1d", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"conv2d_transpose", "conv2d_transpose", {{{"weight", "weight"}, {"bias", "bias"}, {}, {}}}, Layout::out_first},
    {"batch_norm",
     "batch_normalization",
     {{{"gamma", "weight"}, {"beta", "bias"}, {"running_mean", "running_mean"}, {"running_variance", "running_var"}}}},
    {"layer_norm", "layer_normalization", {{{"gamma", "weight"}, {"beta", "bias"}, {}, {}}}},
    {"group_norm", "group_normalization", {{{"gamma", "weight"}, {"beta", "bias"}, {}, {}}}},
    {"instance_norm", "group_normalization", {{{"gamma", "weight"}, {"beta", "bias"}, {}, {}}}},  // Keras's GroupNormalization(groups=-1)
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

/// The axes of [out, in, kernel...] in the order [kernel..., in, out].
std::vector<std::int64_t> out_last(std::size_t rank) {
  std::vector<std::int64_t> order;
  for (std::size_t axis = 2; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  order.insert(order.end(), {1, 0});
  return order;
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
  return x.rank() < 2 ? x : permute(x, out_last(x.rank()));
}

/// Reorders the rows of a weight after a Flatten of [C, H, W] to those after a Flatten of [H, W, C].
Tensor channels_last(const std::string& layer, const Tensor& weight, const Shape& image) {
  if (image.rank() != 3 || image.elements() != weight.shape()[0])
    throw UserError("load",
                    str("the image that layer '", layer, "' has flattened must be [H, W, C] of ", weight.shape()[0], " numbers, got ", image));
  const Tensor apart = reshape(weight, {image[2], image[0], image[1], weight.dim(1)});
  return reshape(permute(apart, {1, 2, 0, 3}), {weight.dim(0), weight.dim(1)});
}

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

const Kind* kind_of(const nn::LayerParameters& layer) {
  const auto kind = std::find_if(all_kinds.begin(), all_kinds.end(), [&](const Kind& k) { return k.kind == layer.kind; });
  return kind == all_kinds.end() ? nullptr : &*kind;
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

const Tensor& find(const Target& layer, const Layer& from, const std::string& name, std::string_view next_step) {
  if (const Tensor* tensor = from.tensor(name)) return *tensor;
  std::vector<std::string> there;
  for (const auto& [own, tensor] : from.tensors) there.push_back(own + from.level);
  throw UserError("load", str("layer '", layer.path, "' needs '", name, from.level, "', which layer ", from.label(), " of the file lacks",
                              nearest_hint(name + from.level, there), next_step));
}

}  // namespace

std::span<const Kind> kinds() { return all_kinds; }

Shape laid_out(Layout layout, const Shape& shape) {
  if (shape.rank() < 2 || layout == Layout::same) return shape;
  if (layout == Layout::first_row || layout == Layout::second_row) return shape.rank() == 2 && shape[0] == Dim(2) ? Shape{shape[1]} : shape;
  std::vector<Dim> dims;
  for (const std::int64_t axis : out_last(shape.rank())) dims.push_back(shape[static_cast<std::size_t>(axis)]);
  return Shape(dims);
}

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
  std::sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
    return a.path == b.path ? natural_order(a.level, b.level).less : natural_order(a.path, b.path).less;
  });
  return layers;
}

std::string_view unnumbered(std::string_view name) {
  const std::size_t cut = name.rfind('_');
  return cut != name.npos && name.find_first_not_of(digits, cut + 1) == name.npos ? name.substr(0, cut) : name;
}

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

void require_same_kind(const Target& layer, const Layer& from, std::string_view next_step) {
  const Slot* recurrent = layer.slot("recurrent_weight");
  const Tensor* tensor = recurrent ? from.tensor(recurrent->from[0]) : nullptr;
  if (!tensor || tensor->rank() != 2) return;
  const Shape shape = laid_out(recurrent->layout, tensor->shape());  // [units, gates · units]
  for (const Kind& kind : all_kinds)
    if (kind.gates && kind.gates != layer.kind->gates && shape[1] == shape[0] * kind.gates)
      throw UserError("load", str("layer '", layer.path, "' is of kind ", layer.kind->kind, ", but layer ", from.label(), " of the file of kind ",
                                  kind.kind, ", by its recurrent weight ", shape, next_step));
}

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

std::vector<std::string> own_states(const nn::Module& model) {
  std::vector<std::string> names;
  for (const nn::LayerParameters& layer : model.layers()) {
    const Kind* kind = kind_of(layer);
    for (const auto& [name, parameter] : layer.parameters)
      if (kind ? !has_parameter(*kind, name) : !parameter.trainable()) names.push_back(parameter.name());
  }
  return names;
}

}  // namespace sinter::weights
