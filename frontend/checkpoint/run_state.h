// How far a call of Trainer::fit has come: with the values of all parameters, enough to resume it.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/checkpoint/saved_state.h"
#include "frontend/train/trainer.h"

namespace sinter {

struct RunState {
  std::int64_t first_epoch = 0;      ///< Trainer::epoch() when fit was called
  std::int64_t epoch = 0;            ///< epochs that have ended, over all calls of fit
  std::int64_t step = 0;             ///< steps since the call
  bool stopped = false;              ///< by a callback: no epoch follows
  std::vector<EpochResult> history;  ///< of the epochs since the call

  /// The epoch that has begun, all 0 between epochs.
  struct Epoch {
    std::int64_t step = 0;   ///< steps since it began
    std::int64_t piece = 0;  ///< number of the piece that is trained on
    std::int64_t steps_before_piece = 0;
    std::int64_t row = 0;                   ///< samples of the piece that have been trained on
    std::int64_t draws = 0;                 ///< random numbers drawn before the piece was shuffled
    std::vector<double> piece_digest = {};  ///< digest_of the piece, if a generator made it
    double seconds = 0;
    SavedState tally = {};  ///< sums and metrics
  } now;

  SavedState save() const;
  /// What save() returned. Throws UserError for anything that it does not return.
  static RunState restore(const SavedState& saved);
};

}  // namespace sinter
