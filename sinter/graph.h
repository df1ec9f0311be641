// Graphs node by node, for programs that read what step.graph() and step.traced_graph() return. sinter/sinter.h is enough to print them.
#pragma once

#include "ir/graph.h"
#include "ir/ops.h"
#include "ir/print.h"
