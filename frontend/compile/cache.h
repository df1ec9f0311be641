// Statistics of the object cache.
#pragma once

#include "runtime/file/object_cache.h"

namespace sinter {

using runtime::CacheStatistics;

/// Of this process so far. All zero without the compiler, and while no step was compiled or SINTER_CACHE is off.
CacheStatistics cache_statistics();

}  // namespace sinter
