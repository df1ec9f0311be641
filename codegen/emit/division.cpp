#include "codegen/emit/division.h"

#include <utility>

namespace sinter::codegen {

Division divide_kernels(const Schedule& schedule, std::vector<std::size_t> code_of, std::size_t parts, bool stages_apart) {
  // The approximate cost of compiling a kernel, in nodes: a product adds tiles, and stages a node a kernel.
  const auto weight = [&](std::size_t k) {
    const Kernel& kernel = schedule.kernels[k];
    return kernel.nodes.size() + (kernel.memory_for(Memory::collected) != no_value || kernel.memory_for(Memory::staging) != no_value ? 16 : 4);
  };
  Division division{std::move(code_of), std::vector<std::size_t>(schedule.kernels.size()), parts, stages_apart ? parts : 0};
  std::vector<std::size_t> order, loads(parts);
  for (std::size_t k = 0; k < schedule.kernels.size(); ++k)
    if (division.code_of[k] == k) order.push_back(k);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  if (!stages_apart) loads[0] = schedule.kernels.size();
  for (const std::size_t k : order) {
    division.part_of[k] = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    loads[division.part_of[k]] += weight(k);
  }
  return division;
}

}  // namespace sinter::codegen
