#pragma once

#include "frontend/nn/init.h"
#include "frontend/nn/module.h"

namespace sinter::nn {

/// Throws UserError unless a rate is in [0, 1).
void require_rate(const char* layer, double rate);
/// x / (1 - rate) where a random mask of this shape, a new one for each count, keeps it; else 0. The shape broadcasts with x.
Tensor drop(const Tensor& x, const Shape& mask, const Parameter& draws, std::uint64_t stream, double rate);

/// In training, each element becomes 0 with probability `rate` and is divided by 1 - rate otherwise (Srivastava et al. 2014); else nothing changes.
/// The mask depends on the seed, the order of construction and the number of the call: it is the same eagerly, compiled and on any number of threads.
class Dropout : public Module {
 public:
  /// Throws UserError unless rate is in [0, 1).
  explicit Dropout(double rate);
  Tensor forward(const Tensor& x) override;
  bool passes_mask() const override { return true; }
  std::vector<Setting> settings() const override { return {{"rate", rate_}}; }

  Parameter draws;  ///< u32: how many masks have been drawn; saved, so that resumed training continues with the next

 private:
  double rate_;
  std::uint64_t stream_;
};

}  // namespace sinter::nn
