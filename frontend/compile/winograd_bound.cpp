#include "frontend/compile/winograd_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/winograd.h"

namespace sinter {

namespace {

using Matrix = ir::Matrix;

Matrix absolute(Matrix m) {
  for (std::vector<double>& row : m)
    for (double& x : row) x = std::abs(x);
  return m;
}

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b.front().size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < c[i].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

/// left · middle · right.
Matrix transformed(const Matrix& left, const Matrix& middle, const Matrix& right) { return times(times(left, middle), right); }

/// Magnitudes as infinity where a sum, of these magnitudes, may be beyond f32: what is made of them may be anything.
void overflow(Matrix& magnitudes, const Matrix& sums) {
  for (std::size_t i = 0; i < magnitudes.size(); ++i)
    for (std::size_t j = 0; j < magnitudes[i].size(); ++j)
      if (sums[i][j] > std::numeric_limits<float>::max()) magnitudes[i][j] = std::numeric_limits<double>::infinity();
}

/// A transform by whose factors below 1 nothing is multiplied yet: terms may be added before they are.
Matrix unscaled(Matrix transform) {
  for (std::vector<double>& row : transform)
    for (double& x : row)
      if (x != 0) x = std::max(x, 1.0);
  return transform;
}

/// left · middle · right in f32, whichever product comes first: infinity or NaN where a sum on the way may overflow.
Matrix transformed_in_f32(const Matrix& left, const Matrix& middle, const Matrix& right) {
  const auto from_left = [&](const Matrix& x) {
    Matrix product = times(left, x);
    overflow(product, times(unscaled(left), x));
    return product;
  };
  const auto from_right = [&](const Matrix& x) {
    Matrix product = times(x, right);
    overflow(product, times(x, unscaled(right)));
    return product;
  };
  Matrix result = from_right(from_left(middle));
  const Matrix other = from_left(from_right(middle));
  for (std::size_t i = 0; i < result.size(); ++i)
    for (std::size_t j = 0; j < result[i].size(); ++j)
      if (std::isnan(other[i][j]) || other[i][j] > result[i][j]) result[i][j] = other[i][j];
  return result;
}

/// Images [N, H, W, C] or kernels [R, R, C, F]: element (a, b, c, d), 0 outside of the middle extents.
struct Grid {
  const ir::Array& array;
  std::size_t at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    const auto& e = array.extents;
    return static_cast<std::size_t>(((a * e[1] + b) * e[2] + c) * e[3] + d);
  }
  double pixel(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c) const {
    const bool inside = h >= 0 && h < array.extents[1] && w >= 0 && w < array.extents[2];
    return inside ? array.data[at(n, h, w, c)] : 0;
  }
};

/// The tile of size × size pixels at (h, w), transformed by `product`, for each channel.
std::vector<Matrix> tiles_of(const Grid& image, const Matrix& transform, std::int64_t n, std::int64_t h, std::int64_t w,
                             Matrix (*product)(const Matrix&, const Matrix&, const Matrix&)) {
  const auto size = static_cast<std::int64_t>(transform.front().size());
  const Matrix other = ir::transposed(transform);
  std::vector<Matrix> tiles;
  for (std::int64_t c = 0; c < image.array.extents[3]; ++c) {
    Matrix tile(static_cast<std::size_t>(size), std::vector<double>(static_cast<std::size_t>(size)));
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) tile[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = image.pixel(n, h + i, w + j, c);
    tiles.push_back(product(transform, tile, other));
  }
  return tiles;
}

/// Sums over all pairs of a first and a second index of the products of their matrices' elements.
void add_product(Matrix& sum, const Matrix& a, const Matrix& b) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    for (std::size_t j = 0; j < sum[i].size(); ++j) sum[i][j] += a[i][j] * b[i][j];
}

struct Form {
  explicit Form(const ir::Winograd& w)
      : results(w.results),
        taps(static_cast<std::size_t>(w.taps)),
        size(static_cast<std::size_t>(w.size())),
        input(absolute(w.input)),
        kernel(absolute(w.kernel)),
        output(absolute(w.output)) {}
  std::int64_t results;
  std::size_t taps, size;
  Matrix input, kernel, output;
  Matrix zeros() const { return Matrix(size, std::vector<double>(size)); }
};

/// The greatest of `size` rows and columns of pixels, over all channels; NaN if there is one.
double greatest_of(const Grid& image, std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t size) {
  double greatest = 0;
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j)
      for (std::int64_t c = 0; c < image.array.extents[3]; ++c) {
        const double x = image.pixel(n, h + i, w + j, c);
        if (!(x <= greatest)) greatest = x;
        if (std::isnan(x)) return x;
      }
  return greatest;
}

/// A convolution of an image, padded by (top, left), or of gradients by the kernel rotated by 180 degrees if `adjoint`: `source` and `least` are the
/// greatest and the least magnitudes that its numbers may have.
WinogradMagnitude convolved(const Form& form, const ir::Array& source, const ir::Array& least, const ir::Array& kernel, std::int64_t top,
                            std::int64_t left, bool adjoint, const std::vector<std::int64_t>& extents) {
  WinogradMagnitude bound{ir::Array(DType::f32, extents), {}};
  ir::Array& result = bound.terms;
  bound.direct.resize(result.data.size());
  const Grid to{result}, w{kernel};
  const auto channels = static_cast<std::size_t>(source.extents[3]), features = static_cast<std::size_t>(extents[3]);
  const Matrix kernel_right = ir::transposed(form.kernel), output_right = ir::transposed(form.output);
  const auto last = static_cast<std::int64_t>(form.taps) - 1;
  std::vector<Matrix> kernels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t f = 0; f < features; ++f) {
      Matrix taps(form.taps, std::vector<double>(form.taps));
      for (std::size_t i = 0; i < form.taps; ++i)
        for (std::size_t j = 0; j < form.taps; ++j) {
          const auto a = static_cast<std::int64_t>(i), b = static_cast<std::int64_t>(j), p = static_cast<std::int64_t>(c),
                     q = static_cast<std::int64_t>(f);
          taps[i][j] = kernel.data[adjoint ? w.at(last - a, last - b, q, p) : w.at(a, b, p, q)];
        }
      kernels.push_back(transformed(form.kernel, taps, kernel_right));
    }
  for (std::int64_t n = 0; n < extents[0]; ++n)
    for (std::int64_t h = 0; h < extents[1]; h += form.results)
      for (std::int64_t v = 0; v < extents[2]; v += form.results) {
        const std::vector<Matrix> tiles = tiles_of({source}, form.input, n, h - top, v - left, transformed);
        const double whole = greatest_of({least}, n, h - top, v - left, static_cast<std::int64_t>(form.size));
        for (std::int64_t i = 0; i < form.results && h + i < extents[1]; ++i)
          for (std::int64_t j = 0; j < form.results && v + j < extents[2]; ++j) {
            const double own = greatest_of({source}, n, h + i - top, v + j - left, static_cast<std::int64_t>(form.taps));
            if (!std::isfinite(whole) || whole > own * ir::most_spread)
              std::fill_n(bound.direct.begin() + static_cast<std::ptrdiff_t>(to.at(n, h + i, v + j, 0)), features, true);
          }
        for (std::size_t f = 0; f < features; ++f) {
          Matrix sum = form.zeros();
          for (std::size_t c = 0; c < channels; ++c) add_product(sum, tiles[c], kernels[c * features + f]);
          const Matrix results = transformed(form.output, sum, output_right);
          for (std::int64_t i = 0; i < form.results && h + i < extents[1]; ++i)
            for (std::int64_t j = 0; j < form.results && v + j < extents[2]; ++j)
              result.data[to.at(n, h + i, v + j, static_cast<std::int64_t>(f))] = results[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        }
      }
  return bound;
}

/// The gradient of a kernel, which is never computed directly: infinity or NaN where its transforms may overflow, although the sum does not.
ir::Array correlated(const Form& form, const ir::Array& image, const ir::Array& gradient, std::int64_t top, std::int64_t left,
                     const std::vector<std::int64_t>& extents) {
  ir::Array result(DType::f32, extents);
  const auto channels = static_cast<std::size_t>(extents[2]), features = static_cast<std::size_t>(extents[3]);
  std::vector<Matrix> sums(channels * features, form.zeros());
  const Matrix gradients = ir::transposed(form.output), left_kernel = ir::transposed(form.kernel);
  for (std::int64_t n = 0; n < image.extents[0]; ++n)
    for (std::int64_t h = 0; h < gradient.extents[1]; h += form.results)
      for (std::int64_t w = 0; w < gradient.extents[2]; w += form.results) {
        const std::vector<Matrix> x = tiles_of({image}, form.input, n, h - top, w - left, transformed_in_f32),
                                  y = tiles_of({gradient}, gradients, n, h, w, transformed_in_f32);
        for (std::size_t c = 0; c < channels; ++c)
          for (std::size_t f = 0; f < features; ++f) add_product(sums[c * features + f], x[c], y[f]);
      }
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t f = 0; f < features; ++f) {
      overflow(sums[c * features + f], sums[c * features + f]);
      const Matrix taps = transformed_in_f32(left_kernel, sums[c * features + f], form.kernel);
      for (std::size_t i = 0; i < form.taps; ++i)
        for (std::size_t j = 0; j < form.taps; ++j) result.data[((i * form.taps + j) * channels + c) * features + f] = taps[i][j];
    }
  return result;
}

}  // namespace

std::optional<WinogradMagnitude> winograd_magnitude(const ir::Op& op, std::span<const ir::Array> magnitudes, const ir::Array& least,
                                                    const std::vector<std::int64_t>& extents) {
  return std::visit(
      [&]<class O>(const O& o) -> std::optional<WinogradMagnitude> {
        if constexpr (ir::IsConvolution<O>) {
          const ir::Array &a = magnitudes[0], &b = magnitudes[1];
          const ir::Convolution c = ir::convolution_of(o, a.shape(), b.shape());
          const ir::Winograd* winograd = ir::winograd_of(c, std::is_same_v<O, ir::Conv2DTranspose>);
          if (!winograd) return {};
          const Form form(*winograd);
          const auto &h = c.sliding.h, &w = c.sliding.w;
          if constexpr (std::is_same_v<O, ir::Conv2D>) return convolved(form, a, least, b, h.before, w.before, false, extents);
          else if constexpr (std::is_same_v<O, ir::Conv2DTranspose>)
            return convolved(form, a, least, b, ir::adjoint_pad(h), ir::adjoint_pad(w), true, extents);
          else {
            ir::Array terms = correlated(form, a, b, h.before, w.before, extents);
            std::vector<char> none(terms.data.size());
            return WinogradMagnitude{std::move(terms), std::move(none)};
          }
        } else {
          return {};
        }
      },
      op);
}

}  // namespace sinter
