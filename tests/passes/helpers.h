// Running a pass and comparing graphs by text and by number.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/reference.h"
#include "ir/verify.h"
#include "passes/group.h"
#include "passes/passes.h"
#include "tests/ir/mlp_graph.h"

namespace sinter::test {

/// Constants are folded by the reference here; programs use the interpreter.
inline passes::PipelineOptions reference_options(Sizes sizes = 0) {
  passes::PipelineOptions options;
  options.evaluate = [](const ir::Op& op, const Type& type, std::span<const ir::Constant> operands) {
    std::vector<ir::Array> values;
    for (const ir::Constant& c : operands) {
      values.emplace_back(c.dtype, std::vector<std::int64_t>{});
      values.back().data[0] = c.value;
    }
    std::vector<const ir::Array*> in;
    for (const ir::Array& a : values) in.push_back(&a);
    return ir::evaluate(op, type, in, 1).data[0];
  };
  options.sizes = sizes;
  options.verify = true;
  return options;
}

inline std::string text(const ir::Graph& graph) { return ir::to_text(graph, {.origins = false, .kernels = true}); }

/// Outputs and updates, in order.
inline std::vector<ir::Array> results(const ir::Graph& graph, const Values& values, std::int64_t n) {
  const auto all = ir::evaluate(graph, values.inputs, values.states, n);
  std::vector<ir::Array> results;
  for (const ir::NodeId id : graph.outputs()) results.push_back(all[id]);
  for (const ir::NodeId id : graph.updates())
    if (id != ir::no_node) results.push_back(all[id]);
  return results;
}

inline void expect_equal(const std::vector<ir::Array>& a, const std::vector<ir::Array>& b, double tolerance = 1e-12) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].extents, b[i].extents);
    for (std::size_t k = 0; k < a[i].data.size(); ++k) {
      const double x = a[i].data[k], y = b[i].data[k];
      const bool same = (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= tolerance * (1 + std::max(std::abs(x), std::abs(y)));
      ASSERT_TRUE(same) << "result " << i << ", element " << k << ": " << x << " against " << y;
    }
  }
}

struct PassResult {
  bool changed = false;
  std::vector<std::string> notes;
};

/// Runs one pass and the sweep; the graph keeps the rules and its numbers.
inline PassResult run(bool (*pass)(ir::Graph&, passes::PassContext&), ir::Graph& graph, Sizes sizes = 0) {
  ir::verify(graph);
  const Values values = random_values(graph, 3, 11);
  const auto before = results(graph, values, 3);
  const auto options = reference_options(sizes);
  passes::PassContext context{options, {}};
  const bool changed = pass(graph, context);
  passes::dead_code(graph, context);
  ir::verify(graph);
  expect_equal(results(graph, values, 3), before);
  return {changed, context.notes};
}

}  // namespace sinter::test
