// What fit can tell of data that will not train a model well.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/train/dataset.h"

namespace sinter {

/// Looks at the pieces of a generator, until it knows whether each has samples of one class alone.
class ClassesOfPieces {
 public:
  /// A warning if this piece settles that they do, else empty. It takes three pieces or more, at least two classes among them, and so many samples
  /// that classes in a random order would not look like that (with two equally frequent ones, one time in 2^20).
  std::string look(const Dataset& piece);

 private:
  bool is_settled_ = false, differ_ = false;
  std::int64_t pieces_ = 0, agreeing_ = 0, class_ = 0;  ///< agreeing: samples that are of the class of the piece's first one
};

}  // namespace sinter
