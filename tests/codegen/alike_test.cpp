// Kernels that share code: what is alike has the same code, to the letter, and deep networks have few kinds of kernels.
#include "codegen/alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/codegen/raw_step.h"
#include "tests/support/temporary_folder.h"

namespace sinter::test::alike_test {
namespace {

/// The body of each kernel, compiled without sharing, in LLVM's words and without the kernel's name.
std::vector<std::string> bodies(const ir::Graph& graph, std::size_t kernels) {
  const TemporaryFolder folder;
  (void)codegen::compile(graph, {.dump_folder = folder.path, .share_code = false});
  std::ifstream file(folder / "step.ll");
  std::stringstream text;
  text << file.rdbuf();
  const std::string module = text.str();
  std::vector<std::string> result;
  for (std::size_t k = 0; k < kernels; ++k) {
    const std::string name = str("@kernel_", k, "(");
    const std::size_t define = module.find("define hidden void " + name), begin = define + 19 + name.size(), end = module.find("\n}\n", begin);
    EXPECT_NE(define, std::string::npos);
    result.push_back(module.substr(begin, end - begin));
  }
  return result;
}

/// Compares the kernels that are alike; returns how many share the code of another.
std::size_t compare_alike(const ir::Graph& graph) {
  const codegen::Schedule schedule = codegen::make_schedule(graph, false);
  const std::vector<std::size_t> code_of = codegen::alike_kernels(graph, schedule, codegen::plan_memory(schedule, false));
  const std::vector<std::string> text = bodies(graph, code_of.size());
  std::size_t sharing = 0;
  for (std::size_t k = 0; k < code_of.size(); ++k) {
    EXPECT_EQ(text[k], text[code_of[k]]) << "kernels " << code_of[k] << " and " << k << " of\n" << codegen::to_text(graph, schedule);
    sharing += code_of[k] != k;
  }
  return sharing;
}

TEST(Alike, TwinsOfEveryOpHaveTheSameCode) {
  std::size_t sharing = 0;
  ir::for_each_op([&]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>) {
      const auto samples = O::samples();
      for (std::size_t i = 0; i < samples.size(); i += 3) {
        ir::Graph graph("twins");
        for (int twin = 0; twin < 2; ++twin) {
          std::vector<ir::NodeId> in;
          for (const ir::SampleInput& input : samples[i].inputs) {
            const auto kind = input.type.shape.has_batch() ? ir::InputSpec::Kind::batch : ir::InputSpec::Kind::fixed;
            in.push_back(graph.add_input({str("x", graph.inputs().size()), input.type, kind}).id);
          }
          graph.add_output(graph.add(samples[i].op, in, {}));
        }
        passes::optimize(graph);
        SCOPED_TRACE(O::name);
        sharing += compare_alike(graph);
      }
    }
  });
  EXPECT_GT(sharing, 100u);
}

TEST(Alike, TrainingStepsHaveTheSameCode) { EXPECT_GT(compare_alike(training_graph({20, 33, 33, 33, 33, 10})), 5u); }

TEST(Alike, DeeperNetworksHaveNoMoreKindsOfKernels) {
  const auto kinds = [](std::size_t layers) {
    const std::vector<std::int64_t> sizes(layers + 1, 33);
    const codegen::Compiled compiled = codegen::compile(training_graph(sizes));
    return std::set(compiled.report.code_of.begin(), compiled.report.code_of.end()).size();
  };
  EXPECT_EQ(kinds(8), kinds(16));
}

TEST(Alike, SharingChangesNoByte) {
  const ir::Graph graph = training_graph({33, 33, 33, 33, 33});
  for (const int threads : {1, 2}) {
    RawStep shared(graph, {}, 40), separate(graph, {.share_code = false}, 40);
    EXPECT_EQ(shared.run(threads), "");
    EXPECT_EQ(separate.run(threads), "");
    EXPECT_EQ(shared.values(), separate.values());
  }
}

TEST(Alike, OtherTypesShapesAttributesAndTiesAreNotAlike) {
  const auto count = [](const std::function<void(ir::Graph&)>& build) {
    ir::Graph graph("two");
    build(graph);
    passes::optimize(graph);
    const codegen::Compiled compiled = codegen::compile(graph);
    return std::set(compiled.report.code_of.begin(), compiled.report.code_of.end()).size();
  };
  const Dim n = Dim::batch();
  const auto input = [](ir::Graph& graph, const Shape& shape, DType dtype = DType::f32) {
    const auto kind = shape.has_batch() ? ir::InputSpec::Kind::batch : ir::InputSpec::Kind::fixed;
    return graph.add_input({str("x", graph.inputs().size()), {dtype, shape}, kind});
  };
  const auto two = [&](const std::function<ir::Value(ir::Graph&)>& first, const std::function<ir::Value(ir::Graph&)>& second) {
    return count([&](ir::Graph& graph) {
      graph.add_output(first(graph));
      graph.add_output(second(graph));
    });
  };
  const auto exp_of = [&](const Shape& shape) { return [=](ir::Graph& g) { return g.add(ir::Exp{}, {input(g, shape)}); }; };
  EXPECT_EQ(two(exp_of({n, 20}), exp_of({n, 20})), 1u);
  EXPECT_EQ(two(exp_of({n, 20}), exp_of({n, 24})), 2u);
  EXPECT_EQ(two(exp_of({n, 20}), exp_of({7, 20})), 2u);
  const auto clipped = [&](float high) { return [=](ir::Graph& g) { return g.add(ir::Clip{{}, 0, high}, {input(g, {n, 20})}); }; };
  EXPECT_EQ(two(clipped(1), clipped(1)), 1u);
  EXPECT_EQ(two(clipped(1), clipped(2)), 2u);
  const auto times = [&](double factor) { return [=](ir::Graph& g) { return input(g, {n, 20}) * factor; }; };
  EXPECT_EQ(two(times(2), times(2)), 1u);
  EXPECT_EQ(two(times(2), times(3)), 2u);
  const auto product = [&](ir::Graph& g) { return input(g, {n, 20}) * input(g, {n, 20}); };
  const auto square = [&](ir::Graph& g) {
    const ir::Value x = input(g, {n, 20});
    return x * x;
  };
  EXPECT_EQ(two(product, product), 1u);
  EXPECT_EQ(two(product, square), 2u);
  const auto cast = [&](DType from) { return [=](ir::Graph& g) { return g.add(ir::Cast{{}, DType::f32}, {input(g, {n, 20}, from)}); }; };
  EXPECT_EQ(two(cast(DType::u8), cast(DType::u8)), 1u);
  EXPECT_EQ(two(cast(DType::u8), cast(DType::i32)), 2u);
  // A fault is reported with the number of its node.
  const auto gathered = [&](ir::Graph& g) { return g.add(ir::GatherRows{}, {input(g, {9, 20}), input(g, {n}, DType::i32)}); };
  EXPECT_EQ(two(gathered, gathered), 2u);
}

}  // namespace
}  // namespace sinter::test::alike_test
