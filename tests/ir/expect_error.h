// Errors are part of the interface: tests compare their text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

/// The statement throws this error, and its text begins with `start`.
#define EXPECT_ERROR(statement, error, start) EXPECT_THAT([&] { (void)(statement); }, ::testing::ThrowsMessage<error>(::testing::StartsWith(start)))
#define EXPECT_USER_ERROR(statement, start) EXPECT_ERROR(statement, ::sinter::UserError, start)
