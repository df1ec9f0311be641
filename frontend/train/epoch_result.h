// The values of an epoch, by set and name, and the line that fit prints of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "frontend/train/trainer.h"

namespace sinter {

/// "val_test_": what the names of a validation set's values begin with.
std::string prefix_of(const std::string& validation_set);
/// That of the training set, evaluated after an epoch.
inline const std::string training_set_prefix = "train_";

/// What fit prints after an epoch.
std::string epoch_line(const EpochResult& result, std::int64_t epochs);

/// The names of all epochs' values, each once, in the order in which they first come.
std::vector<std::string> names_in(std::span<const EpochResult> history);

/// The values that are of one kind, by set: those of "loss" are val_loss and train_loss too.
struct ValueOfSets {
  std::string name;                                       ///< without a prefix
  std::vector<std::pair<std::string, std::string>> sets;  ///< each set and the value's name there
};
/// All values of the history but learning rate and seconds, in the order in which they first come.
std::vector<ValueOfSets> values_by_set(std::span<const EpochResult> history);

}  // namespace sinter
