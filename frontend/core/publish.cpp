#include "frontend/core/publish.h"

#include "frontend/core/published_cells.h"

namespace sinter {

void publish(std::span<const Parameter> parameters) { PublishedCells::publish(parameters); }

}  // namespace sinter
