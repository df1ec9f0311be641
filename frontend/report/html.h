// The report of a training run, as one page.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/train/callback.h"
#include "frontend/train/trainer.h"

namespace sinter::report {

struct Options {
  std::string title = "Training report";
  const Dataset* sample = nullptr;  ///< the training step is timed on its first samples; null: no times. Must outlive the writing of the page
  std::int64_t batch_size = 32;     ///< of that step
  int repeats = 20;                 ///< runs that are timed; the shortest counts
};

/// Writes one self-contained page that is valid as HTML and as XHTML, without scripts: the figures of the last and the best epoch (by validation
/// loss, else by loss), learning curves, all epochs, the model, eager and compiled times by node, and the compiled graph, drawn and as text. What
/// is not available (in eager mode, without a sample, for a loaded trainer) is replaced by a note. Throws UserError for an empty history, for a
/// sample that does not fit, and if the file cannot be written.
void write_html(const std::string& path, Trainer& trainer, std::span<const EpochResult> history, const Options& options = {});

/// The table of times: a group of rows per kernel, with bars.
std::string time_table(const TimeReport& times);

}  // namespace sinter::report

namespace sinter::callback {

/// Writes the page when fit ends, for all epochs so far, including those of earlier calls of fit.
class Report : public Callback {
 public:
  explicit Report(std::string path, report::Options options = {});
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;
  void on_train_end(Trainer& trainer) override;

 private:
  std::string path_;
  report::Options options_;
  std::vector<EpochResult> history_;
};

}  // namespace sinter::callback
