// Training logs for TensorBoard.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "frontend/train/callback.h"
#include "runtime/file/event_file.h"

namespace sinter::callback {

struct TensorBoardOptions {
  std::int64_t histograms_every = 0;  ///< epochs per histogram of each parameter; 0: none
};

/// Writes event files in Keras's layout: each value of EpochResult as the scalar `epoch_<name>` at its epoch, those of validation into the subfolder
/// `validation`, those of the validation set test into `validation_test`, those of the training set after the epoch into `training_set`, and all
/// others into `train`; histograms of the model's f32 parameters, named as these are, into `train`. Files are created with the first value and kept
/// for later calls of fit. Throws UserError if they cannot be written.
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string folder, TensorBoardOptions options = {});
  void on_epoch_end(Trainer& trainer, const EpochResult& result) override;

 private:
  std::string folder_;
  TensorBoardOptions options_;
  std::map<std::string, runtime::EventFile> files_;  ///< by subfolder
};

}  // namespace sinter::callback
