// Loops over time: a function of one step, called for each step of sequences.
#pragma once

#include <functional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "frontend/core/signature.h"
#include "frontend/core/tensor.h"

namespace sinter {

struct ScanOptions {
  bool reverse = false;  ///< from the last step to the first; outputs stay at the places of their steps
};

/// What a step returns: each carry for the step after it, of the same type; and values [N, ...] that are stacked.
struct ScanStep {
  ScanStep(std::vector<Tensor> carries, std::vector<Tensor> outputs) : carries(std::move(carries)), outputs(std::move(outputs)) {}
  /// One carry, no output.
  ScanStep(Tensor carry) : carries{std::move(carry)} {}  // NOLINT: what a step returns
  /// One carry, one output.
  ScanStep(std::pair<Tensor, Tensor> both) : carries{std::move(both.first)}, outputs{std::move(both.second)} {}  // NOLINT: what a step returns
  std::vector<Tensor> carries, outputs;
};

/// The carries after the last step, [N, ...], and the outputs of all steps, [N, length, ...].
struct Scanned {
  std::vector<Tensor> carries, outputs;
};

/// Takes the carries as the step before left them, then this step's element of each sequence, [N, ...] of [N, length, ...].
using ScanFunction = std::function<ScanStep(std::span<const Tensor> carries, std::span<const Tensor> elements)>;

/// Calls `step` for each step of the sequences, all [N, length, ...] with the same N and length, beginning with these carries, f32[N, ...]. A step
/// may read parameters and any other tensors; their gradients pass through. Each sample is computed for itself: a step that averages over the batch
/// is refused when it is compiled. It may not assign a parameter.
///
/// Eagerly, the function runs for each step, as a C++ loop would run it. In a compiled function it is recorded once, for every length, and is a loop
/// in the machine code; what depends on no carry, such as the product of the inputs and a weight, is computed for all steps together.
///
///   auto [last, outputs] = scan([&](const Tensor& h, const Tensor& x) {
///     const Tensor next = tanh(matmul(x, w) + matmul(h, u) + b);
///     return std::pair(next, next);
///   }, {h}, {xs});
///
/// Throws UserError for sequences of unequal length or none, for carries that are not f32, and for steps that return others than they got.
Scanned scan(const ScanFunction& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, const ScanOptions& options = {},
             std::source_location where = std::source_location::current());

namespace detail {

template <class Signature>
struct TakesTensors : std::false_type {};
template <class R, class... A>
struct TakesTensors<R(A...)> : std::bool_constant<(std::is_same_v<A, Tensor> && ...) && std::is_convertible_v<R, ScanStep>> {
  static constexpr std::size_t count = sizeof...(A);
};
/// Whether this thread is inside the step of a scan.
bool is_in_step();
void require_operands(std::size_t takes, std::size_t carries, std::size_t sequences, const std::source_location& where);

}  // namespace detail

/// The same for a function that takes the carries and elements as parameters, `const Tensor&` each, and returns a ScanStep, one carry, or the pair of
/// one carry and one output.
template <class F>
  requires(detail::HasSignature<F> && detail::TakesTensors<typename detail::SignatureOf<F>::type>::value)
Scanned scan(const F& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, const ScanOptions& options = {},
             std::source_location where = std::source_location::current()) {
  constexpr std::size_t count = detail::TakesTensors<typename detail::SignatureOf<F>::type>::count;
  detail::require_operands(count, carries.size(), sequences.size(), where);
  const ScanFunction function = [&](std::span<const Tensor> held, std::span<const Tensor> elements) {
    const auto operand = [&](std::size_t i) -> const Tensor& { return i < held.size() ? held[i] : elements[i - held.size()]; };
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return ScanStep(step(operand(I)...)); }(std::make_index_sequence<count>());
  };
  return scan(function, carries, sequences, options, where);
}

}  // namespace sinter
