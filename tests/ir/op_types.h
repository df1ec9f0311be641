// The ops as types, for tests of all of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <variant>

#include "ir/ops.h"

namespace sinter::test {

template <class Kept, class... Ops>
struct TypesOf;
template <class... Kept>
struct TypesOf<::testing::Types<Kept...>> {
  using Types = ::testing::Types<Kept...>;
};
template <class... Kept, class O, class... Ops>
struct TypesOf<::testing::Types<Kept...>, O, Ops...>
    : std::conditional_t<ir::IsScan<O>, TypesOf<::testing::Types<Kept...>, Ops...>, TypesOf<::testing::Types<Kept..., O>, Ops...>> {};
template <class... Ops>
typename TypesOf<::testing::Types<>, Ops...>::Types types_of(std::variant<Ops...>*);

/// All but loops, which have tests of their own.
using OpTypes = decltype(types_of(static_cast<ir::Op*>(nullptr)));

struct OpName {
  template <class O>
  static std::string GetName(int) {
    return std::string(O::name);
  }
};

}  // namespace sinter::test
