// The files in tests/golden are what version 1 of the format wrote; they are read for ever. tests/golden/README.md says how they came about.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "ir/print.h"
#include "ir/verify.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/bytes.h"

namespace sinter::runtime::golden_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(SINTER_TEST_FIXTURES).parent_path() / "golden";

/// Files that are missing are made, others never touched.
bool writing() { return std::getenv("SINTER_WRITE_GOLDEN") != nullptr; }
void write_missing(const fs::path& path, const std::string& bytes) {
  if (!writing() || fs::exists(path)) return;
  fs::create_directories(path.parent_path());
  test::write_bytes(path, bytes);
}

/// Every element type, rank and kind of leaf, updates, gradients, origins, passes and metadata.
Archive container() {
  using Kind = ir::InputSpec::Kind;
  ir::Graph graph("step");
  graph.set_current_origin({"dense_1", "mlp.cpp", 14});
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 3}}, Kind::batch});
  const ir::Value rate = graph.add_input({"rate", {DType::f32, {}}, Kind::fixed});
  const ir::Value w = graph.add_state({"dense_1.weight", {DType::f32, {3, 70}}, true});
  const ir::Value a = graph.add_state({"counter", {DType::u32, {}}}), b = graph.add_state({"previous", {DType::u32, {}}});
  graph.add_input({"table", {DType::f32, {Dim::rows(), 3}}, Kind::table});
  graph.add_input({"captured", {DType::i32, {4}}, Kind::hidden});
  const ir::Value product = matmul(x, w);
  graph.set_current_origin({"", "train.cpp", 3});
  const ir::Value next = w - rate * 0.5;
  graph.add_output(product);
  graph.add_output(x);
  graph.set_update(0, next.id);
  graph.set_update(2, a.id);
  graph.set_gradient_of(next.id, product.id);
  (void)b;

  Archive archive;
  archive.graphs = {{"train", graph, {"fold_bias", "group"}}, {"nothing", ir::Graph(""), {}}};
  std::vector<float> weights(3 * 70);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) / 8 - 11;
  archive.arrays = {array<float>("dense_1.weight", DType::f32, {3, 70}, weights),
                    array<float>("limits", DType::f32, {2, 2}, {-0.0f, 1e-45f, -INFINITY, NAN}),
                    array<std::int32_t>("integers", DType::i32, {1, 3}, {-2147483647 - 1, 0, 2147483647}),
                    array<std::uint32_t>("order", DType::u32, {5}, {4, 0, 3, 1, 4294967295}),
                    array<std::uint8_t>("pixels", DType::u8, {1, 1, 2, 1, 2, 1}, {0, 1, 128, 255}),
                    array<std::uint8_t>("mask", DType::boolean, {3}, {1, 0, 1}),
                    array<std::uint32_t>("counter", DType::u32, {}, {7}),
                    array<float>("nothing", DType::f32, {0, 4}, {})};
  archive.metadata = {{"epoch", "12"}, {"empty", ""}, {"", "no key"}, {"text", "größer als \0 und\n"}};
  return archive;
}

TEST(Golden, TheContainerIsReadAndWrittenAsEver) {
  const fs::path path = folder / "container.sinter";
  write_missing(path, to_bytes(container()));
  const Archive read = load(path), made = container();
  ASSERT_EQ(read.graphs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.graphs[i].name, made.graphs[i].name);
    EXPECT_EQ(read.graphs[i].passes, made.graphs[i].passes);
    EXPECT_EQ(ir::to_text(read.graphs[i].graph), ir::to_text(made.graphs[i].graph));
  }
  const ir::Graph& graph = read.graphs[0].graph;
  EXPECT_EQ(graph.node(graph.updates()[0]).gradient_of, graph.outputs()[0]);
  EXPECT_EQ(graph.updates()[1], ir::no_node);
  EXPECT_EQ(graph.node(graph.outputs()[0]).origin, (Origin{"dense_1", "mlp.cpp", 14}));
  ASSERT_EQ(read.arrays.size(), made.arrays.size());
  for (std::size_t i = 0; i < read.arrays.size(); ++i) {
    EXPECT_EQ(read.arrays[i].name, made.arrays[i].name);
    EXPECT_EQ(read.arrays[i].dtype, made.arrays[i].dtype);
    EXPECT_EQ(read.arrays[i].shape, made.arrays[i].shape);
    EXPECT_TRUE(std::ranges::equal(read.arrays[i].bytes, made.arrays[i].bytes)) << read.arrays[i].name;
  }
  EXPECT_EQ(read.metadata, made.metadata);
  const std::string bytes = test::read_bytes(path);
  EXPECT_EQ(to_bytes(read), bytes) << "the writer writes something else than version 1 did: raise the version, and go on reading this one";
  EXPECT_EQ(to_bytes(made), bytes) << "the writer writes something else than version 1 did: raise the version, and go on reading this one";
}

/// A graph of one op on the operands of its sample.
template <class O>
ir::Graph graph_of(const ir::Sample<O>& sample) {
  using Kind = ir::InputSpec::Kind;
  ir::Graph graph{std::string(O::name)};
  graph.set_current_origin({"layer", "model.cpp", 7});
  std::vector<ir::NodeId> operands;
  for (const ir::SampleInput& in : sample.inputs) {
    const Shape& shape = in.type.shape;
    const std::string name = str("x", operands.size());
    if (shape.is_fixed()) operands.push_back(graph.add_input({name, in.type, Kind::fixed}).id);
    else if (shape[0].is_rows()) operands.push_back(graph.add_input({name, in.type, Kind::table}).id);
    else if (shape[0] == Dim::batch()) operands.push_back(graph.add_input({name, in.type, Kind::batch}).id);
    else operands.push_back(reshape(graph.add_input({name, {in.type.dtype, {Dim::batch(), shape.elements().factor()}}, Kind::batch}), shape).id);
  }
  graph.add_output(graph.add(sample.op, operands, graph.origin()));
  return graph;
}

fs::path op_file(std::string_view op) { return folder / "ops" / (std::string(op) + ".sinter"); }

/// What the files of all ops hold, as text: derived from them, and there for people and for the comparison.
const fs::path ops_text = folder / "ops.txt";

std::string text_of_ops() {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / "ops")) files.insert(entry.path());
  std::string text;
  for (const fs::path& file : files)
    for (const NamedGraph& named : load(file).graphs) text += ir::to_text(named.graph) + "\n";
  return text;
}

TEST(Golden, EveryOpHasAFile) {
  ir::for_each_op([]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>) {
      const auto samples = O::samples();
      Archive archive;
      archive.graphs.push_back({"first", graph_of(samples.front()), {}});
      archive.graphs.push_back({"last", graph_of(samples.back()), {}});
      write_missing(op_file(O::name), to_bytes(archive));
      EXPECT_TRUE(fs::exists(op_file(O::name))) << "an op that joins gets a file that is read for ever: run this test with SINTER_WRITE_GOLDEN=1";
    }
  });
  if (writing()) test::write_bytes(ops_text, text_of_ops());
}

TEST(Golden, OpsAreReadAndWrittenAsEver) {
  EXPECT_EQ(text_of_ops(), test::read_bytes(ops_text));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder / "ops")) {
    SCOPED_TRACE(entry.path().filename().string());
    const Archive archive = load(entry.path());
    ASSERT_EQ(archive.graphs.size(), 2u);
    for (const NamedGraph& named : archive.graphs) {
      ir::verify(named.graph);
      EXPECT_EQ(ir::name(named.graph.node(named.graph.outputs()[0]).op), entry.path().stem().string());
    }
    EXPECT_EQ(to_bytes(archive), test::read_bytes(entry.path())) << "the writer writes something else than version 1 did: raise the version";
    ++files;
  }
  EXPECT_GE(files, 70u);
}

}  // namespace
}  // namespace sinter::runtime::golden_test
