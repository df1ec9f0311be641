// Module::summary: a run in a temporary trace, during which each call of a module is recorded.
#pragma once

#include <memory>
#include <vector>

#include "frontend/nn/module.h"

namespace sinter::nn {

/// A line of a summary.
struct SummaryLine {
  std::string layer, kind;
  Shape shape;  ///< of the output
  std::int64_t parameters;
};
/// The table of these lines, with the number of elements of all parameters.
std::string summary_table(std::span<const SummaryLine> lines, std::span<const Parameter> parameters);
/// Elements of the parameters.
std::int64_t count_elements(std::span<const Parameter> parameters);

/// Records the calls of modules on this thread while it lives.
class Summary {
 public:
  Summary();
  ~Summary();
  Summary(const Summary&) = delete;
  Summary& operator=(const Summary&) = delete;

  /// Tells the summary that is being made on this thread, if any, that a module was called and what it returned.
  static void note_call(const Module& module, const Tensor& result);
  /// The table, with the number of all parameters of `model`.
  std::string table(const Module& model) const;

 private:
  struct Call {
    std::shared_ptr<const ModuleState> module;
    Type type;
  };
  std::vector<Call> calls_;
  Summary* outer_;
};

}  // namespace sinter::nn
