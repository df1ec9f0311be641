#include "bench/published/eager_graph_models.h"

namespace sinter::published {

namespace {

std::vector<ConvLayer> of_medium() {
  std::vector<ConvLayer> layers;
  for (const std::int64_t filters : {64, 128, 256, 256, 128, 64}) layers.push_back({filters, 20, 1, false});
  return layers;
}

std::vector<ConvLayer> of_large() {
  std::vector<ConvLayer> layers{{64, 400, 4, false}, {128, 200, 1, false}};
  layers.insert(layers.end(), 40, {256, 12, 1, true});
  layers.insert(layers.end(), {{512, 20, 2, false}, {1028, 10, 2, false}, {256, 1, 1, false}});
  return layers;
}

SeriesModel question_small() { return {"small", {{128, 400, 4, true}}, {64}, 0, false, {}, 200}; }
SeriesModel question_medium() { return {"medium", {{128, 400, 4, true}}, {256, 128, 64}, 1, false, {512, 512}, 10}; }
SeriesModel small() { return {"small", {{128, 40, 4, true}}, {64}, 0, true, {}, 200}; }
SeriesModel medium() { return {"medium", of_medium(), {256, 128, 64}, 1, true, {}, 100}; }

}  // namespace

SeriesModel large_model() { return {"large", of_large(), {256, 128, 64}, 1, true, {}, 50}; }

nn::Sequential SeriesModel::make(std::int64_t length, std::int64_t channels) const {
  using enum nn::Activation;
  nn::Sequential model;
  const nn::RecurrentOptions sequences{.activation = relu, .return_sequences = true};
  for (const std::int64_t units : recurrent) {
    if (model.size() == 0) model += nn::Bidirectional(nn::LSTM(channels, units, sequences));
    else model += nn::LSTM(channels, units, sequences);
    channels = model.size() == 1 ? 2 * units : units;
  }
  for (const ConvLayer& layer : convolutions) {
    const Padding padding = layer.same ? Padding::same() : Padding::valid();
    model += nn::Conv1D(channels, layer.filters, layer.width, none, {.strides = {layer.stride}, .padding = padding});
    channels = layer.filters;
  }
  if (average) model += nn::GlobalAveragePool();
  else model += nn::Flatten();
  std::int64_t inputs = average ? channels : channels * lengths(length).back();
  for (std::int64_t i = 0; const std::int64_t units : dense) {
    if (i++ == dropout_before) model += nn::Dropout(0.5);
    model += nn::Dense(inputs, units, relu);
    inputs = units;
  }
  return model += nn::Dense(inputs, 1, sigmoid);
}

std::vector<std::int64_t> SeriesModel::lengths(std::int64_t length) const {
  std::vector<std::int64_t> result;
  for (const ConvLayer& layer : convolutions) result.push_back(length = layer.places(length));
  return result;
}

double SeriesModel::forward_flops(std::int64_t length, std::int64_t channels) const {
  double adds = 0;
  for (std::size_t i = 0; i < recurrent.size(); ++i) {
    const std::int64_t units = recurrent[i], directions = i == 0 ? 2 : 1;
    adds += static_cast<double>(directions * length * (channels + units) * units * 4);
    channels = directions * units;
  }
  const std::vector<std::int64_t> places = lengths(length);
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    adds += static_cast<double>(places[i] * convolutions[i].width * channels * convolutions[i].filters);
    channels = convolutions[i].filters;
  }
  std::int64_t inputs = average ? channels : channels * places.back();
  for (const std::int64_t units : dense) {
    adds += static_cast<double>(inputs * units);
    inputs = units;
  }
  return 2 * static_cast<double>(cell_batch) * (adds + static_cast<double>(inputs));
}

double SeriesModel::result_bytes(std::int64_t length) const {
  double numbers = 0;
  for (std::size_t i = 0; i < recurrent.size(); ++i) numbers += static_cast<double>(length * recurrent[i] * (i == 0 ? 2 : 1));
  const std::vector<std::int64_t> places = lengths(length);
  for (std::size_t i = 0; i < convolutions.size(); ++i) numbers += static_cast<double>(places[i] * convolutions[i].filters);
  return static_cast<double>(cell_batch) * numbers * sizeof(float);
}

std::vector<Cell> cells() {
  const auto repeated = [](std::int64_t first, std::int64_t second, std::vector<std::int64_t> last) {
    std::vector<std::int64_t> all{first};
    all.insert(all.end(), 41, second);
    all.insert(all.end(), last.begin(), last.end());
    return all;
  };
  return {
      {question_small(), "", 400, 16, 1638657, {100}, 5.295},
      {question_medium(), "", 400, 16, 34847361, {100}, 303.9},
      {small(), "small", 140, 30, 162049, {35}, 0.345},
      {small(), "medium", 1400, 30, 162049, {350}, 3.441},
      {small(), "large", 14000, 30, 162049, {3500}, 34.41},
      {medium(), "small", 140, 30, 3046273, {121, 102, 83, 64, 45, 26}, 12.38},
      {medium(), "medium", 1400, 30, 3046273, {1381, 1362, 1343, 1324, 1305, 1286}, 253.3},
      {medium(), "large", 14000, 30, 3046273, {13981, 13962, 13943, 13924, 13905, 13886}, 2662},
      {large_model(), "medium", 1400, 30, 41737669, repeated(251, 52, {17, 4, 4}), 125.4},
      {large_model(), "large", 14000, 30, 41737669, repeated(3401, 3202, {1592, 792, 792}), 7416},
  };
}

}  // namespace sinter::published
