// How a program must end: its status and both of its outputs are judged, always.
#pragma once

#include <string>

#include <gmock/gmock.h>

#include "tests/support/program.h"

namespace sinter::test {

/// A program that did what it should: status 0, a standard output that matches, and nothing on standard error.
MATCHER_P(Prints, output, "ends with status 0 and prints what " + testing::DescribeMatcher<std::string>(output)) {
  return testing::ExplainMatchResult(testing::AllOf(testing::Field("status", &Finished::status, 0), testing::Field("err", &Finished::err, ""),
                                                    testing::Field("out", &Finished::out, output)),
                                     arg, result_listener);
}

/// A program that ended with this status and an error that matches.
MATCHER_P2(Fails, status, error,
           "ends with status " + std::to_string(status) + " and an error that " + testing::DescribeMatcher<std::string>(error)) {
  return testing::ExplainMatchResult(
      testing::AllOf(testing::Field("status", &Finished::status, status), testing::Field("err", &Finished::err, error)), arg, result_listener);
}

}  // namespace sinter::test
