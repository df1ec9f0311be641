// swap_image_axes: which convolutions and pools are computed over images of one row; run() also compares the numbers.
#include "ir/ops/convolution.h"
#include "ir/ops/pool.h"
#include "tests/passes/helpers.h"

namespace sinter::test::swap_image_axes_test {
namespace {

using namespace ir;
using ::testing::ElementsAre;
const Dim n = Dim::batch();

struct SwapImageAxes : ::testing::Test {
  Graph graph{"g"};
  Value images(const Shape& shape) { return graph.add_input({str("images", graph.inputs().size()), {DType::f32, shape}}); }
  Value kernel(const Shape& shape) { return graph.add_state({"kernel", {DType::f32, shape}}); }
  bool changes(Value result) {
    graph.add_output(result);
    return run(passes::swap_image_axes, graph).changed;
  }
  /// The attributes of the only op of this kind.
  template <class O>
  const O& the() const {
    const O* found = nullptr;
    for (NodeId id = 0; id < graph.size(); ++id)
      if (const O* op = graph.node(id).dead ? nullptr : graph.op_as<O>(id)) {
        EXPECT_EQ(found, nullptr);
        found = op;
      }
    return *found;
  }
};

TEST_F(SwapImageAxes, OfAConvolution) {
  const Conv2D op{.strides = {2, 3}, .dilations = {2, 1}, .pads = {1, 0, 2, 0}};
  EXPECT_TRUE(changes(graph.add(op, {images({n, 9, 1, 3}), kernel({3, 1, 3, 6})})));
  const Conv2D& swapped = the<Conv2D>();
  EXPECT_EQ(swapped.strides, Shape({3, 2}));
  EXPECT_EQ(swapped.dilations, Shape({1, 2}));
  EXPECT_EQ(swapped.pads, Shape({0, 1, 0, 2}));
}

TEST_F(SwapImageAxes, OfItsAdjoints) {
  const Value x = images({n, 9, 1, 4}), y = images({n, 4, 1, 6});
  const Shape strides{2, 1}, dilations{1, 1}, pads{0, 0, 1, 0};
  graph.add_output(graph.add(Conv2DTranspose{strides, dilations, pads, 2, {9, 1}}, {y, kernel({3, 1, 2, 6})}));
  graph.add_output(graph.add(Conv2DWeight{strides, dilations, pads, 2, {3, 1}}, {x, y}));
  EXPECT_THAT(run(passes::swap_image_axes, graph).notes, ElementsAre("2 convolutions and pools of one column computed as of one row"));
  EXPECT_EQ(the<Conv2DTranspose>().image, Shape({1, 9}));
  EXPECT_EQ(the<Conv2DWeight>().kernel, Shape({1, 3}));
}

TEST_F(SwapImageAxes, OfPools) {
  const Value x = images({n, 9, 1, 3});
  const Shape windows{3, 1}, strides{2, 1}, pads{1, 0, 0, 0};
  const Value place = graph.add(MaxPoolPlace{windows, strides, pads}, {x});
  for (const Value result :
       {graph.add(MaxPool{windows, strides, pads}, {x}), graph.add(AveragePool{windows, strides, pads}, {x}),
        graph.add(PoolTake{windows, strides, pads}, {x, place}), graph.add(PoolPut{windows, strides, pads, {9, 1}}, {place, images({n, 4, 1, 3})}),
        graph.add(AverageSpread{windows, strides, pads, {9, 1}}, {images({n, 4, 1, 3})})})
    graph.add_output(result);
  EXPECT_THAT(run(passes::swap_image_axes, graph).notes, ElementsAre("6 convolutions and pools of one column computed as of one row"));
  EXPECT_EQ(the<MaxPool>().kernel, Shape({1, 3}));
  EXPECT_EQ(the<MaxPool>().pads, Shape({0, 1, 0, 0}));
  EXPECT_EQ(the<PoolPut>().image, Shape({1, 9}));
}

TEST_F(SwapImageAxes, OfAWindowOfPadding) {  // the only window along w does not see the column
  EXPECT_TRUE(changes(graph.add(Conv2D{.strides = {1, 3}, .pads = {0, 1, 0, 0}}, {images({n, 9, 1, 3}), kernel({3, 1, 3, 6})})));
}

TEST_F(SwapImageAxes, NotOfSeveralColumns) { EXPECT_FALSE(changes(graph.add(Conv2D{}, {images({n, 9, 2, 3}), kernel({3, 1, 3, 6})}))); }
TEST_F(SwapImageAxes, NotOfSeveralTaps) {
  EXPECT_FALSE(changes(graph.add(Conv2D{.pads = {0, 1, 0, 1}}, {images({n, 9, 1, 3}), kernel({3, 3, 3, 6})})));
}
TEST_F(SwapImageAxes, NotOfSeveralWindows) {
  EXPECT_FALSE(changes(graph.add(Conv2D{.pads = {0, 1, 0, 1}}, {images({n, 9, 1, 3}), kernel({3, 1, 3, 6})})));
}
TEST_F(SwapImageAxes, NotOfOnePixel) { EXPECT_FALSE(changes(graph.add(Conv2D{}, {images({n, 1, 1, 3}), kernel({1, 1, 3, 6})}))); }
TEST_F(SwapImageAxes, NotAgain) {
  graph.add_output(graph.add(Conv2D{}, {images({n, 9, 1, 3}), kernel({3, 1, 3, 6})}));
  EXPECT_TRUE(run(passes::swap_image_axes, graph).changed);
  EXPECT_FALSE(run(passes::swap_image_axes, graph).changed);
}

}  // namespace
}  // namespace sinter::test::swap_image_axes_test
