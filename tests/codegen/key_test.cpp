// Keys of compiled code: two steps with one key have the same code, and what changes the code changes the key.
#include <array>
#include <map>
#include <optional>

#include "codegen/compile.h"
#include "codegen/key.h"
#include "tests/codegen/graphs.h"
#include "tests/frontend/sample_graph.h"

namespace sinter::test::key_test {
namespace {

/// Keeps nothing: remembers the code that was made under each key, which must always be the same.
struct CheckingStore : ObjectStore {
  std::map<std::array<std::string, 3>, std::string> code;
  std::optional<std::string> find(const ObjectKey&) override { return {}; }
  void keep(const ObjectKey& key, std::string_view bytes) override {
    const auto [at, first] = code.try_emplace({key.source, key.target, key.version}, bytes);
    EXPECT_EQ(at->second, bytes) << "the same key, but other code";
  }
  void reject(const ObjectKey&, const std::string&) override {}
};

template <class O>
void compile_samples(CheckingStore& store) {
  if constexpr (!ir::IsLeaf<O> && !ir::IsScan<O>)
    for (const auto& sample : O::samples()) {
      std::optional<ir::Graph> graph = graph_of(sample);
      if (!graph) continue;  // EveryOpSamples says which
      passes::optimize(*graph);
      codegen::compile(*graph, {.store = &store});
    }
}

template <class... Ops>
void compile_all(std::variant<Ops...>*, CheckingStore& store) {
  (compile_samples<Ops>(store), ...);
}

TEST(Key, DecidesTheCodeOfEveryOp) {
  CheckingStore store;
  compile_all(static_cast<ir::Op*>(nullptr), store);
  EXPECT_GT(store.code.size(), std::variant_size_v<ir::Op>);
}

TEST(Key, DecidesTheCodeWithEveryOption) {
  const ir::Graph graph = training_graph({20, 33, 7});
  const std::string node = [&] {
    const auto names = ir::printed_names(graph);
    for (const ir::NodeId id : graph.topological_order())
      if (std::holds_alternative<ir::Sigmoid>(graph.node(id).op)) return names[id];
    return std::string();
  }();
  CheckingStore store;
  const std::vector<codegen::Options> all{{.store = &store},
                                          {.tap = true, .store = &store},
                                          {.profile = true, .store = &store},
                                          {.target = "x86-64-v3", .store = &store},
                                          {.store = &store, .checked = true},
                                          {.store = &store, .checked = true, .sabotage = {codegen::Sabotage::Kind::no_barrier, 0}},
                                          {.store = &store, .fault = node}};
  for (const codegen::Options& options : all)
    for (const int threads : {1, 4}) {
      codegen::Options with_threads = options;
      with_threads.threads = threads;
      with_threads.perf_map = threads == 4;
      codegen::compile(graph, with_threads);
    }
  EXPECT_EQ(store.code.size(), all.size());
}

TEST(Key, TellsApartWhatTheCodeDoes) {
  const auto source = [](const ir::Graph& graph) { return codegen::object_key(graph, {}, "").source; };
  const std::string same = source(training_graph({20, 33, 7}));
  EXPECT_EQ(source(training_graph({20, 33, 7})), same) << "whatever the order of memory";
  EXPECT_NE(source(training_graph({20, 33, 8})), same);
  EXPECT_NE(source(training_graph({20, 34, 7})), same);
  ir::Graph kept = training_graph({20, 33, 7});
  for (const ir::NodeId id : kept.topological_order())
    if (std::holds_alternative<ir::Sigmoid>(kept.node(id).op)) kept.keep(id);
  EXPECT_NE(source(kept), same) << "a value that is kept is stored";

  const auto small = [&](const std::string& name, float factor, DType dtype, InputKind kind, const Origin& origin) {
    ir::Graph graph(name);
    const Shape shape = kind == InputKind::fixed ? Shape{3, 4} : Shape{Dim::batch(), 4};
    const ir::OriginScope scope(graph, origin);
    const ir::Value x = graph.add_input({name, {dtype, shape}, kind});
    graph.add_output(dtype == DType::f32 ? graph.add(ir::Mul{}, {x, graph.add(ir::Constant{factor, DType::f32}, {})}) : x);
    passes::optimize(graph);
    return source(graph);
  };
  const std::string first = small("x", 2, DType::f32, InputKind::batch, {"layer", "a.cpp", 1});
  EXPECT_EQ(small("y", 2, DType::f32, InputKind::batch, {"other", "b.cpp", 2}), first) << "names and lines are not in the code";
  EXPECT_NE(small("x", 3, DType::f32, InputKind::batch, {}), first);
  EXPECT_NE(small("x", 2, DType::i32, InputKind::batch, {}), first);
  EXPECT_NE(small("x", 2, DType::f32, InputKind::fixed, {}), first);
  EXPECT_NE(small("x", -0.0f, DType::f32, InputKind::batch, {}), small("x", 0.0f, DType::f32, InputKind::batch, {}));
}

}  // namespace
}  // namespace sinter::test::key_test
