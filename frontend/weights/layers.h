// Layers of a model and of a file of another framework: which tensors of the file a parameter comes from, and in which layout.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/weights/convention.h"

namespace sinter::weights {

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
/// All that can be imported.
std::span<const Kind> kinds();

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

/// The shape that a tensor of the file has in the model's layout.
Shape laid_out(Layout layout, const Shape& shape);
/// By path and level, in the order of the numbers in these.
std::vector<Layer> layers_of(const StateDict& tensors, char separator);
/// A name without the number behind it: "dense" of "dense_1".
std::string_view unnumbered(std::string_view name);

/// The order of two names, in which numbers compare as numbers: "fc10" is after "fc2".
struct NaturalOrder {
  bool less = false;
  bool by_number = false;  ///< the first difference is between two numbers
};
NaturalOrder natural_order(std::string_view a, std::string_view b);

/// Layers of the model that other frameworks have too, without own states, such as the draws of a dropout, which are left unchanged.
std::vector<Target> shared_layers(const nn::Module& model, Convention convention);
/// Throws UserError if the layer of the file is a recurrent one of another kind than the model's. `next_step` ends the message.
void require_same_kind(const Target& layer, const Layer& from, std::string_view next_step);
/// The parameters of the layer from that of the file. Throws UserError if that has other tensors than these need.
void take(StateDict& result, const Target& layer, const Layer& from, const LoadOptions& options, std::string_view next_step);

/// to_sinter() of each framework.
StateDict from_pytorch(const nn::Module& model, const StateDict& tensors, const LoadOptions& options);
StateDict from_keras(const nn::Module& model, const StateDict& tensors);

}  // namespace sinter::weights
