#include "bench/shapes/numbers.h"

#include <cmath>
#include <vector>

namespace sinter::bench {

namespace {

constexpr std::uint32_t of_figures = 1000;  // a stream

float number(std::uint32_t stream, std::uint32_t place) { return static_cast<float>(hashed(stream, place) >> 8) * 0x1p-23f - 1; }

std::size_t count_of(const Shape& shape) { return static_cast<std::size_t>(shape.elements().factor()); }

}  // namespace

std::uint32_t hashed(std::uint32_t stream, std::uint32_t place) {
  std::uint32_t x = place + stream * 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

Tensor numbers(const Shape& shape, std::uint32_t stream, float scale, float offset) {
  std::vector<float> data(count_of(shape));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = number(stream, static_cast<std::uint32_t>(i)) * scale + offset;
  return {data, shape};
}

Tensor whole_numbers(const Shape& shape, std::uint32_t stream, std::uint32_t bound) {
  std::vector<std::int32_t> data(count_of(shape));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int32_t>(hashed(stream, static_cast<std::uint32_t>(i)) % bound);
  return {data, shape};
}

nlohmann::ordered_json figures_of(const Tensor& tensor) {
  const std::vector<float> data = tensor.to_vector<float>();
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    product += static_cast<double>(data[i]) * static_cast<double>(number(of_figures, static_cast<std::uint32_t>(i)));
    squares += static_cast<double>(data[i]) * static_cast<double>(data[i]);
  }
  return {product, std::sqrt(squares), data.size()};
}

}  // namespace sinter::bench
