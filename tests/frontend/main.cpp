// The tests of the front end: every graph that they compile goes through a file first.
#include <gtest/gtest.h>

#include "frontend/compile/variant.h"
#include "runtime/file/graph.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  sinter::set_graph_filter(
      [](const sinter::ir::Graph& graph) { return sinter::runtime::parse_graph(sinter::runtime::serialize_graph(graph), graph.name()).graph; });
  return RUN_ALL_TESTS();
}
