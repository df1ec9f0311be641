// What the processor can do at most, measured: the ceilings that GFLOP/s and GB/s are held against.
#pragma once

namespace sinter::machine {

/// Single-precision multiply-adds that `threads` threads reach from registers alone, in GFLOP/s (two operations each): the best of several runs of
/// 20 ms, the last of which begins before `most_seconds` are over. Uses the widest vectors of this CPU; 0 where it has no fused multiply-add.
double peak_gflops(int threads, double most_seconds = 5);

/// Billions of bytes per second that `threads` threads move between memory and processor: the best of several runs of a[i] = b[i] + s c[i] on arrays
/// of 32 MiB that are larger than most caches together (the triad of STREAM, McCalpin 1995), three numbers counted for each i.
double memory_gigabytes_per_second(int threads, double most_seconds = 5);

}  // namespace sinter::machine
