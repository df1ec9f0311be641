#include "frontend/machine/peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <barrier>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "frontend/core/clock.h"

namespace sinter::machine {

namespace {

constexpr int chains = 12;  // more than latency times units of any CPU

// `rounds` multiply-adds in each of 12 independent chains of vectors, spelled out so that all stay in registers. Each returns a value that depends on
// all of them. Macros, because a function that is inlined into one for another target keeps its own target's vectors.
#define SINTER_CHAINS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float run_512(long rounds) {
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
#define BEGIN(n) __m512 s##n = _mm512_set1_ps(n);
#define STEP(n) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(s##n) : "v"(a), "v"(b));
#define END(n) total = _mm512_add_ps(total, s##n);
  SINTER_CHAINS(BEGIN)
  for (long i = 0; i < rounds; ++i) {
    SINTER_CHAINS(STEP)
  }
  __m512 total = a;
  SINTER_CHAINS(END)
  return _mm512_cvtss_f32(total);
#undef BEGIN
#undef END
}

[[gnu::target("avx2,fma")]] float run_256(long rounds) {
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
#define BEGIN(n) __m256 s##n = _mm256_set1_ps(n);
#define END(n) total = _mm256_add_ps(total, s##n);
  SINTER_CHAINS(BEGIN)
  for (long i = 0; i < rounds; ++i) {
    SINTER_CHAINS(STEP)
  }
  __m256 total = a;
  SINTER_CHAINS(END)
  return _mm256_cvtss_f32(total);
#undef BEGIN
#undef STEP
#undef END
}
#endif

struct Probe {
  float (*run)(long);
  int width;
};
/// Seconds of the slowest of `threads` threads that begin f(thread) together.
template <class F>
double seconds_of(int threads, const F& f) {
  std::barrier ready(threads);
  std::vector<double> spent(static_cast<std::size_t>(threads));
  std::vector<std::jthread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      ready.arrive_and_wait();
      const auto start = Clock::now();
      f(t);
      spent[static_cast<std::size_t>(t)] = since(start);
    });
  team.clear();
  return *std::max_element(spent.begin(), spent.end());
}

/// The least seconds of up to 7 runs.
template <class F>
double least_seconds(int threads, double most_seconds, const F& f) {
  const auto begin = Clock::now();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 7 && (i == 0 || since(begin) < most_seconds); ++i) best = std::min(best, seconds_of(threads, f));
  return best;
}

Probe probe() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {run_512, 16};
  if (__builtin_cpu_supports("fma")) return {run_256, 8};
#endif
  return {nullptr, 0};
}

}  // namespace

double peak_gflops(int threads, double most_seconds) {
  const Probe p = probe();
  if (!p.run) return 0;
  long rounds = 1 << 16;
  const auto run = [&](int) {
    volatile float keep = p.run(rounds);
    (void)keep;
  };
  rounds = static_cast<long>(static_cast<double>(rounds) * 0.02 / std::max(seconds_of(threads, run), 1e-6)) + 1;
  return 2e-9 * chains * p.width * static_cast<double>(rounds) * threads / least_seconds(threads, most_seconds, run);
}

double memory_gigabytes_per_second(int threads, double most_seconds) {
  constexpr std::size_t count = std::size_t{8} << 20;
  std::vector<float> a(count, 1.0f), b(count, 2.0f), c(count, 3.0f);
  const volatile float half = 0.5f;
  const float scale = half;  // not known to the compiler
  const auto run = [&](int thread) {
    const auto part = [&](int t) { return count * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads); };
    float* const to = a.data();
    const float *const x = b.data(), *const y = c.data();
    for (std::size_t i = part(thread), end = part(thread + 1); i < end; ++i) to[i] = x[i] + scale * y[i];
  };
  return 3e-9 * sizeof(float) * static_cast<double>(count) / least_seconds(threads, most_seconds, run);
}

}  // namespace sinter::machine
