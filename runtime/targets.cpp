// Selects the best compiled target that this CPU can run.
#include <atomic>

#include "ir/error.h"
#include "runtime/isa/kernels.h"

namespace sinter::runtime::isa {

namespace v1 {
Kernels table();
}
#if defined(__x86_64__)
namespace v3 {
Kernels table();
}
namespace v4 {
Kernels table();
}
#endif

namespace {

struct Targets {
  std::array<Kernels, 3> tables;
  std::size_t count = 0;
  std::atomic<std::size_t> active{0};

  Targets() {
    tables[count++] = v1::table();
#if defined(__x86_64__)
    // GCC's check of the level includes whether the operating system saves the registers.
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v3")) tables[count++] = v3::table();
    if (__builtin_cpu_supports("x86-64-v4")) tables[count++] = v4::table();
#endif
    active = count - 1;
  }
};

Targets& targets() {
  static Targets instance;
  return instance;
}

}  // namespace

const Kernels& kernels() {
  const Targets& t = targets();
  return t.tables[t.active.load(std::memory_order_relaxed)];
}

std::size_t target_count() { return targets().count; }

void use_target(std::size_t index) {
  if (index >= targets().count) throw InternalError("interpreter", "this CPU cannot run that target");
  targets().active = index;
}

}  // namespace sinter::runtime::isa
