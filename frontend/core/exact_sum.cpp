#include "frontend/core/exact_sum.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "frontend/core/number.h"
#include "frontend/core/operands.h"

namespace sinter {

namespace {

/// The greatest number of a narrow type; none of the others.
std::optional<std::int64_t> greatest_of(DType dtype) {
  if (dtype == DType::u8) return std::numeric_limits<std::uint8_t>::max();
  return dtype == DType::boolean ? std::optional<std::int64_t>(1) : std::nullopt;
}

/// Calls f with each total.
template <class T, class F>
void for_each_total(const IntegerSum& sum, const F& f) {
  const Shape& shape = sum.x.shape();
  const std::int64_t outer = shape.product(0, sum.first).factor(), reduced = shape.product(sum.first, sum.last).factor(),
                     inner = shape.product(sum.last, shape.rank()).factor();
  const Layout at = sum.x.view().layout();
  const T* row = sum.x.view().as<T>();
  std::vector<std::int64_t> totals(static_cast<std::size_t>(inner));
  std::int64_t col = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    std::fill(totals.begin(), totals.end(), 0);
    for (std::int64_t k = 0; k < reduced; ++k)
      for (std::int64_t& total : totals) {
        total += row[col];
        if (sum.running) f(total);
        if (++col == at.cols) col = 0, row += at.stride;
      }
    if (!sum.running) std::ranges::for_each(totals, f);
  }
}

}  // namespace

bool always_fits(const IntegerSum& sum) {
  const DType from = sum.x.dtype();
  if (is_float(from)) return true;
  const Dim count = sum.x.shape().product(sum.first, sum.last);
  const std::optional<std::int64_t> most = greatest_of(from);
  if (!count.is_fixed()) return from == DType::boolean;
  return most && count.factor() <= std::numeric_limits<std::int32_t>::max() / *most;
}

void require_exact(const IntegerSum& sum, const char* function, const std::source_location& where) {
  const DType from = sum.x.dtype(), to = from == DType::u32 ? DType::u32 : DType::i32;
  with_element_type(from, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      for_each_total<T>(sum, [&](std::int64_t total) {
        if (const std::string wrong = misfit(static_cast<double>(total), to); !wrong.empty())
          fail(where, str(function, ": the total does not fit: ", wrong, "; sum cast(x, DType::f32), which rounds, or take the mean"));
      });
  });
}

}  // namespace sinter
