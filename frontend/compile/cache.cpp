#include "frontend/compile/cache.h"

namespace sinter {

CacheStatistics cache_statistics() { return runtime::ObjectCache::statistics(); }

}  // namespace sinter
