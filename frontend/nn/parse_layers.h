// Layers from one line of text: "conv 32 3 relu; pool 2; flatten; dense 128 relu; dropout 0.3".
#pragma once

#include <cstdint>
#include <string_view>

#include "frontend/nn/sequential.h"

namespace sinter::nn {

struct ParseLayersOptions {
  std::int64_t entries = 0;  ///< of embeddings that do not say their own: numbers of words
  Penalty penalty = {};      ///< of the weights of dense and convolution layers
};

/// A model of the layers that a text names, for samples of this type: [N, features...], or [N, T, features...] for sequences of any length. Layers
/// are parted by semicolons. Each is a name, then numbers and words in any order that fits, then options, NAME=VALUE:
///
///   dense UNITS [ACTIVATION]
///   conv FEATURES SIZE [ACTIVATION] [strides= padding= dilations= groups=]            of images, or of series and sequences
///   conv_transpose FEATURES SIZE [ACTIVATION] [strides= padding=]
///   pool SIZE [max | average] [strides= padding=]
///   adaptive_pool EXTENT [EXTENT] [average | max]
///   global_pool [average | max]
///   upsample SCALE [SCALE] [nearest | bilinear]
///   flatten
///   reshape A B ...
///   dropout RATE, spatial_dropout RATE
///   batch_norm, layer_norm, group_norm GROUPS, instance_norm
///   embedding FEATURES [entries=]
///   rnn UNITS, gru UNITS, lstm UNITS [ACTIVATION] [sequences] [backwards] [both] [merge=concat | sum | mean | product] [dropout= recurrent_dropout=]
///   an activation: relu, tanh, ...
///
/// padding is valid, same or causal. Throws UserError `[layers] character 12, 'cnov 32': …` for a layer that does not exist, a word too few or too
/// many, and what a layer refuses.
Sequential parse_layers(std::string_view text, const Type& samples, const ParseLayersOptions& options = {});

/// What a layer returns for samples of this type.
Type output_type(Module& layer, const Type& samples);

}  // namespace sinter::nn
