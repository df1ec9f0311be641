// The report of a training run, as one page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/train/callback.h"
#include "frontend/train/curve.h"
#include "frontend/train/trainer.h"

namespace sinter::report {

/// What predictions are: of classes, probabilities or logits, or numbers. automatic: of classes if the targets are class numbers, one-hot or all 0 or
/// 1, and then logits if one of them is outside of [0, 1].
enum class Reading : std::uint8_t { automatic, probabilities, logits, numbers };

/// What the numbers of one output of a model are, for the sections that judge it.
struct Target {
  std::string name = {};                ///< of what is predicted: "price"
  std::string unit = {};                ///< of its numbers: "EUR"
  std::vector<std::string> names = {};  ///< of the classes, in the order of their numbers, or of the numbers of a sample
  double scale = 1, offset = 0;         ///< a number y of the data is offset + scale · y in that unit: Encoder::target_unit() and unscaled(0)
  Reading predictions = Reading::automatic;
  metric::goal::CostOptions costs = {};  ///< of binary mistakes, for the choice of a threshold
};

struct Options {
  std::string title = "Training report";
  const Dataset* sample = nullptr;  ///< the training step is timed on its samples; null: no times. Must outlive the writing of the page
  std::int64_t batch_size = 32;     ///< of that step
  int repeats = 20;                 ///< runs that are timed, of which the shortest counts, and steps that are profiled
  const Dataset* judged = nullptr;  ///< validation or test data whose predictions the page shows; null: none. Must outlive the writing of the page
  std::string judged_as = "validation";  ///< what that data is called on the page
  std::vector<Target> targets = {};      ///< of the model's outputs; those that are left out have no names
  /// {height, width} or {height, width, channels} of samples that are images, but flat; empty: [N, H, W], [N, H, W, 1] and [N, H, W, 3] are images.
  std::vector<std::int64_t> image = {};
};

/// Writes one self-contained page that is valid as HTML and as XHTML, without scripts: the figures of the last and the best epoch (by validation
/// loss, else by loss), learning curves, all epochs, what the model says of data that it is judged by, the model, where the time went
/// (Trainer::profile), eager and compiled times by node, and the compiled graph, drawn and as text. What is not available (in eager mode, without a
/// sample, for a loaded trainer) is replaced by a note. Throws UserError for an empty history, for data or an image shape that does not fit, and if
/// the file cannot be written.
///
/// Of `judged` the page shows: of classes the confusion matrix, precision, recall and F1 of each class, and how sure the predictions are; of two
/// classes also the ROC, precision-recall and calibration curves, and F1 and costs by threshold; of numbers the predictions against the truth and
/// their errors; of images samples and the worst mistakes. All samples count alike.
void write_html(const std::string& path, Trainer& trainer, std::span<const EpochResult> history, const Options& options = {});

/// Where the time went: a stacked bar of the time, one of the arithmetic, and a table of both.
std::string profile_bars(const ProfileReport& profile);
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
