// Weights by name: out of and into files of Sinter, NumPy, safetensors, PyTorch and Keras.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/nn/module.h"

namespace sinter::weights {

/// Tensors by name, in order.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// All parameters and saved states of a model, by their names: `dense_1.weight`, `batch_norm_1.running_mean`.
StateDict state_dict(const nn::Module& model);

/// Who named the tensors of a file and laid them out.
enum class Convention {
  sinter,  ///< names are those of the parameters
  /// Layers are taken in the order of their names (fc2 before fc10), those of a kind and shape where that does not fit the model, or in the order of
  /// `layers`; weights are [out, in, kernel...].
  pytorch,
  keras,  ///< layers of a kind are taken in the order of their numbers (dense, dense_1)
};

struct LoadOptions {
  Convention convention = Convention::sinter;
  /// PyTorch: names of its layers (what stands before `.weight`) in the order of the model's layers, where their names do not sort so.
  std::vector<std::string> layers = {};
  /// PyTorch: dense layers of the model behind a Flatten of images, and the shape [H, W, C] of these: PyTorch flattens [C, H, W]. A dense layer
  /// behind a convolution, with more inputs than that has features, must be named.
  std::vector<std::pair<std::string, Shape>> flattened = {};
  /// Take what is there and leave the rest as it is; else each parameter must be there, and nothing else.
  bool partial = false;
};

/// Assigns parameters. Throws UserError, and assigns nothing, if a tensor is missing, belongs to nothing (naming the nearest), or has another shape
/// (naming the layer and both shapes).
void load_state_dict(nn::Module& model, const StateDict& tensors, const LoadOptions& options = {});

/// A .safetensors or .npz file, or a .weights.h5 file of Keras 3 (names `dense_1/0`, by layer and number), by what it begins with. Throws UserError.
StateDict read(const std::string& path);
/// A .safetensors or .npz file, by the ending of its name. Throws UserError for another.
void write(const std::string& path, const StateDict& tensors);

/// state_dict to a file, and load_state_dict from one; of Keras files the convention is Keras's.
void save(const nn::Module& model, const std::string& path);
void load(nn::Module& model, const std::string& path, LoadOptions options = {});

}  // namespace sinter::weights
