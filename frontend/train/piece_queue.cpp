#include "frontend/train/piece_queue.h"

#include <chrono>
#include <cmath>

#include "frontend/compile/settings.h"
#include "frontend/core/ops.h"
#include "frontend/train/row_numbers.h"
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
    piece_ = from.piece * options_.shuffle_buffer, steps_ = from.steps;
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
  std::vector<Piece> pieces;
  std::int64_t samples = 0;
  const auto steps = [&] { return steps_ + divide_up(samples, options_.batch_size); };
  while (!has_ended_ && std::ssize(pieces) < options_.shuffle_buffer && (!options_.steps_per_epoch || steps() < options_.steps_per_epoch)) {
    std::optional<Dataset> data = watch_.time(0, [&] { return generator_(epoch_, piece_); });
    has_ended_ = !data;
    if (has_ended_) break;
    pieces.push_back(prepare(std::move(*data), options_, str("fit, epoch ", epoch_, ", piece ", piece_++).c_str()));
    samples += pieces.back().data.size();
  }
  if (pieces.empty()) {
    ++epoch_;
    piece_ = steps_ = 0;
    has_ended_ = false;
    return std::optional<Piece>();
  }
  steps_ = steps();
  return joined(std::move(pieces), str("fit, epoch ", epoch_, ", pieces up to ", piece_ - 1).c_str());
}

Piece joined(std::vector<Piece> pieces, const char* where) {
  if (pieces.size() == 1) return std::move(pieces[0]);
  const Dataset& first = pieces[0].data;
  bool any_weights = false;
  std::int64_t samples = 0;
  for (const Piece& piece : pieces) {
    if (piece.data.x.size() != first.x.size() || piece.data.y.size() != first.y.size() || piece.data.scale != first.scale)
      throw UserError(where, "pieces that are shuffled together have different numbers of x or y, or another scale");
    any_weights |= piece.weights.defined();
    samples += piece.data.size();
  }
  require_row_numbers(where, samples);
  const auto all = [&](Columns Dataset::* member) {
    std::vector<Column> result;
    for (std::size_t i = 0; i < (first.*member).size(); ++i) {
      const Type type = (first.*member)[i].type();
      std::vector<Column> parts;
      for (const Piece& piece : pieces) {
        parts.push_back((piece.data.*member)[i]);
        if (const Type its = parts.back().type(); Type{its.dtype, its.shape.with(0, 1)} != Type{type.dtype, type.shape.with(0, 1)})
          throw UserError(where, str("pieces that are shuffled together have samples of different types, ", type, " and ", its, " (samples first)"));
      }
      result.push_back(joined(parts));
    }
    return Columns(std::move(result));
  };
  Piece whole{{all(&Dataset::x), all(&Dataset::y), first.scale}, {}};
  if (!any_weights) return whole;
  std::vector<Tensor> weights;
  for (const Piece& piece : pieces) weights.push_back(piece.weights.defined() ? piece.weights : Tensor::filled({DType::f32, {piece.data.size()}}, 1));
  whole.weights = concat(weights, 0);
  return whole;
}

}  // namespace sinter
