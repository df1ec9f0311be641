// The queue of pieces of a training run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/train/prefetcher.h"
#include "frontend/train/trainer_impl.h"
#include "runtime/executor.h"

namespace sinter {

/// The piece checked, with the samples' weights in the loss. Touches no state of the trainer, so that another thread may run it ahead.
Piece prepare(Dataset data, const FitOptions& options, const char* where);

/// Reports times of host work, which no kernel does, to the profile of SINTER_PROFILE.
class Stopwatch {
 public:
  Stopwatch(const std::string& step, const std::vector<std::string>& names);
  /// What f returns; its time is reported under name number `what`.
  template <class F>
  auto time(std::uint32_t what, const F& f) const {
    const std::uint64_t start = now();
    auto result = f();
    if (observer_) observer_({0, what, 0, 1, 1, start, now()});
    return result;
  }

 private:
  static std::uint64_t now();
  runtime::SpanObserver observer_;
};

/// The pieces as one; samples of a piece without weights count 1 if others have some. Throws UserError for pieces of different types.
Piece joined(std::vector<Piece> pieces, const char* where);

/// The pieces of a generator for all epochs, FitOptions::shuffle_buffer of them joined, one queue: the first pieces of an epoch are made while the
/// last ones of the epoch before are trained on.
class PieceQueue {
 public:
  PieceQueue(const Generator& generator, const FitOptions& options)
      : generator_(generator), options_(options), watch_("data", {"make a piece", "wait for a piece"}) {}

  /// From now on next() gives the pieces of an epoch. The first call may begin in the middle of one, each later call is for the next epoch, from its
  /// first piece.
  void start(const Trainer::Impl::From& from);
  std::optional<Piece> next();

 private:
  std::optional<std::optional<Piece>> make();

  const Generator& generator_;
  const FitOptions& options_;
  Stopwatch watch_;
  std::int64_t epoch_ = 0, last_epoch_ = 0, piece_ = 0, steps_ = 0;  ///< of the next call of the generator; steps before
  bool has_ended_ = false;                                           ///< the generator has no further piece in this epoch
  bool at_end_ = true;                                               ///< of an epoch: its end has been taken from the queue
  std::optional<Prefetcher<std::optional<Piece>>> queue_;            ///< last: its thread uses what is above
};

}  // namespace sinter
