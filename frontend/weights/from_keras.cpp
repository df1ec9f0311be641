// Layers of Keras's files: matched by kind, in the order of the numbers in their names.
#include <functional>
#include <map>

#include "frontend/weights/layers.h"

namespace sinter::weights {

namespace {

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

}  // namespace

StateDict from_keras(const nn::Module& model, const StateDict& tensors) {
  std::map<std::string, std::vector<Layer>, std::less<>> there;  // dense, dense_1, …: by path without number, in the order of the numbers
  for (const Kind& kind : kinds())
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

}  // namespace sinter::weights
