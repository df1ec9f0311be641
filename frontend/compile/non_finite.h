// Finds the first NaN or infinite number of a step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/core/trace.h"

namespace sinter {

/// Watches the states of a step: call before() before each call of the step and failed() after it.
class NonFiniteFinder {
 public:
  /// The step as recorded, with StepCore::record say, which must outlive this.
  explicit NonFiniteFinder(const Traced& traced) : traced_(traced) {}

  /// Keeps the present states.
  void before();
  /// Whether an output or a state has a NaN or infinite number now.
  bool failed(std::span<const Tensor> outputs) const;
  /// Restores the states and runs the step line by line on the same inputs. Throws UserError that names layer, line, op and index of the first such
  /// number on the way to a bad result; `when` ends the message: ", in step 3; the parameters are as before".
  [[noreturn]] void report(std::span<const Tensor* const> in, const std::string& when);

 private:
  const Traced& traced_;
  std::vector<CellValue> kept_;  ///< of each state
};

}  // namespace sinter
