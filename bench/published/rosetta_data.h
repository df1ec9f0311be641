// The data of the rosetta series.
#pragma once

#include "bench/published/published.h"

namespace sinter::published {

struct Sets {
  Dataset train, test;
  bool is_real = false;  ///< accuracies may be compared with the published ones
};

constexpr std::int64_t review_words = 150, vocabulary = 30000;

/// CIFAR-10 in its binary form, from `data`/cifar10 or `data`/cifar-10-batches-bin, u8 [n, 32, 32, 3]; without it generated images. A remark says
/// which.
Sets cifar(const RunSettings& settings, Report& report);
/// Word numbers i32 [n, 150] of IMDB's reviews, from {train,test}-{x,y}.npy in `data`/imdb; padding, 0, is moved to the end of each review. Without
/// them generated numbers. A remark says which. Throws UserError for numbers beyond the vocabulary and for arrays of other shapes.
Sets reviews(const RunSettings& settings, Report& report);

}  // namespace sinter::published
