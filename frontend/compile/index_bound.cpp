#include "frontend/compile/index_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/compile/bound_parts.h"

namespace sinter {

namespace {

std::size_t last_extent(const Bounded& x) { return static_cast<std::size_t>(x.value.extents.back()); }
std::size_t count_of(const Bounded& x) { return x.value.data.size(); }

/// The distance of a candidate element from the result; NaN where the result is NaN.
double distance(const Bounded& from, std::size_t at, double result) {
  const double d = std::abs(from.value.data[at] - result);
  return from.value.data[at] == result ? from.error[at] : std::isnan(d) ? std::numeric_limits<double>::infinity() : d + from.error[at];
}

/// Element i of the result is one of `choices` elements of `from`, `step` apart from first(i); the index at chooser(i) selects it.
template <class Chooser, class First>
void carry_picked(Bounded& result, const Bounded& from, const Bounded& index, std::size_t choices, std::size_t step, const Chooser& chooser,
                  const First& first) {
  for (std::size_t i = 0; i < count_of(result); ++i) {
    const std::size_t q = chooser(i);
    if (index.error[q] == 0) {
      result.error[i] += from.error[first(i) + static_cast<std::size_t>(index.value.data[q]) * step];
      continue;
    }
    double most = 0;
    for (std::size_t c = 0; c < choices; ++c) most = std::max(most, distance(from, first(i) + c * step, result.value.data[i]));
    result.error[i] += most;
  }
}

/// Update i may go to any of `choices` elements of the result, `step` apart from first(i), where the index at chooser(i) is not certain.
template <class Chooser, class First>
void carry_scattered(Bounded& result, const Bounded& updates, const Bounded& index, std::size_t choices, std::size_t step, const Chooser& chooser,
                     const First& first) {
  for (std::size_t i = 0; i < count_of(updates); ++i)
    if (index.error[chooser(i)] != 0)
      for (std::size_t c = 0; c < choices; ++c) result.error[first(i) + c * step] += std::abs(updates.value.data[i]) + updates.error[i];
}

void carry(Bounded& result, const ir::GatherRows&, std::span<const Bounded* const> in) {
  const auto rows = static_cast<std::size_t>(in[0]->value.extents[0]), width = count_of(*in[0]) / std::max<std::size_t>(1, rows);
  carry_picked(result, *in[0], *in[1], rows, width, [&](std::size_t i) { return i / width; }, [&](std::size_t i) { return i % width; });
}

void carry(Bounded& result, const ir::TakeAlong&, std::span<const Bounded* const> in) {
  const std::size_t cols = last_extent(*in[0]), count = last_extent(*in[1]);
  carry_picked(result, *in[0], *in[1], cols, 1, [](std::size_t i) { return i; }, [&](std::size_t i) { return i / count * cols; });
}

void carry(Bounded& result, const ir::ScatterAddRows& op, std::span<const Bounded* const> in) {
  const std::size_t width = count_of(*in[1]) / std::max<std::size_t>(1, count_of(*in[0]));
  carry_scattered(
      result, *in[1], *in[0], static_cast<std::size_t>(op.rows), width, [&](std::size_t i) { return i / width; },
      [&](std::size_t i) { return i % width; });
}

void carry(Bounded& result, const ir::ScatterAddAlong& op, std::span<const Bounded* const> in) {
  const std::size_t cols = static_cast<std::size_t>(op.cols), count = last_extent(*in[0]);
  carry_scattered(result, *in[1], *in[0], cols, 1, [](std::size_t i) { return i; }, [&](std::size_t i) { return i / count * cols; });
}

void carry(Bounded& result, const ir::OneHot& op, std::span<const Bounded* const> in) {
  const auto depth = static_cast<std::size_t>(op.depth);
  for (std::size_t i = 0; i < count_of(result); ++i)
    if (in[0]->error[i / depth] != 0) result.error[i] = 1;
}

/// 0 where the position is in the padding.
void carry(Bounded& result, const ir::PoolTake& op, std::span<const Bounded* const> in) {
  const Bounded &x = *in[0], &places = *in[1];
  const ir::Sliding s = ir::pool_windows(x.value.shape(), op.kernel, op.strides, op.pads);
  const std::int64_t channels = x.value.extents[3];
  for (std::size_t y = 0; y < count_of(result); ++y)
    if (places.error[y] != 0) result.error[y] = std::abs(result.value.data[y]);
  for (std::int64_t n = 0; n < x.value.extents[0]; ++n)
    s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw, std::int64_t ih, std::int64_t iw) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto y = static_cast<std::size_t>((((n * s.h.out + oh) * s.w.out) + ow) * channels + c),
                   at = static_cast<std::size_t>((((n * s.h.in + ih) * s.w.in) + iw) * channels + c);
        if (places.error[y] != 0) result.error[y] = std::max(result.error[y], distance(x, at, result.value.data[y]));
        else if (places.value.data[y] == static_cast<double>(kh * s.w.size + kw)) result.error[y] = x.error[at];
      }
    });
}

}  // namespace

void carry_index(Bounded& result, const ir::Op& op, std::span<const Bounded* const> in) {
  std::visit(
      [&]<class O>(const O& o) {
        if constexpr (requires { carry(result, o, in); }) carry(result, o, in);
      },
      op);
}

void carry_argmax(Bounded& result, const Bounded& in) {
  const auto cols = static_cast<std::size_t>(in.value.extents.back());
  for (std::size_t row = 0; row < result.error.size(); ++row) {
    const auto best = static_cast<std::size_t>(result.value.data[row]);
    for (std::size_t i = 0; i < cols; ++i) {
      const std::size_t at = row * cols + i, top = row * cols + best;
      if (i != best && may_be_equal(in.value.data[top] - in.value.data[at], in.error[at] + in.error[top]))
        result.error[row] = static_cast<double>(cols);
    }
  }
}

void carry_top_k(Bounded& result, const Bounded& in) {
  const auto cols = static_cast<std::size_t>(in.value.extents.back()), k = static_cast<std::size_t>(result.value.extents.back());
  for (std::size_t i = 0; i < result.error.size(); ++i) {
    const std::size_t row = i / k * cols, top = row + static_cast<std::size_t>(result.value.data[i]);
    for (std::size_t at = row; at < row + cols; ++at)
      if (at != top && may_be_equal(std::abs(in.value.data[at] - in.value.data[top]), in.error[at] + in.error[top]))
        result.error[i] = static_cast<double>(cols);
  }
}

void carry_pool_place(Bounded& result, const ir::MaxPoolPlace& op, const Bounded& in) {
  const ir::Sliding s = ir::pool_windows(in.value.shape(), op.kernel, op.strides, op.pads);
  const std::int64_t channels = in.value.extents[3];
  std::vector<std::size_t> best(result.error.size());
  const auto each = [&](const auto& body) {
    for (std::int64_t n = 0; n < in.value.extents[0]; ++n)
      s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw, std::int64_t ih, std::int64_t iw) {
        for (std::int64_t c = 0; c < channels; ++c)
          body(static_cast<std::size_t>((((n * s.h.out + oh) * s.w.out) + ow) * channels + c),
               static_cast<std::size_t>((((n * s.h.in + ih) * s.w.in) + iw) * channels + c), kh * s.w.size + kw);
      });
  };
  each([&](std::size_t y, std::size_t x, std::int64_t place) {
    if (static_cast<double>(place) == result.value.data[y]) best[y] = x;
  });
  each([&](std::size_t y, std::size_t x, std::int64_t) {
    if (x != best[y] && may_be_equal(in.value.data[best[y]] - in.value.data[x], in.error[x] + in.error[best[y]])) result.error[y] = 256;
  });
}

void carry_pool_put(Bounded& result, const ir::PoolPut& op, std::span<const Bounded* const> in) {
  const Bounded &places = *in[0], &values = *in[1];
  const ir::Sliding s = ir::pool_windows(result.value.shape(), op.kernel, op.strides, op.pads);
  const std::int64_t channels = result.value.extents[3];
  for (std::int64_t n = 0; n < result.value.extents[0]; ++n)
    s.for_each([&](std::int64_t oh, std::int64_t ow, std::int64_t, std::int64_t, std::int64_t ih, std::int64_t iw) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto y = static_cast<std::size_t>((((n * s.h.out + oh) * s.w.out) + ow) * channels + c),
                   x = static_cast<std::size_t>((((n * s.h.in + ih) * s.w.in) + iw) * channels + c);
        if (places.error[y] > 0) result.error[x] += std::abs(values.value.data[y]) + values.error[y];
      }
    });
}

}  // namespace sinter
