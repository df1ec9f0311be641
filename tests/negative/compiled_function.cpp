// A function that compile() does not take.
#include <sinter/sinter.h>

#include <array>
#include <tuple>

using sinter::Tensor;

namespace {

[[maybe_unused]] float number(const Tensor&) { return 1; }
[[maybe_unused]] std::tuple<Tensor, int> tensor_and_number(const Tensor& x) { return {x, 1}; }
[[maybe_unused]] std::array<Tensor, 2> list(const Tensor& x) { return {x, x}; }
[[maybe_unused]] Tensor of_number(float) { return {}; }
[[maybe_unused]] const auto of_anything = [](const auto& x) { return x; };
[[maybe_unused]] Tensor sound(const Tensor& x) noexcept { return x; }

}  // namespace

Tensor use(const Tensor& x) {
  auto step = sinter::compile(FUNCTION);
  step(x);
  return x;
}
