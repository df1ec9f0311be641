// Module::summary: a run in a temporary trace, during which each call of a module is recorded.
#pragma once

#include <memory>
#include <vector>

#include "frontend/nn/call_listener.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// A line of a summary.
struct SummaryLine {
  std::string layer, kind;
  Shape shape;  ///< of the output
  std::int64_t parameters;
  std::vector<std::string> details = {};  ///< lines below it
};
/// The table of these lines, with the number of elements of all parameters.
std::string summary_table(std::span<const SummaryLine> lines, std::span<const Parameter> parameters);
/// Elements of the parameters.
std::int64_t count_elements(std::span<const Parameter> parameters);
/// What SummaryOptions::details shows of something of this kind, "dense" or "adam": its settings, and those that other frameworks would give it.
std::vector<std::string> details_of(const std::string& kind, const std::vector<Setting>& settings);

/// Records the calls of modules on this thread while it lives.
class Summary : public CallListener {
 public:
  explicit Summary(SummaryOptions options) : options_(options) {}
  /// The table, with the number of all parameters of `model`.
  std::string table(const Module& model) const;

 private:
  struct Call {
    std::shared_ptr<const ModuleState> module;
    Type type;
    std::vector<Setting> settings;
  };
  void called(const Module& module, std::span<const Tensor> results) override;

  SummaryOptions options_;
  std::vector<Call> calls_;
};

}  // namespace sinter::nn
