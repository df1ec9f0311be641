// An op that lacks one rule; the same check that ir/ops.cpp makes of every op of the list.
#include "ir/op_check.h"

namespace sinter::ir {

#ifdef POINTWISE_LACKS_EVAL
struct Broken : Elementwise<1> {
  static constexpr std::string_view name = "broken";
  using no_gradient = void;
  static auto samples() { return elementwise_samples<Broken>({{}}); }
};
#else
struct Broken {
  static constexpr std::string_view name = "broken";
  static constexpr auto fields = std::tuple{};
#ifndef LACKS_INFER
  Type infer(std::span<const Type> in) const { return in[0]; }
#endif
#ifndef LACKS_ACCESS
  Access access(std::span<const Type>, const Shape& result) const { return Access::over(result); }
#endif
#ifndef LACKS_REFERENCE
  void reference(Reference& r) const { r.out.data = r.in[0]->data; }
#endif
#ifndef LACKS_VJP
  Values vjp(const Vjp& v) const { return {v.dy}; }
#endif
#ifndef LACKS_SAMPLES
  static std::vector<Sample<Broken>> samples() { return {}; }
#endif
};
#endif

static_assert(check_op<Broken>());

}  // namespace sinter::ir
