// A loop over time as an op: a body, which is a graph of its own, runs once for each step (ir/scan.h makes such nodes).
#pragma once

#include "ir/body.h"
#include "ir/op.h"

namespace sinter::ir {

/// What the steps of a sequence make of it, one after the other, each sample for itself.
///
/// Operands: `carries` values [N, ...] f32, what each is before the first step; `sequences` values [N, length, ...]; then any number of values that
/// are the same for all steps. In place of N there may be a fixed number of samples. The body's inputs are the carries as the step before left them,
/// this step's element of each sequence, [N, ...], and the other operands. Its outputs are the carries for the next step, then any number of values
/// [N, ...] that are stacked. The node itself is packed: ScanResult reads from it, and nothing else does.
struct Scan {
  static constexpr std::string_view name = "scan";
  using scan = void;
  Body body;
  std::int64_t carries = 0, sequences = 0;
  Dim length = 1;        ///< steps: k or k·T
  bool reverse = false;  ///< from the last step to the first
  static constexpr auto fields = std::tuple{field("body", &Scan::body), field("carries", &Scan::carries), field("sequences", &Scan::sequences),
                                            field("length", &Scan::length), field("reverse", &Scan::reverse)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  using no_gradient = void;  // of its own: ir/differentiate asks ir/scan_gradient

  std::size_t carry_count() const { return static_cast<std::size_t>(carries); }
  std::size_t sequence_count() const { return static_cast<std::size_t>(sequences); }
  /// Of `steps` steps, the place in the sequences of the one that runs as number `turn`.
  std::int64_t place(std::int64_t turn, std::int64_t steps) const { return reverse ? steps - 1 - turn : turn; }
  /// Of results: carries, then stacked outputs.
  std::size_t result_count() const;
  /// The last value of a carry, [N, ...], or a stacked output, [N, length, ...].
  Type result(std::size_t index) const;
};

/// The type of a Scan's node: the values in it are of any number and size, and no op but ScanResult may read it.
inline const Type packed_type{DType::u8, {}};

/// One result of a Scan.
struct ScanResult {
  static constexpr std::string_view name = "scan_result";
  using scan = void;
  std::int64_t index = 0;
  DType dtype = DType::f32;  ///< with `shape`: the result's type
  Shape shape;
  static constexpr auto fields =
      std::tuple{field("index", &ScanResult::index), field("dtype", &ScanResult::dtype), field("shape", &ScanResult::shape)};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  using no_gradient = void;
};

template <class O>
concept IsScan = requires { typename O::scan; };

/// [N, length, ...] of [N, ...].
Shape stacked_shape(const Shape& element, Dim length);

}  // namespace sinter::ir
