// Tables of mistakes and of what a user is told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/frontend/helpers.h"

namespace sinter::test {

/// A mistake of a user, and words of the error that it must give.
struct Mistake {
  std::string wanted;
  std::function<void()> make;
};

inline void expect_errors(const std::vector<Mistake>& mistakes) {
  for (const auto& [wanted, make] : mistakes) EXPECT_THAT(error_of(make), ::testing::HasSubstr(wanted));
}

}  // namespace sinter::test
