// Numbers that depend on a stream and a place alone, the same in bench/peers/sweep_peer.py, and figures by which two programs compare tensors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include <sinter/sinter.h>

namespace sinter::bench {

/// Of integers by Wellons' hash "lowbias32" (2018).
std::uint32_t hashed(std::uint32_t stream, std::uint32_t place);
/// offset + scale · u for numbers u in [-1, 1), row-major.
Tensor numbers(const Shape& shape, std::uint32_t stream, float scale = 1, float offset = 0);
/// i32 in [0, bound).
Tensor whole_numbers(const Shape& shape, std::uint32_t stream, std::uint32_t bound);

/// What tells a tensor from another: its product with random numbers, its Euclidean norm, how many elements it has.
nlohmann::ordered_json figures_of(const Tensor& tensor);

}  // namespace sinter::bench
