// What the processor can do at most, measured: the ceiling that GFLOP/s are held against.
#pragma once

namespace sinter::bench {

/// Single-precision multiply-adds that `threads` threads reach from registers alone, in GFLOP/s (two operations each): the best of several runs of
/// 20 ms. Uses the widest vectors of this CPU; 0 where it has no fused multiply-add.
double peak_gflops(int threads);

}  // namespace sinter::bench
