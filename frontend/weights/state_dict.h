// Weights by name: from and to files of Sinter, NumPy, safetensors, PyTorch and Keras.
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

/// Whose names and layouts the tensors of a file have.
enum class Convention {
  sinter,  ///< names are those of the parameters
  /// Layers are matched by kind and shape; those of one kind and shape in the order of the numbers in their names (fc2 before fc10), or all in the
  /// order of `layers`. Where names tell no order (encoder, decoder), `layers` must. Weights are [out, in, kernel...]; gates of a GRU are
  /// r, z, n; the bias of an LSTM and of an RNN is the sum of two.
  pytorch,
  keras,  ///< layers of a kind are matched in the order of their numbers (dense, dense_1)
};

struct LoadOptions {
  Convention convention = Convention::sinter;
  /// PyTorch: names of its layers (the part before `.weight`) in the order of the model's layers, if their numbers and shapes do not tell that order.
  /// That of a recurrent layer (before `.weight_ih_l0`) stands for all its levels and directions.
  std::vector<std::string> layers = {};
  /// PyTorch: dense layers of the model after a Flatten of images, and the shape [H, W, C] of these: PyTorch flattens [C, H, W]. A dense layer
  /// after a convolution, with more inputs than that has features, must be named.
  std::vector<std::pair<std::string, Shape>> flattened = {};
  /// Parameters that the file lacks keep their values; otherwise each must be in the file.
  bool partial = false;
  /// Names, or patterns of names (`*` is any text), of tensors of the file that may belong to no parameter: "head.*"; {"*"} permits all. Files of
  /// other frameworks, whose tensors have other names than parameters, are read without those that match.
  std::vector<std::string> allow_unused = {};
};

/// What a load did, by name, in the order of the model and of the file.
struct LoadResult {
  std::vector<std::string> loaded;  ///< parameters that got new values
  std::vector<std::string> kept;    ///< parameters that the file lacks
  std::vector<std::string> unused;  ///< tensors of the file that belong to no parameter
};

/// Assigns parameters. Throws UserError, and assigns nothing, if a tensor is missing, belongs to nothing (naming the nearest), has another shape
/// (naming the layer and both shapes) or is there twice, and if no tensor belongs to a parameter.
LoadResult load_state_dict(nn::Module& model, const StateDict& tensors, const LoadOptions& options = {});

/// A .safetensors or .npz file, or an HDF5 file of Keras, 3 or 2 (names `dense_1/0`, by layer and number), by its first bytes. Throws UserError.
StateDict read(const std::string& path);
/// Writes a .safetensors or .npz file, by the file name's extension. Throws UserError for another.
void write(const std::string& path, const StateDict& tensors);

/// state_dict to a file, and load_state_dict from one; Keras files imply the convention keras.
void save(const nn::Module& model, const std::string& path);
LoadResult load(nn::Module& model, const std::string& path, LoadOptions options = {});

}  // namespace sinter::weights
