// Softmax over the last axis. Both forms subtract the greatest element first, to avoid overflow.
#pragma once

#include "ir/op.h"

namespace sinter::ir {

/// exp(x) / sum(exp(x)).
struct Softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<Softmax>> samples();
};

/// x - log(sum(exp(x))).
struct LogSoftmax {
  static constexpr std::string_view name = "log_softmax";
  static constexpr auto fields = std::tuple{};
  Type infer(std::span<const Type> in) const;
  Access access(std::span<const Type> in, const Shape& result) const;
  void reference(Reference& r) const;
  Values vjp(const Vjp& v) const;
  static std::vector<Sample<LogSoftmax>> samples();
};

}  // namespace sinter::ir
