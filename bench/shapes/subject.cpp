#include "bench/shapes/subject.h"

#include <algorithm>
#include <cmath>

#include "bench/shapes/numbers.h"

namespace sinter::bench {

namespace {

constexpr std::int64_t most_samples = 65536, most_channels = 1 << 20, most_extent = 65536, most_kernel = 4096;
constexpr std::uint32_t of_input = 1, of_second = 2, of_loss = 3, of_weights = 10;  // streams of random numbers

double size(const Shape& shape) { return static_cast<double>(shape.elements().factor()); }

/// What a step of a layer moves at least: it reads inputs and writes their gradients, and reads and writes weights.
double step_bytes(const Subject& s) {
  double elements = size(s.inputs[0].shape()) * 2 + (s.loss_weights.defined() ? size(s.loss_weights.shape()) : 0);
  for (std::size_t i = 1; i < s.inputs.size(); ++i) elements += size(s.inputs[i].shape()) * 2;
  for (const auto& [name, parameter] : s.parameters) elements += size(parameter.shape()) * 2;
  return elements * 4;
}

/// The same of a call: it reads inputs and weights and writes `outputs` elements.
double call_bytes(const Subject& s, double outputs) {
  double elements = outputs;
  for (const Tensor& input : s.inputs) elements += size(input.shape());
  for (const auto& [name, parameter] : s.parameters) elements += size(parameter.shape());
  return elements * 4;
}

/// Both amounts of work, of a call that does so many operations and a step that does `factor` times as many.
void set_work(Subject& s, double operations, double factor, double outputs) {
  s.call = {operations, call_bytes(s, outputs)};
  s.step = {operations * factor, step_bytes(s)};
}

/// Refuses early what would take minutes, or the machine's memory.
void require_moderate(double operations, double elements) {
  constexpr double most_gflop = 20, most_megabytes = 2000;
  if (operations <= most_gflop * 1e9 && elements * 4 <= most_megabytes * 1e6) return;
  throw UserError("sweep", str("a call must take at most ", most_gflop, " GFLOP and ", most_megabytes, " MB, but this shape asks for ",
                               std::round(operations * 1e-8) / 10, " GFLOP and ", std::round(elements * 4e-6), " MB; make it smaller"));
}

/// A layer's weight, updated by steps.
void give(Subject& s, const std::string& name, const Parameter& parameter, float scale, float offset = 0) {
  parameter.assign(numbers(parameter.shape(), of_weights + static_cast<std::uint32_t>(s.parameters.size()), scale, offset));
  s.parameters.emplace_back(name, parameter);
}

/// For weights of variance 1 / fan.
float scale_of(std::int64_t fan) { return static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan))); }
constexpr float bias_scale = 0.125f;

template <class Layer>
std::function<Tensor(std::span<const Tensor>)> function_of(const Layer& layer) {
  return [own = layer](std::span<const Tensor> in) mutable { return own(in[0]); };
}

Subject dense(Request& request) {
  const std::int64_t batch = request.number("batch", 1, most_samples), inputs = request.number("inputs", 1, most_channels),
                     units = request.number("units", 1, most_channels);
  const nn::Activation activation = nn::parse_activation(request.word("activation", {"none", "relu", "sigmoid", "tanh"}));
  const double rows = static_cast<double>(batch), in = static_cast<double>(inputs), out = static_cast<double>(units);
  require_moderate(2 * rows * in * out, rows * in + in * out + rows * out);
  const nn::Dense layer(inputs, units, activation, {.weight = init::zeros()});
  Subject s{.inputs = {numbers({batch, inputs}, of_input)}, .function = function_of(layer)};
  give(s, "weight", layer.weight, scale_of(inputs));
  give(s, "bias", layer.bias, bias_scale);
  set_work(s, 2 * rows * in * out, 3, rows * out);
  return s;
}

/// Where windows of a layer lie in images, of one row if they are series.
struct Windows {
  std::int64_t batch = 1, height = 1, width = 1, kernel_height = 1, kernel_width = 1, stride = 1, padding = 0;
  bool is_series = false;

  double along(std::int64_t extent, std::int64_t kernel, std::int64_t around) const {
    return static_cast<double>(std::max<std::int64_t>(0, (extent + 2 * around - kernel) / stride + 1));
  }
  double places() const {
    return static_cast<double>(batch) * along(height, kernel_height, is_series ? 0 : padding) * along(width, kernel_width, padding);
  }
  double taps() const { return static_cast<double>(kernel_height * kernel_width); }
  double positions() const { return static_cast<double>(batch * height * width); }
};

Windows image_windows(Request& request) {
  const std::int64_t kernel_height = request.number("kernel_height", 1, most_kernel), kernel_width = request.number("kernel_width", 1, most_kernel);
  return {.batch = request.number("batch", 1, most_samples),
          .height = request.number("height", 1, most_extent),
          .width = request.number("width", 1, most_extent),
          .kernel_height = kernel_height,
          .kernel_width = kernel_width,
          .stride = request.number("stride", 1, most_kernel),
          .padding = request.number("padding", 0, most_kernel)};
}

/// Weights and work of a convolution.
template <class Layer>
Subject convolution(const Layer& layer, const Tensor& x, const Windows& at, std::int64_t channels_a_group, std::int64_t features) {
  Subject s{.inputs = {x}, .function = function_of(layer)};
  give(s, "weight", layer.weight, scale_of(channels_a_group * at.kernel_height * at.kernel_width));
  give(s, "bias", layer.bias, bias_scale);
  const double outputs = at.places() * static_cast<double>(features);
  set_work(s, 2 * outputs * at.taps() * static_cast<double>(channels_a_group), 3, outputs);
  return s;
}

enum class Groups : std::uint8_t { one, some, channels };
Subject image_convolution(Request& request, Groups kind) {
  const Windows at = image_windows(request);
  const std::int64_t channels = request.number("channels", 1, most_channels), features = request.number("features", 1, most_channels);
  const nn::Activation activation = nn::parse_activation(request.word("activation", {"none", "relu"}));
  const std::int64_t groups = kind == Groups::one ? 1 : kind == Groups::channels ? channels : request.number("groups", 1, channels);
  const std::int64_t channels_a_group = channels / groups;
  const double in = static_cast<double>(channels_a_group), out = static_cast<double>(features);
  require_moderate(2 * at.places() * at.taps() * in * out, at.positions() * static_cast<double>(channels) + at.taps() * in * out + at.places() * out);
  const nn::Conv2D layer(channels, features, {at.kernel_height, at.kernel_width}, activation,
                         {.strides = {at.stride}, .padding = Padding::around({at.padding, at.padding}), .groups = groups, .weight = init::zeros()});
  return convolution(layer, numbers({at.batch, at.height, at.width, channels}, of_input), at, channels_a_group, features);
}

Subject conv(Request& request) { return image_convolution(request, Groups::one); }
Subject grouped(Request& request) { return image_convolution(request, Groups::some); }
Subject depthwise(Request& request) { return image_convolution(request, Groups::channels); }

Subject conv1d(Request& request) {
  const std::int64_t channels = request.number("channels", 1, most_channels), features = request.number("features", 1, most_channels);
  const Windows at{.batch = request.number("batch", 1, most_samples),
                   .width = request.number("length", 1, most_extent),
                   .kernel_width = request.number("kernel", 1, most_kernel),
                   .stride = request.number("stride", 1, most_kernel),
                   .padding = request.number("padding", 0, most_kernel),
                   .is_series = true};
  const nn::Activation activation = nn::parse_activation(request.word("activation", {"none", "relu"}));
  const double in = static_cast<double>(channels), out = static_cast<double>(features);
  require_moderate(2 * at.places() * at.taps() * in * out, at.positions() * in + at.taps() * in * out + at.places() * out);
  const nn::Conv1D layer(channels, features, at.kernel_width, activation,
                         {.strides = {at.stride}, .padding = Padding::around({at.padding}), .weight = init::zeros()});
  return convolution(layer, numbers({at.batch, at.width, channels}, of_input), at, channels, features);
}

Subject pool(Request& request) {
  const std::string op = request.word("op", {"max", "average", "global_max", "global_average"});
  Windows at;
  if (op.starts_with("global")) {
    at.batch = request.number("batch", 1, most_samples);
    at.kernel_height = at.height = request.number("height", 1, most_extent);
    at.kernel_width = at.width = request.number("width", 1, most_extent);
  } else {
    at = image_windows(request);
  }
  const std::int64_t channels = request.number("channels", 1, most_channels);
  const double elements = at.positions() * static_cast<double>(channels);
  const double outputs = at.places() * static_cast<double>(channels);
  require_moderate(outputs * at.taps(), elements + outputs);
  Subject s{.inputs = {numbers({at.batch, at.height, at.width, channels}, of_input)}};
  const PoolOptions options{.strides = {at.stride}, .padding = Padding::around({at.padding, at.padding})};
  const std::vector<std::int64_t> window{at.kernel_height, at.kernel_width};
  if (op == "max") s.function = function_of(nn::MaxPool2D(window, options));
  else if (op == "average") s.function = function_of(nn::AveragePool2D(window, options));
  else if (op == "global_max") s.function = function_of(nn::GlobalMaxPool());
  else s.function = function_of(nn::GlobalAveragePool());
  set_work(s, outputs * at.taps(), 2, outputs);
  return s;
}

Subject normalization(Request& request) {
  const bool of_batch = request.word("op", {"batch_norm", "layer_norm"}) == "batch_norm";
  const std::int64_t batch = request.number("batch", 1, most_samples), height = request.number("height", 1, most_extent),
                     width = request.number("width", 1, most_extent), features = request.number("features", 1, most_channels);
  const double elements = static_cast<double>(batch * height) * static_cast<double>(width * features);
  require_moderate(elements, elements * 2);
  Shape shape{batch, features};
  if (width > 1 || height > 1) shape = width > 1 ? Shape{batch, height, width, features} : Shape{batch, height, features};
  Subject s{.inputs = {numbers(shape, of_input)}, .loss_weights = numbers(shape, of_loss)};
  const auto scaled = [&](const auto& layer) {
    s.function = function_of(layer);
    give(s, "gamma", layer.gamma, 0.5f, 1);
    give(s, "beta", layer.beta, 0.5f);
  };
  if (of_batch) {
    const nn::BatchNorm layer(features);
    scaled(layer);
    layer.running_mean.assign(numbers({features}, of_weights + 2, 0.25f));
    layer.running_variance.assign(numbers({features}, of_weights + 3, 0.25f, 0.5f));
    set_work(s, 2 * elements, 8, elements);
  } else {
    scaled(nn::LayerNorm(features));
    set_work(s, 8 * elements, 3, elements);
  }
  return s;
}

constexpr double of_exponential = 20;  // operations of exp, sigmoid or tanh, about

Subject softmax_rows(Request& request) {
  const bool is_log = request.word("op", {"softmax", "log_softmax"}) == "log_softmax";
  const std::int64_t batch = request.number("batch", 1, most_samples), length = request.number("length", 1, most_extent),
                     features = request.number("features", 1, most_channels);
  const double elements = static_cast<double>(batch * length) * static_cast<double>(features);
  require_moderate(elements * of_exponential, elements * 2);
  const Shape shape = length > 1 ? Shape{batch, length, features} : Shape{batch, features};
  Subject s{.inputs = {numbers(shape, of_input, 4)}, .loss_weights = numbers(shape, of_loss)};
  s.function = [is_log](std::span<const Tensor> in) { return is_log ? log_softmax(in[0]) : softmax(in[0]); };
  set_work(s, elements * (of_exponential + 4), 1.2, elements);
  return s;
}

Subject embedding(Request& request) {
  const std::int64_t batch = request.number("batch", 1, most_samples), length = request.number("length", 1, most_extent),
                     entries = request.number("entries", 1, most_channels * 16), features = request.number("features", 1, most_channels);
  const double indices = static_cast<double>(batch * length), columns = static_cast<double>(features);
  require_moderate(indices * columns, indices * (columns + 1) + static_cast<double>(entries) * columns);
  const nn::Embedding layer(entries, features, {.weight = init::zeros()});
  Subject s{.inputs = {whole_numbers({batch, length}, of_input, static_cast<std::uint32_t>(entries))},
            .function = [own = layer](std::span<const Tensor> in) mutable { return mean(own(in[0]), {1}); },
            .has_input_gradient = false};
  give(s, "weight", layer.weight, 1);
  const double rows = std::min(indices, static_cast<double>(entries));  // that are read, if they are read once
  s.call = {indices * columns, 4 * (indices + rows * columns + static_cast<double>(batch) * columns)};
  s.step = {indices * columns * 2, 4 * (indices + 2 * rows * columns)};
  return s;
}

/// An operation of a chain, of the result before it and the inputs.
using Link = std::function<Tensor(const Tensor&, std::span<const Tensor>)>;
struct NamedLink {
  std::string name;
  double operations;  ///< for each element, about
  Link link;
};

const std::vector<NamedLink>& of_one_operand() {
  using Inputs = std::span<const Tensor>;
  static const std::vector<NamedLink> all{{"relu", 1, [](const Tensor& x, Inputs) { return relu(x); }},
                                          {"sigmoid", of_exponential, [](const Tensor& x, Inputs) { return sigmoid(x); }},
                                          {"tanh", of_exponential, [](const Tensor& x, Inputs) { return sinter::tanh(x); }},
                                          {"exp", of_exponential, [](const Tensor& x, Inputs) { return sinter::exp(x); }},
                                          {"gelu", of_exponential, [](const Tensor& x, Inputs) { return gelu(x); }},
                                          {"silu", of_exponential, [](const Tensor& x, Inputs) { return silu(x); }},
                                          {"square", 1, [](const Tensor& x, Inputs) { return square(x); }},
                                          {"abs", 1, [](const Tensor& x, Inputs) { return sinter::abs(x); }},
                                          {"half", 1, [](const Tensor& x, Inputs) { return x * 0.5; }},
                                          {"shift", 1, [](const Tensor& x, Inputs) { return x + 0.25; }}};
  return all;
}

Subject elementwise(Request& request) {
  std::vector<std::string> known{"add", "mul", "gain", "bias"};
  for (const NamedLink& link : of_one_operand()) known.push_back(link.name);
  const std::vector<std::string> ops = request.words("ops", known, 8);
  const std::int64_t batch = request.number("batch", 1, most_samples), length = request.number("length", 1, most_extent),
                     features = request.number("features", 1, most_channels);
  const double elements = static_cast<double>(batch * length) * static_cast<double>(features);
  require_moderate(elements * of_exponential * 8, elements * 3);
  const Shape shape = length > 1 ? Shape{batch, length, features} : Shape{batch, features};
  Subject s{.inputs = {numbers(shape, of_input)}, .loss_weights = numbers(shape, of_loss)};
  double operations = 0;
  std::vector<Link> links;
  for (const std::string& op : ops) {
    const auto known = std::ranges::find(of_one_operand(), op, &NamedLink::name);
    if (known != of_one_operand().end()) {
      operations += known->operations * elements;
      links.emplace_back(known->link);
      continue;
    }
    operations += elements;
    if (op == "gain" || op == "bias") {
      const Parameter parameter(str(op, s.parameters.size()), Tensor::zeros({DType::f32, {features}}));
      give(s, parameter.name(), parameter, 0.5f, op == "gain" ? 1 : 0);
      if (op == "gain") links.emplace_back([parameter](const Tensor& x, std::span<const Tensor>) { return x * parameter; });
      else links.emplace_back([parameter](const Tensor& x, std::span<const Tensor>) { return x + parameter; });
      continue;
    }
    if (s.inputs.size() == 1) s.inputs.push_back(numbers(shape, of_second));
    if (op == "mul") links.emplace_back([](const Tensor& x, std::span<const Tensor> in) { return x * in[1]; });
    else links.emplace_back([](const Tensor& x, std::span<const Tensor> in) { return x + in[1]; });
  }
  s.function = [links](std::span<const Tensor> in) {
    Tensor y = in[0];
    for (const Link& link : links) y = link(y, in);
    return y;
  };
  set_work(s, operations, 2, elements);
  return s;
}

template <class Layer>
void set_recurrent(Subject& s, std::int64_t inputs, std::int64_t units) {
  const Layer layer(inputs, units, {.weight = init::zeros(), .recurrent_weight = init::zeros()});
  s.function = function_of(layer);
  give(s, "weight", layer.weight, scale_of(inputs));
  give(s, "recurrent_weight", layer.recurrent_weight, scale_of(units));
  give(s, "bias", layer.bias, bias_scale);
  if constexpr (requires { layer.recurrent_bias; }) give(s, "recurrent_bias", layer.recurrent_bias, bias_scale);
}

Subject recurrent(Request& request) {
  const std::string cell = request.word("cell", {"gru", "lstm", "simple_rnn"});
  const std::int64_t batch = request.number("batch", 1, most_samples), length = request.number("length", 1, most_extent),
                     inputs = request.number("inputs", 1, most_channels), units = request.number("units", 1, most_channels);
  const double gates = cell == "gru" ? 3 : cell == "lstm" ? 4 : 1, rows = static_cast<double>(batch * length), of = static_cast<double>(units);
  const double in = static_cast<double>(inputs), operations = 2 * rows * (in + of) * gates * of;
  require_moderate(operations, rows * (in + gates * of) + (in + of) * gates * of);
  Subject s{.inputs = {numbers({batch, length, inputs}, of_input)}};
  if (cell == "gru") set_recurrent<nn::GRU>(s, inputs, units);
  else if (cell == "lstm") set_recurrent<nn::LSTM>(s, inputs, units);
  else set_recurrent<nn::SimpleRNN>(s, inputs, units);
  set_work(s, operations, 3, static_cast<double>(batch) * of);
  return s;
}

const std::vector<std::pair<std::string, Subject (*)(Request&)>>& table() {
  static const std::vector<std::pair<std::string, Subject (*)(Request&)>> all{{"dense", dense},
                                                                              {"conv", conv},
                                                                              {"conv1d", conv1d},
                                                                              {"grouped", grouped},
                                                                              {"depthwise", depthwise},
                                                                              {"pool", pool},
                                                                              {"normalization", normalization},
                                                                              {"softmax", softmax_rows},
                                                                              {"embedding", embedding},
                                                                              {"elementwise", elementwise},
                                                                              {"recurrent", recurrent}};
  return all;
}

}  // namespace

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto& [name, make] : table()) names.push_back(name);
  return names;
}

Subject subject_of(Request& request) {
  for (const auto& [name, make] : table())
    if (name == request.kind()) {
      Subject subject = make(request);
      request.require_all_read();
      return subject;
    }
  std::string known;
  for (const std::string& name : kinds()) known += (known.empty() ? "" : ", ") + name;
  throw UserError("sweep", str("'kind' must be one of ", known, ", got \"", request.kind(), "\"", nearest_hint(request.kind(), kinds())));
}

}  // namespace sinter::bench
