// convolution_to_matmul: which convolutions have windows that are rows of a matrix; run() also compares the numbers.
#include "ir/ops/convolution.h"
#include "tests/passes/helpers.h"

namespace sinter::test::convolution_to_matmul_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
const Dim n = Dim::batch();

/// Images of 4 × 5 pixels with so many channels, and a kernel.
struct ConvolutionToMatmul : ::testing::Test {
  Graph graph{"g"};
  Value images(std::int64_t channels) { return graph.add_input({"images", {DType::f32, {n, 4, 5, channels}}}); }
  Value kernel(const Shape& shape) { return graph.add_state({"kernel", {DType::f32, shape}}); }
  std::size_t products() const {
    std::size_t found = 0;
    for (NodeId id = 0; id < graph.size(); ++id) found += !graph.node(id).dead && graph.op_as<Matmul>(id);
    return found;
  }
  /// Whether the op on images of so many channels and this kernel becomes a product.
  bool becomes_product(const Conv2D& op, std::int64_t channels, const Shape& shape) {
    graph.add_output(graph.add(op, {images(channels), kernel(shape)}));
    const PassResult result = run(passes::convolution_to_matmul, graph);
    EXPECT_EQ(result.changed, products() == 1);
    return result.changed;
  }
};

TEST_F(ConvolutionToMatmul, OfPixels) { EXPECT_TRUE(becomes_product({}, 3, {1, 1, 3, 6})); }
TEST_F(ConvolutionToMatmul, DilationMeansNothing) { EXPECT_TRUE(becomes_product({.dilations = {2, 3}}, 3, {1, 1, 3, 6})); }
TEST_F(ConvolutionToMatmul, StridesOverOnePixelMeanNothing) {
  const auto of_one_pixel = [](const Conv2D& op) {
    Graph one("g");
    const Value x = one.add_input({"images", {DType::f32, {n, 1, 1, 3}}}), w = one.add_state({"kernel", {DType::f32, {1, 1, 3, 6}}});
    one.add_output(one.add(op, {x, w}));
    return run(passes::convolution_to_matmul, one).changed;
  };
  EXPECT_TRUE(of_one_pixel({.strides = {4, 3}}));
  EXPECT_FALSE(of_one_pixel({.strides = {4, 3}, .pads = {0, 1, 0, 0}})) << "its window is padding";
}
TEST_F(ConvolutionToMatmul, NotOfSomePixels) { EXPECT_FALSE(becomes_product({.strides = {1, 2}}, 3, {1, 1, 3, 6})); }
TEST_F(ConvolutionToMatmul, NotOfPadding) { EXPECT_FALSE(becomes_product({.pads = {0, 1, 0, 0}}, 3, {1, 1, 3, 6})); }
TEST_F(ConvolutionToMatmul, OfWholeImages) { EXPECT_TRUE(becomes_product({.strides = {3, 2}}, 3, {4, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, OfWholeRows) { EXPECT_TRUE(becomes_product({.strides = {2, 7}}, 3, {2, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, OfPartsOfRows) { EXPECT_TRUE(becomes_product({.strides = {1, 5}}, 3, {1, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, OfWindowsOfOneChannel) { EXPECT_TRUE(becomes_product({}, 1, {4, 5, 1, 6})); }
TEST_F(ConvolutionToMatmul, NotOfWindowsInSeveralRows) {
  Graph square("g");
  const Value x = square.add_input({"images", {DType::f32, {n, 4, 4, 3}}}), w = square.add_state({"kernel", {DType::f32, {2, 2, 3, 6}}});
  square.add_output(square.add(Conv2D{.strides = {2, 2}}, {x, w}));
  EXPECT_FALSE(run(passes::convolution_to_matmul, square).changed) << "their rows are not adjacent";
}
TEST_F(ConvolutionToMatmul, NotOfWindowsThatOverlap) { EXPECT_FALSE(becomes_product({}, 3, {2, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, NotOfWindowsWithGaps) { EXPECT_FALSE(becomes_product({.strides = {2, 1}, .dilations = {2, 1}}, 3, {2, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, NotOfWindowsThatLeaveOutARow) { EXPECT_FALSE(becomes_product({.strides = {3, 1}}, 3, {3, 5, 3, 6})); }
TEST_F(ConvolutionToMatmul, NotOfSeveralPixelsAndPadding) { EXPECT_FALSE(becomes_product({.pads = {0, 1, 0, 1}}, 3, {1, 3, 3, 6})); }
TEST_F(ConvolutionToMatmul, NotOfGroups) { EXPECT_FALSE(becomes_product({.groups = 3}, 3, {1, 1, 1, 6})); }
TEST_F(ConvolutionToMatmul, NotOfOneChannel) { EXPECT_FALSE(becomes_product({}, 1, {1, 1, 1, 6})); }
TEST_F(ConvolutionToMatmul, NotToOneFeature) { EXPECT_FALSE(becomes_product({}, 3, {1, 1, 3, 1})); }

TEST_F(ConvolutionToMatmul, AndTheAdjointInTheImage) {
  const Value y = images(6), x = graph.add_input({"x", {DType::f32, {n, 4, 5, 3}}});
  graph.add_output(graph.add(Conv2DTranspose{.image = {4, 5}}, {y, kernel({1, 1, 3, 6})}));
  graph.add_output(graph.add(Conv2DWeight{}, {x, y}));
  EXPECT_THAT(run(passes::convolution_to_matmul, graph).notes, ElementsAre("made 1 convolution a product of windows and a kernel"));
  EXPECT_EQ(products(), 1u);
}

TEST_F(ConvolutionToMatmul, AndBothAdjointsOfWholeImages) {
  const Value y = graph.add_input({"y", {DType::f32, {n, 1, 1, 6}}}), x = images(3);
  graph.add_output(graph.add(Conv2DTranspose{.image = {4, 5}}, {y, kernel({4, 5, 3, 6})}));
  graph.add_output(graph.add(Conv2DWeight{.kernel = {4, 5}}, {x, y}));
  EXPECT_THAT(run(passes::convolution_to_matmul, graph).notes, ElementsAre("made 2 convolutions products of windows and a kernel"));
  EXPECT_EQ(products(), 2u);
}

}  // namespace
}  // namespace sinter::test::convolution_to_matmul_test
