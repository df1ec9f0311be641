// Where the first NaN or infinite number of a step comes from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/core/trace.h"

namespace sinter {

/// Watches the states of a step: call before() ahead of each call of it and failed() behind it.
class NonFiniteFinder {
 public:
  /// The step as recorded: StepCore::record.
  explicit NonFiniteFinder(Traced traced) : traced_(std::move(traced)) {}

  /// Keeps the states as they are.
  void before();
  /// Whether an output or a state has a NaN or infinite number now.
  bool failed(std::span<const Tensor> outputs) const;
  /// Puts the states back and runs the step line by line on the same inputs. Throws UserError that names layer, line, op and place of the first such
  /// number on the way to a bad result; `when` tells the step.
  [[noreturn]] void report(std::span<const Tensor* const> in, const std::string& when);

 private:
  Traced traced_;
  std::vector<CellValue> kept_;  ///< of each state
};

}  // namespace sinter
