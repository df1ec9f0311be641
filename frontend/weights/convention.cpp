#include "frontend/weights/convention.h"

#include "frontend/weights/layers.h"

namespace sinter::weights {

StateDict to_sinter(const nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  if (options.convention != Convention::pytorch && !(options.layers.empty() && options.flattened.empty()))
    throw UserError("load", "LoadOptions::layers and flattened are for files of PyTorch; leave them out, or set convention to Convention::pytorch");
  return options.convention == Convention::pytorch ? from_pytorch(model, tensors, options) : from_keras(model, tensors);
}

}  // namespace sinter::weights
