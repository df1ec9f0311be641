// A profile as a file that chrome://tracing and https://ui.perfetto.dev show: one lane per thread, one span per kernel call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace sinter::runtime {

/// Collects the spans of any number of steps. Format: "Trace Event Format" of the Chromium project, complete events ("ph": "X"), whose `args` are the
/// flops and bytes of the span, GFLOP/s, the units it covered, and N.
class ChromeTrace {
 public:
  /// The most spans that are kept per thread; later ones are only counted.
  static constexpr std::size_t most_spans = std::size_t{1} << 18;

  /// The trace of this process, written to `path` when it ends unless write() did. Later paths are ignored. Throws UserError if the file
  /// cannot be written.
  static ChromeTrace& at(const std::string& path);
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  /// For an executor of a step of this name.
  SpanObserver observer(const std::string& step, const std::vector<KernelSpec>& kernels);
  /// Writes what was seen so far. Throws UserError if that fails. No step may be running.
  void write();

 private:
  explicit ChromeTrace(std::string path);
  ~ChromeTrace();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sinter::runtime
