#include "ir/ops.h"

#include <functional>

#include "ir/op_check.h"

namespace sinter::ir {

namespace {

template <class... Ops>
constexpr bool check_all(const std::variant<Ops...>*) {
  return (check_op<Ops>() && ...);
}
static_assert(check_all(static_cast<const Op*>(nullptr)));

}  // namespace

std::string_view name(const Op& op) {
  return std::visit([]<class O>(const O&) { return O::name; }, op);
}

Attributes attributes(const Op& op) {
  return std::visit([](const auto& o) { return attributes_of(o); }, op);
}

bool is_leaf(const Op& op) {
  return std::visit([]<class O>(const O&) { return IsLeaf<O>; }, op);
}

bool is_elementwise(const Op& op) {
  return std::visit([]<class O>(const O&) { return IsElementwise<O>; }, op);
}

bool is_differentiable(const Op& op) {
  return std::visit([]<class O>(const O&) { return !HasNoGradient<O>; }, op);
}

bool operator_equal(const Op& a, const Op& b) {
  return a.index() == b.index() && std::visit([&]<class O>(const O& x) { return same_attributes(x, std::get<O>(b)); }, a);
}

Type infer(const Op& op, std::span<const Type> in) {
  return std::visit(
      [&]<class O>(const O& o) -> Type {
        if constexpr (IsLeaf<O>) throw InternalError(O::name, "a leaf has no shape rule");
        else return o.infer(in);
      },
      op);
}

Access access(const Op& op, std::span<const Type> in, const Shape& result) {
  return std::visit(
      [&]<class O>(const O& o) -> Access {
        if constexpr (IsLeaf<O>) throw InternalError(O::name, "a leaf does not walk");
        else return o.access(in, result);
      },
      op);
}

Op at_sizes(const Op& op, Sizes sizes) {
  const auto fix = [sizes]<class T>(T& member) {
    if constexpr (std::is_same_v<T, Shape>) member = member.at(sizes);
    if constexpr (std::is_same_v<T, Dim>) member = member.extent(sizes);
  };
  return std::visit(
      [&]<class O>(O o) -> Op {
        std::apply([&](const auto&... f) { (fix(o.*(f.member)), ...); }, O::fields);
        return o;
      },
      op);
}

Op make_op(std::string_view wanted, const Attributes& attributes) {
  std::optional<Op> result;
  const auto make = [&]<class O>(O) {
    if (O::name == wanted) result = with_attributes<O>(attributes);
  };
  for_each_op(make);
  make(Scan{});
  make(ScanResult{});
  if (!result) throw UserError("op", str("unknown op '", wanted, "'; it needs a newer version of Sinter or the name is wrong"));
  return *result;
}

}  // namespace sinter::ir
