#include "bench/pin.h"

#include <sched.h>

namespace sinter::bench {

void pin(int threads) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
  for (int cpu = 0, left = threads; cpu < CPU_SETSIZE && left; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) {
      CPU_SET(cpu, &chosen);
      --left;
    }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

}  // namespace sinter::bench
