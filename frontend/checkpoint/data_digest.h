// A short number that tells one data set from another.
#pragma once

#include <vector>

#include "frontend/train/dataset.h"

namespace sinter {

/// XXH128 of types, number of samples, scale and the bytes of samples that are spread over the whole data: of each tensor 4096 of them, or as many as
/// have 32 MB. Four whole numbers below 2^32.
std::vector<double> digest_of(const Dataset& data);

}  // namespace sinter
