// Data that does not fit into memory as a whole: made piece by piece during training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "frontend/train/dataset.h"

namespace sinter {

/// Piece `piece` (from 0) of epoch `epoch` (from 1), of any number of samples; empty after the last piece of an epoch. Called in order, on a
/// background thread unless FitOptions::prefetch is 0.
using Generator = std::function<std::optional<Dataset>(std::int64_t epoch, std::int64_t piece)>;

}  // namespace sinter
