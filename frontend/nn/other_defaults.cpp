#include "frontend/nn/other_defaults.h"

#include <algorithm>
#include <array>

namespace sinter::nn {

namespace {

// `in` and `units` are the layer's own numbers: those of inputs of a unit, channels in a window, units.
constexpr std::array table = std::to_array<OtherDefault>({
    {"dense", "weight", "glorot_uniform", "uniform(±1/√in)"},
    {"dense", "bias", "zeros", "uniform(±1/√in)"},
    {"conv1d", "padding", "valid", "valid"},
    {"conv1d", "weight", "glorot_uniform", "uniform(±1/√in)"},
    {"conv1d", "bias", "zeros", "uniform(±1/√in)"},
    {"conv2d", "padding", "valid", "valid"},
    {"conv2d", "weight", "glorot_uniform", "uniform(±1/√in)"},
    {"conv2d", "bias", "zeros", "uniform(±1/√in)"},
    {"conv2d_transpose", "padding", "valid", "valid"},
    {"conv2d_transpose", "weight", "glorot_uniform", "uniform(±1/√in)"},
    {"conv2d_transpose", "bias", "zeros", "uniform(±1/√in)"},
    {"max_pool1d", "strides", "the window", "the window"},
    {"max_pool1d", "padding", "valid", "valid"},
    {"max_pool2d", "strides", "the window", "the window"},
    {"max_pool2d", "padding", "valid", "valid"},
    {"average_pool1d", "strides", "the window", "the window"},
    {"average_pool1d", "padding", "valid", "valid"},
    {"average_pool2d", "strides", "the window", "the window"},
    {"average_pool2d", "padding", "valid", "valid"},
    {"average_pool1d", "counts padding", "no", "yes (count_include_pad)"},
    {"average_pool2d", "counts padding", "no", "yes (count_include_pad)"},
    {"batch_norm", "momentum", "0.99", "0.9 (its momentum 0.1)"},
    {"batch_norm", "epsilon", "0.001", "1e-05"},
    {"batch_norm", "running variance over", "the count", "the count - 1"},
    {"layer_norm", "epsilon", "0.001", "1e-05"},
    {"group_norm", "epsilon", "0.001", "1e-05"},
    {"instance_norm", "epsilon", "0.001 (GroupNormalization of groups=-1)", "1e-05"},
    {"instance_norm", "scale", "yes", "no (affine=False)"},
    {"instance_norm", "center", "yes", "no (affine=False)"},
    {"upsample", "interpolation", "nearest", "nearest"},
    {"embedding", "weight", "uniform(-0.05, 0.05)", "normal(0, 1)"},
    {"leaky_relu", "slope", "0.3", "0.01"},
    {"elu", "alpha", "1", "1"},
    {"gelu", "approximate", "no", "no"},
    {"prelu", "slope", "0", "0.25"},
    {"simple_rnn", "activation", "tanh", "tanh"},
    {"simple_rnn", "weight", "glorot_uniform", "uniform(±1/√units)"},
    {"simple_rnn", "recurrent_weight", "orthogonal", "uniform(±1/√units)"},
    {"simple_rnn", "bias", "zeros", "uniform(±1/√units)"},
    {"gru", "activation", "tanh", "tanh"},
    {"gru", "recurrent_activation", "sigmoid", "sigmoid"},
    {"gru", "weight", "glorot_uniform", "uniform(±1/√units)"},
    {"gru", "recurrent_weight", "orthogonal", "uniform(±1/√units)"},
    {"gru", "bias", "zeros", "uniform(±1/√units)"},
    {"lstm", "activation", "tanh", "tanh"},
    {"lstm", "recurrent_activation", "sigmoid", "sigmoid"},
    {"lstm", "weight", "glorot_uniform", "uniform(±1/√units)"},
    {"lstm", "recurrent_weight", "orthogonal", "uniform(±1/√units)"},
    {"lstm", "bias", "zeros", "uniform(±1/√units)"},
    {"gru", "reset_after", "yes", "yes"},
    {"lstm", "unit_forget_bias", "yes", "no"},
    {"sgd", "learning_rate", "0.01", "0.001"},
    {"sgd", "momentum", "0", "0"},
    {"sgd", "nesterov", "no", "no"},
    {"rmsprop", "learning_rate", "0.001", "0.01"},
    {"rmsprop", "rho", "0.9", "0.99 (its alpha)"},
    {"rmsprop", "epsilon", "1e-07", "1e-08"},
    {"rmsprop", "epsilon_outside", "no", "yes"},
    {"rmsprop", "momentum", "0", "0"},
    {"adagrad", "learning_rate", "0.001", "0.01"},
    {"adagrad", "epsilon", "1e-07 (within the root)", "1e-10"},
    {"adagrad", "initial_sum", "0.1", "0"},
    {"adadelta", "learning_rate", "0.001", "1"},
    {"adadelta", "rho", "0.95", "0.9"},
    {"adadelta", "epsilon", "1e-07", "1e-06"},
    {"adam", "learning_rate", "0.001", "0.001"},
    {"adam", "beta1", "0.9", "0.9"},
    {"adam", "beta2", "0.999", "0.999"},
    {"adam", "epsilon", "1e-07", "1e-08"},
    {"adam", "amsgrad", "no", "no"},
    {"adamw", "learning_rate", "0.001", "0.001"},
    {"adamw", "beta1", "0.9", "0.9"},
    {"adamw", "beta2", "0.999", "0.999"},
    {"adamw", "epsilon", "1e-07", "1e-08"},
    {"adamw", "amsgrad", "no", "no"},
    {"nadam", "learning_rate", "0.001", "0.002"},
    {"nadam", "beta1", "0.9", "0.9"},
    {"nadam", "beta2", "0.999", "0.999"},
    {"nadam", "epsilon", "1e-07", "1e-08"},
    {"adamw", "weight_decay", "0.004", "0.01"},
    {"nadam", "momentum_decay", "", "0.004"},
    {"lion", "learning_rate", "0.001", ""},
    {"lion", "beta1", "0.9", ""},
    {"lion", "beta2", "0.99", ""},
    {"categorical_crossentropy", "from_logits", "no", "yes (CrossEntropyLoss)"},
    {"categorical_crossentropy", "weighted mean over", "samples", "the sum of the weights"},
    {"categorical_crossentropy_from_logits", "from_logits", "no", "yes (CrossEntropyLoss)"},
    {"categorical_crossentropy_from_logits", "weighted mean over", "samples", "the sum of the weights"},
    {"sparse_categorical_crossentropy", "from_logits", "no", "yes (CrossEntropyLoss)"},
    {"sparse_categorical_crossentropy", "weighted mean over", "samples", "the sum of the weights"},
    {"sparse_categorical_crossentropy_from_logits", "from_logits", "no", "yes (CrossEntropyLoss)"},
    {"sparse_categorical_crossentropy_from_logits", "weighted mean over", "samples", "the sum of the weights"},
    {"binary_crossentropy", "from_logits", "no", ""},
    {"binary_crossentropy_from_logits", "from_logits", "no", ""},
    {"kl_divergence", "mean over", "samples", "all elements"},
    {"huber", "delta", "1", "1"},
});

/// Without what is in brackets behind it.
std::string_view value_of(std::string_view text) { return text.substr(0, text.find(" (") == text.npos ? text.size() : text.find(" (")); }

}  // namespace

std::span<const OtherDefault> all_other_defaults() { return table; }

std::string other_defaults(std::string_view of, const std::vector<Setting>& settings) {
  std::string keras, pytorch;
  for (const OtherDefault& one : table) {
    if (one.of != of) continue;
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) { return setting.name == one.setting; });
    if (found == settings.end() || found->value == "none") continue;
    for (const auto& [text, is] : {std::pair{&keras, one.keras}, {&pytorch, one.pytorch}})
      if (!is.empty() && value_of(is) != found->value) *text += str(text->empty() ? "" : ", ", one.setting, " ", is);
  }
  if (!keras.empty()) keras = "Keras: " + keras;
  if (!pytorch.empty()) pytorch = "PyTorch: " + pytorch;
  return keras + (keras.empty() || pytorch.empty() ? "" : "; ") + pytorch;
}

}  // namespace sinter::nn
