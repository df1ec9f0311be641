// Errors: their place, and what becomes of one that is thrown again with another.
#include "ir/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::error_test {
namespace {

template <class E>
std::string rethrown(const E& thrown) {
  try {
    try {
      throw thrown;
    } catch (...) {
      rethrow_at("dense_2, mlp.cpp:15", "matmul: ");
    }
  } catch (const E& error) {  // of the same class
    return error.what();
  }
  return "";
}

TEST(Error, IsThrownAgainWithAnotherPlaceAndTheSameClass) {
  EXPECT_EQ(rethrown(UserError("matmul", "the dimensions differ; make them equal")),
            "[dense_2, mlp.cpp:15] matmul: the dimensions differ; make them equal");
  EXPECT_EQ(rethrown(MemoryError("matmul", "no memory")), "[dense_2, mlp.cpp:15] matmul: no memory");
  EXPECT_EQ(rethrown(std::runtime_error("of others")), "of others");
}

TEST(Error, HasAMessageWithoutItsPlace) {
  EXPECT_EQ(UserError("read_csv", "no rows").message(), "no rows");
  EXPECT_EQ(UserError("no rows").message(), "no rows");
  EXPECT_THAT(InternalError("plan", "no kernel").what(), testing::StartsWith("[plan] internal error: no kernel; this is a bug in Sinter"));
}

TEST(TextStream, WritesNumbersAsStrDoes) {
  TextStream out;
  out << 1234567 << " " << 0.5;
  EXPECT_EQ(out.str(), str(1234567, " ", 0.5));
  EXPECT_EQ(out.str(), "1234567 0.5");
}

}  // namespace
}  // namespace sinter::error_test
