// Where a benchmark runs.
#pragma once

namespace sinter::bench {

/// Pins the process to the first `threads` processors it may use, as the peers do; a team made later inherits that.
void pin(int threads);

}  // namespace sinter::bench
