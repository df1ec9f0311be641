// What the passes on loops over time share.
#pragma once

#include <vector>

#include "ir/scan.h"

namespace sinter::passes {

/// The scans of a graph, each after those that it reads.
std::vector<ir::NodeId> scans_of(const ir::Graph& graph);
const ir::Scan& scan_of(const ir::Graph& graph, ir::NodeId id);
/// Another scan in place of one, whose result number `results[i]` stands for the old one's number i; those that nothing reads stand for none. Returns
/// it.
ir::Value replace_scan(ir::Graph& graph, ir::NodeId old, const ir::Scan& op, const std::vector<ir::NodeId>& operands,
                       const std::vector<std::size_t>& results);

}  // namespace sinter::passes
