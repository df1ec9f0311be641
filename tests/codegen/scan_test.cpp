// Loops over time in compiled steps: what the code generator alone sees. Values: tests/frontend/scan_test.cpp.
#include "ir/scan.h"
#include "codegen/compile.h"
#include "passes/pipeline.h"
#include "tests/ir/expect_error.h"

namespace sinter::codegen {
namespace {

using ir::Value;

/// A step of a file may have what tracing would compute before the loop.
TEST(ScanKernel, RefusesValuesOfTheWholeLoopInAStep) {
  const Dim n = Dim::batch();
  ir::Graph step("step");
  const Value h = step.add_input({"h", {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden});
  (void)step.add_input({"x", {DType::f32, {n, 3}}, ir::InputSpec::Kind::hidden});
  const Value numbers = cast(step.add(ir::Iota{{Dim::length()}}, {}), DType::f32), shares = step.add(ir::Cumsum{}, {numbers});
  step.add_output(h * sum(shares, 0, 1) + step.add(ir::Max{0, 1}, {shares}));
  ir::Graph graph("g");
  const Value carry = graph.add_input({"h", {DType::f32, {n, 3}}}), x = graph.add_input({"x", {DType::f32, {n, Dim::length(), 3}}});
  graph.add_output(ir::scan_result(graph.add(ir::Scan{ir::Body(step), 1, 1, Dim::length(), false}, {carry, x}), 0));
  passes::optimize(graph);
  EXPECT_USER_ERROR(compile(graph, {}), "scan: a step computes f32[T], which is the same for all samples; compute it before the scan");
}

}  // namespace
}  // namespace sinter::codegen
