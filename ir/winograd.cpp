#include "ir/winograd.h"

#include <algorithm>

namespace sinter::ir {

namespace {

/// The product of (x - p) over all points, as coefficients from x⁰ up.
std::vector<double> polynomial(const std::vector<double>& points, std::size_t without) {
  std::vector<double> c{1};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == without) continue;
    c.push_back(0);
    for (std::size_t k = c.size(); k-- > 0;) c[k] = (k ? c[k - 1] : 0) - points[i] * c[k];
  }
  return c;
}

/// Toom and Cook's construction from m + r - 2 points and infinity, transposed: a tile is evaluated by polynomials that vanish at all points but one.
Winograd from_points(std::int64_t results, std::int64_t taps, const std::vector<double>& points) {
  const auto m = static_cast<std::size_t>(results), r = static_cast<std::size_t>(taps), finite = points.size(), size = finite + 1;
  Winograd w{results, taps, Matrix(size, std::vector<double>(size)), Matrix(size, std::vector<double>(r)), Matrix(m, std::vector<double>(size))};
  for (std::size_t i = 0; i < finite; ++i) {
    double others = 1;
    for (std::size_t j = 0; j < finite; ++j)
      if (j != i) others *= points[i] - points[j];
    const std::vector<double> c = polynomial(points, i);
    std::copy(c.begin(), c.end(), w.input[i].begin());
    double power = 1;
    for (std::size_t k = 0; k < std::max(m, r); ++k, power *= points[i]) {
      if (k < r) w.kernel[i][k] = power / others;
      if (k < m) w.output[k][i] = power;
    }
  }
  w.input[finite] = polynomial(points, finite);
  w.kernel[finite][r - 1] = 1;
  w.output[m - 1][finite] = 1;
  return w;
}

constexpr std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The most tiles along a row of an image, and the most numbers of a transformed kernel: the data of a few rows of tiles must stay in the caches.
constexpr std::int64_t most_tiles_a_row = 72, most_kernel_numbers = 4 * 1024 * 1024;
/// The least channels and features that use the lanes well.
constexpr std::int64_t least_channels = 8;
/// What each number of a kernel of so many costs, in multiply-adds for each image of a batch of some: it is read from the third-level cache, where
/// the kernels of other layers have taken its place in the second; and if it has no place there, transformed and stored for every few images, too.
constexpr double use_of_kernel(double numbers) { return numbers > 256 * 1024 ? 12 : 6; }
/// The rows of a register tile of products, of which one image may have fewer.
constexpr std::int64_t least_tiles = 6;
/// The most operations, as a share of the direct convolution's.
constexpr double paying = 0.8;

}  // namespace

Matrix transposed(const Matrix& matrix) {
  Matrix result(matrix.front().size(), std::vector<double>(matrix.size()));
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix[i].size(); ++j) result[j][i] = matrix[i][j];
  return result;
}

const Winograd* winograd_of(const Convolution& c, bool adjoint) {
  // Of the sets of points tried, 0, ±3/4, ±3/2 gave the least error, half of that of the usual 0, ±1, ±2. Root mean squares with 64 channels of
  // random numbers, over those of the direct sum: F(2, 3) 0.5, F(4, 3) 2.2, F(2, 5) 1.3. F(4, 5) would be 4.3, F(6, 3) 8.4.
  static const std::vector<double> points{0, 0.75, -0.75, 1.5, -1.5};
  static const Winograd forms[] = {from_points(2, 3, {0, 1, -1}), from_points(4, 3, points), from_points(2, 5, points)};
  const auto &h = c.sliding.h, &w = c.sliding.w;
  const auto fits = [](const SlidingAxis& axis, const Winograd& form) {
    return axis.size == form.taps && axis.stride == 1 && axis.dilation == 1 && axis.before < form.taps;
  };
  if (c.groups != 1 || c.channels < least_channels || c.features < least_channels) return nullptr;
  const auto channels = static_cast<double>(c.channels), features = static_cast<double>(c.features);
  const auto cost_of = [&](double products, std::int64_t numbers) {
    const double kernel = static_cast<double>(numbers) * channels * features;
    return products * channels * features + use_of_kernel(kernel) * kernel;
  };
  double least = paying * cost_of(static_cast<double>(h.out * w.out * h.size * w.size), h.size * w.size);
  const Winograd* best = nullptr;
  // A transform loads and stores its numbers and adds along rows and columns: about so many operations for each number of the larger side.
  constexpr double transform = 7;
  for (const Winograd& form : forms) {
    if (!fits(h, form) || !fits(w, form)) continue;
    const std::int64_t numbers = form.size() * form.size(), tiles_a_row = up(adjoint ? w.in : w.out, form.results),
                       tiles = up(adjoint ? h.in : h.out, form.results) * tiles_a_row;
    if (tiles_a_row > most_tiles_a_row || numbers * c.channels * c.features > most_kernel_numbers) continue;
    const double cost = cost_of(static_cast<double>(std::max(tiles, least_tiles) * numbers), numbers) +
                        static_cast<double>(tiles * numbers) * transform * (channels + features);
    if (cost < least) least = cost, best = &form;
  }
  return best;
}

}  // namespace sinter::ir
