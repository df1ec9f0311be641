// What a callable takes and returns.
#pragma once

#include <type_traits>

namespace sinter::detail {

template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) const> {
  using type = R(std::decay_t<A>...);
};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...)> {
  using type = R(std::decay_t<A>...);
};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) const noexcept> : SignatureOf<R (C::*)(A...) const> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) noexcept> : SignatureOf<R (C::*)(A...)> {};
template <class R, class... A>
struct SignatureOf<R (*)(A...)> {
  using type = R(std::decay_t<A>...);
};
template <class R, class... A>
struct SignatureOf<R (*)(A...) noexcept> : SignatureOf<R (*)(A...)> {};

/// Whether it has one signature: a function, or a callable without template parameters and overloads.
template <class F>
concept HasSignature = std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); };

}  // namespace sinter::detail
