#include "frontend/nn/pool.h"

#include <limits>

#include "frontend/core/any_length.h"
#include "frontend/core/spatial.h"
#include "frontend/nn/mask.h"

namespace sinter::nn {

namespace {

void require_channels_last(const std::string& name, const Tensor& x) {
  if (x.rank() != 3 && x.rank() != 4)
    throw UserError(name, str("input must be [batch, height, width, channels] or [batch, length, channels], got ", x.type()));
}

/// The axes between batch and channels.
Axes middle(const Tensor& x) { return x.rank() == 4 ? Axes{1, 2} : Axes{1}; }

std::vector<Setting> settings_of(const std::vector<std::int64_t>& window, const PoolOptions& options) {
  std::vector<Setting> list{{"window", window}, {"padding", str(options.padding)}};
  if (options.strides.empty()) list.insert(list.begin() + 1, {"strides", "the window"});
  else list.insert(list.begin() + 1, {"strides", options.strides});
  return list;
}

}  // namespace

std::vector<Setting> Pool2D::settings() const { return settings_of(window_, options_); }
std::vector<Setting> Pool1D::settings() const { return settings_of({window_}, options_); }

namespace {
/// The mean is that of the elements that there are.
std::vector<Setting> of_average(std::vector<Setting> list, const PoolOptions& options) {
  if (str(options.padding) != "valid") list.emplace_back("counts padding", false);
  return list;
}
}  // namespace

std::vector<Setting> AveragePool2D::settings() const { return of_average(Pool2D::settings(), options_); }
std::vector<Setting> AveragePool1D::settings() const { return of_average(Pool1D::settings(), options_); }

Tensor Pool1D::kept_mask(const Tensor& x) const {
  if (!x.mask() || x.rank() != 3 || options_.strides != std::vector<std::int64_t>{1}) return {};
  const auto [before, after] = options_.padding.along(0, 1, window_, window_, 1);
  return before + after == window_ - 1 ? *x.mask() : Tensor();
}

Tensor MaxPool1D::forward(const Tensor& x) {
  const Tensor mask = kept_mask(x);
  if (!mask.defined()) return max_pool1d(x, window_, options_);
  const Tensor y = max_pool1d(where_exists(mask, x, -std::numeric_limits<double>::infinity()), window_, options_);
  return with_mask(where_exists(mask, y), mask);
}

Tensor AveragePool1D::forward(const Tensor& x) {
  const Tensor mask = kept_mask(x);
  if (!mask.defined()) return average_pool1d(x, window_, options_);
  const auto total = [&](const Tensor& of) { return window_sums("average_pool1d", of, window_, options_.padding); };
  const Tensor exists = cast(reshape(mask, {x.dim(0), x.dim(1), 1}), DType::f32);
  return with_mask(where_exists(mask, total(where_exists(mask, x)) / maximum(total(exists), 1)), mask);
}

AdaptivePool2D::AdaptivePool2D(std::string kind, std::vector<std::int64_t> out) : Module(std::move(kind)), out_(std::move(out)) {
  (void)at_least_one_by_axis(this->kind(), "the result's extents", out_, 2);
}

AdaptivePool1D::AdaptivePool1D(std::string kind, std::int64_t out) : Module(std::move(kind)), out_(out) {
  (void)at_least_one_by_axis(this->kind(), "the result's length", {out}, 1);
}

Tensor GlobalMaxPool::forward(const Tensor& x) {
  require_channels_last(label(), x);
  if (!x.mask() || x.rank() != 3) return max(x, middle(x));
  const Tensor any = max(cast(*x.mask(), DType::f32), {1}, true) > 0;  // [N, 1]
  return where(any, max(where_exists(*x.mask(), x, -std::numeric_limits<double>::infinity()), {1}), 0);
}

Tensor GlobalAveragePool::forward(const Tensor& x) {
  require_channels_last(label(), x);
  if (!x.mask() || x.rank() != 3) return mean(x, middle(x));
  const Tensor exists = reshape(*x.mask(), {x.dim(0), x.dim(1), 1});
  return sum(where_exists(*x.mask(), x), {1}) / maximum(sum(cast(exists, DType::f32), {1}), 1);
}

ZeroPadding::ZeroPadding(std::vector<std::int64_t> padding) : Module("zero_padding"), padding_(std::move(padding)) {
  if (padding_.empty()) throw UserError("ZeroPadding", "needs a number of elements for each axis, or one for all");
  for (const std::int64_t p : padding_)
    if (p < 0) throw UserError("ZeroPadding", str("the padding must be at least 0, got ", p));
}

Tensor ZeroPadding::forward(const Tensor& x) {
  require_channels_last(label(), x);
  const std::size_t axes = x.rank() - 2;
  if (padding_.size() != 1 && padding_.size() != axes)
    throw UserError(label(), str("has padding for ", padding_.size(), " axes, but the input is ", x.type()));
  Tensor y = x;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t p = padding_[padding_.size() == 1 ? 0 : i];
    if (p > 0) y = pad(y, static_cast<std::int64_t>(i) + 1, p, p);
  }
  return y;
}

Upsample::Upsample(std::vector<std::int64_t> scale, Interpolation interpolation)
    : Module("upsample"), scale_(std::move(scale)), interpolation_(interpolation) {
  if (scale_.empty()) throw UserError("Upsample", "needs a scale for each axis, or one for all");
  (void)at_least_one_by_axis("Upsample", "the scale", scale_, scale_.size());
}

Tensor Upsample::forward(const Tensor& x) {
  require_channels_last(label(), x);
  if (scale_.size() > 1 && scale_.size() != x.rank() - 2)
    throw UserError(label(), str("has scales for ", scale_.size(), " axes, but the input is ", x.type()));
  return x.rank() == 3 ? upsample1d(x, scale_[0], interpolation_) : upsample2d(x, scale_, interpolation_);
}

std::vector<Setting> Upsample::settings() const {
  return {{"scale", scale_}, {"interpolation", interpolation_ == Interpolation::nearest ? "nearest" : "bilinear"}};
}

SpatialDropout::SpatialDropout(double rate) : Module("spatial_dropout"), rate_(rate), stream_(init::next_stream()) {
  require_rate("SpatialDropout", rate);
  draws = add_state("draws", Tensor::zeros({DType::u32, {}}));
}

Tensor SpatialDropout::forward(const Tensor& x) {
  require_channels_last(label(), x);
  if (rate_ > 0) note_not_training();
  if (!is_training() || rate_ == 0) return x;
  std::vector<Dim> dims(x.rank(), 1);
  dims.front() = x.dim(0);
  dims.back() = x.dim(-1);
  return drop(x, Shape(std::span<const Dim>(dims)), draws, stream_, rate_);
}

}  // namespace sinter::nn
