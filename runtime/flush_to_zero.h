// Denormal numbers count as zero, as operands and as results, while this lives. Set on entry to compiled steps and in the interpreter.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace sinter::runtime {

class FlushToZero {
 public:
#if defined(__x86_64__)
  FlushToZero() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | flush_to_zero | denormals_are_zero); }
  ~FlushToZero() { _mm_setcsr(saved_); }
#else
  FlushToZero() {}
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  unsigned saved_;
#endif
};

}  // namespace sinter::runtime
