#include "frontend/train/piece_queue.h"

#include <chrono>
#include <cmath>

#include "frontend/compile/settings.h"
#include "runtime/chrome_trace.h"

namespace sinter {

namespace {

/// The data's weights times those of the classes; undefined if there are none.
Tensor weights_of(const Dataset& data, std::span<const double> class_weights) {
  if (class_weights.empty()) return data.weights;
  if (data.y.size() != 1) throw UserError("fit", str("class_weights need one target, there are ", data.y.size(), "; weight samples instead"));
  const Tensor& y = data.y.only();
  if (!data::are_class_numbers(y.type())) throw UserError("fit", str("class_weights need targets that are class numbers [samples], got ", y.type()));
  for (const double w : class_weights)
    if (!(w >= 0) || !std::isfinite(w)) throw UserError("fit", str("class_weights must be finite numbers of at least 0, got ", w));
  std::vector<float> weights =
      data.weights.defined() ? data.weights.to_vector<float>() : std::vector<float>(static_cast<std::size_t>(data.size()), 1.0f);
  const std::vector<std::int32_t> classes = cast(y, DType::i32).to_vector<std::int32_t>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (classes[i] < 0 || static_cast<std::size_t>(classes[i]) >= class_weights.size())
      throw UserError("fit", str("class_weights has ", class_weights.size(), " weights, but there is a class ", classes[i], "; give one per class"));
    weights[i] *= static_cast<float>(class_weights[static_cast<std::size_t>(classes[i])]);
  }
  return {weights, {data.size()}};
}

}  // namespace

Piece prepare(Dataset data, const FitOptions& options, const char* where) {
  data.check(where);
  data.check_finite(where);
  Tensor weights = weights_of(data, options.class_weights);
  return {std::move(data), std::move(weights)};
}

Stopwatch::Stopwatch(const std::string& step, const std::vector<std::string>& names) {
  if (settings().profile.empty()) return;
  std::vector<KernelSpec> specs;
  for (const std::string& name : names) specs.push_back({name, 1, {}});
  observer_ = runtime::ChromeTrace::at(settings().profile).observer(step, specs);
}

std::uint64_t Stopwatch::now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void PieceQueue::start(const Trainer::Impl::From& from) {
  if (!queue_) {
    epoch_ = from.epoch, last_epoch_ = from.last_epoch;
    piece_ = from.piece, steps_ = from.steps;
    queue_.emplace([this] { return make(); }, options_.prefetch);
  }
  while (!at_end_) at_end_ = !queue_->next().value_or(std::nullopt);
  at_end_ = false;
}

std::optional<Piece> PieceQueue::next() {
  std::optional<Piece> piece = watch_.time(1, [&] { return queue_->next().value_or(std::nullopt); });
  at_end_ = !piece;
  return piece;
}

/// An empty piece marks the end of an epoch; after the last epoch there is nothing.
std::optional<std::optional<Piece>> PieceQueue::make() {
  if (epoch_ > last_epoch_) return std::nullopt;
  std::optional<Dataset> data;
  if (!options_.steps_per_epoch || steps_ < options_.steps_per_epoch) data = watch_.time(0, [&] { return generator_(epoch_, piece_); });
  if (!data) {
    ++epoch_;
    piece_ = steps_ = 0;
    return std::optional<Piece>();
  }
  Piece piece = prepare(std::move(*data), options_, str("fit, epoch ", epoch_, ", piece ", piece_++).c_str());
  steps_ += (piece.data.size() + options_.batch_size - 1) / options_.batch_size;
  return piece;
}

}  // namespace sinter
