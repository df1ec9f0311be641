# Every test has a limit of time: one that hangs, or that takes for ever, has failed. Sanitizers slow a program down, so theirs is longer.
set(sinter_slowness 1)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(sinter_slowness 5)
endif()
math(EXPR sinter_test_limit "600 * ${sinter_slowness}")  # seconds
# What a test named …InGoodTime promises; on a busy machine it takes ten times as long as on an idle one.
math(EXPR sinter_good_time "60 * ${sinter_slowness}")

# sinter_program_test(NAME command...): a test that passes if the command ends with status 0. Never judge by the output alone (PASS_REGULAR_EXPRESSION
# ignores the status): tests/support/expect_program.h judges both.
function(sinter_program_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "")  # leaves an argument that is a list one argument
  add_test(NAME ${name} COMMAND ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${sinter_test_limit})
endfunction()
