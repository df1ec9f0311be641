#include "frontend/core/any_length.h"

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

namespace sinter {

namespace {

/// How many elements of padding lie before a sequence whose windows of so many elements are as many as its steps.
std::int64_t padding_before(const char* what, const Padding& padding, std::int64_t window) {
  const auto [before, after] = padding.along(0, 1, window, window, 1);
  if (before < 0 || after < 0) throw UserError("padding", str("must not be negative, got ", before, " and ", after));
  if (before + after != window - 1)
    throw UserError(what, str("over sequences of any length, T, padding must keep the length, as same and causal do; with ", padding,
                              " there would be T - ", window - 1 - before - after, " steps, which is no length"));
  return before;
}

void require_strides_of_one(const char* what, const std::vector<std::int64_t>& strides, std::int64_t otherwise) {
  for (const std::int64_t stride : strides.empty() ? std::vector{otherwise} : strides)
    if (stride != 1)
      throw UserError(what, str("over sequences of any length, T, strides must be 1, because T / ", stride, " is no length, got ", stride,
                                "; pad the sequences to one length with Sequences::padded, or take a global pool"));
}

/// Element k of the window of each step, for each k: x[t - before + k · dilation], `outside` where there is none.
std::vector<Tensor> windows(const Tensor& x, std::int64_t size, std::int64_t dilation, std::int64_t before, float outside) {
  std::vector<Tensor> elements;
  for (std::int64_t k = 0; k < size; ++k) elements.push_back(shift(x, before - k * dilation, 1, outside));
  return elements;
}

/// The products of what windows see, side by side, and kernel [K, C, F].
Tensor product(const std::vector<Tensor>& elements, const Tensor& kernel) {
  const Tensor all = elements.size() == 1 ? elements[0] : concat(elements, 2);
  const Tensor rows = reshape(all, {all.dim(0) * all.dim(1), all.dim(2)});
  const Tensor y = matmul(rows, reshape(kernel, {kernel.dim(0) * kernel.dim(1), kernel.dim(2)}));
  return reshape(y, {all.dim(0), all.dim(1), kernel.dim(2)});
}

std::int64_t only(const char* what, const std::vector<std::int64_t>& numbers) {
  if (numbers.size() != 1 || numbers[0] < 1)
    throw UserError(what, str("must be one number of at least 1, got ", numbers.size() == 1 ? str(numbers[0]) : str(numbers.size(), " numbers")));
  return numbers[0];
}

}  // namespace

bool has_any_length(const Tensor& x) { return x.rank() == 3 && x.dim(1).is_length(); }

Tensor conv_over_steps(const Tensor& x, const Tensor& kernel, const ConvOptions& options) {
  constexpr const char* here = "conv1d";
  require_strides_of_one(here, options.strides, 1);
  const std::int64_t size = kernel.dim(0).factor(), dilation = only("dilations", options.dilations), groups = options.groups;
  const std::int64_t before = padding_before(here, options.padding, (size - 1) * dilation + 1);
  const std::int64_t channels = kernel.dim(1).factor(), features = kernel.dim(2).factor();
  if (groups < 1 || features % groups || x.dim(2) != Dim(channels * groups))
    throw UserError(here, str("the kernel ", kernel.type(), " does not fit ", x.type(), " in ", groups, " groups"));
  if (groups == 1) return product(windows(x, size, dilation, before, 0), kernel);
  std::vector<Tensor> parts;
  for (std::int64_t g = 0; g < groups; ++g) {
    const Tensor own = slice(x, 2, g * channels, (g + 1) * channels),
                 of_group = slice(kernel, 2, g * (features / groups), (g + 1) * (features / groups));
    parts.push_back(product(windows(own, size, dilation, before, 0), of_group));
  }
  return concat(parts, 2);
}

Tensor pool_over_steps(const ir::Op& pool, const Tensor& x, std::int64_t window, const PoolOptions& options) {
  const bool is_max = std::holds_alternative<ir::MaxPool>(pool);
  const char* here = is_max ? "max_pool1d" : "average_pool1d";
  if (window < 1) throw UserError(here, str("the window must be at least 1, got ", window));
  require_strides_of_one(here, options.strides, window);
  if (!is_max) {
    const Tensor step = iota({1, x.dim(1), 1}), one = cast(equal(step, step), DType::f32);
    return window_sums(here, x, window, options.padding) / window_sums(here, one, window, options.padding);
  }
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  const std::vector<Tensor> elements = windows(x, window, 1, padding_before(here, options.padding, window), nothing);
  Tensor greatest = elements[0];
  for (std::size_t k = 1; k < elements.size(); ++k) greatest = maximum(greatest, elements[k]);
  return greatest;
}

Tensor window_sums(const char* what, const Tensor& x, std::int64_t window, const Padding& padding) {
  const std::vector<Tensor> elements = windows(x, window, 1, padding_before(what, padding, window), 0);
  Tensor sum = elements[0];
  for (std::size_t k = 1; k < elements.size(); ++k) sum = sum + elements[k];
  return sum;
}

}  // namespace sinter
