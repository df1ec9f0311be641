// Checks of images and series, and of numbers for their axes, that functions and layers share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/core/tensor.h"

namespace sinter {

/// One number per axis, given one per axis or one for all. Throws UserError.
std::vector<std::int64_t> by_axis(const char* what, const std::vector<std::int64_t>& numbers, std::size_t axes);
/// The same of numbers that must be at least 1. Throws UserError `[where] the scale must be …`.
std::vector<std::int64_t> at_least_one_by_axis(const std::string& where, const char* what, const std::vector<std::int64_t>& numbers,
                                               std::size_t axes);
/// Throws UserError for another rank and for dimensions other than the first that are not fixed.
void require_image(const Tensor& x, std::size_t rank, const char* form);

/// [N, L, C] as [N, 1, L, C], and back.
Tensor as_image(const Tensor& x);
Tensor as_series(const Tensor& y);

}  // namespace sinter
