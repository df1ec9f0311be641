// What the shape rules of ops refuse: the operands and what the user is told.
#include <functional>
#include <limits>

#include "ir/graph.h"
#include "tests/ir/expect_error.h"

namespace sinter::ir::op_errors_test {
namespace {

const Dim n = Dim::batch();

struct Refusal {
  std::string wanted;
  Op op;
  std::vector<Shape> operands;
  DType first = DType::f32;
};

TEST(OpErrors, SayWhatIsWrong) {
  const Shape kernel{3, 3, 2, 4}, image{n, 6, 6, 2};
  constexpr std::int64_t beyond = (std::int64_t{1} << 31) + 10;
  PoolPut put;
  put.kernel = put.strides = {2, 2}, put.image = {6, 6};
  AverageSpread spread;
  spread.kernel = spread.strides = {2, 2}, spread.image = {6, 6};
  MaxPool wide;
  wide.kernel = {17, 17};
  Conv2DTranspose transpose, flat;
  transpose.image = {8, 8}, flat.image = {8};
  Conv2DWeight weight;
  weight.kernel = {3, 3};
  const std::vector<Refusal> refusals{
      {"the operand must have rows of a fixed size, got f32[3,N]", TopK{1}, {{3, n}}},
      {"the index must have rows of a fixed size, got i32[]", ScatterAddAlong{4}, {{}, {}}, DType::i32},
      {"needs a total of i32 or u32 and the same of f32, got f32[3] and f32[3]", ExactTotal{}, {{3}, {3}}},
      {"needs a total of i32 or u32 and the same of f32, got i32[3] and f32[4]", ExactTotal{}, {{3}, {4}}, DType::i32},
      {"the bias must be [4], got [5]", Dense{}, {{n, 3}, {3, 4}, {5}}},
      {"image must be [height, width], got [8]", flat, {{n, 6, 6, 4}, kernel}},
      {"the input must be [batch, height, width, channels], got [N,6,4]", transpose, {{n, 6, 4}, kernel}},
      {"the input must be [N,6,6,4] for an image of [8,8] and the kernel [3,3,2,4], got [N,5,5,4]", transpose, {{n, 5, 5, 4}, kernel}},
      {"the second operand must be [batch, height, width, features], got [N,4]", weight, {image, {n, 4}}},
      {"the second operand must be [N,4,4,5] for the input [N,6,6,2] and a kernel of [3,3], got [N,3,3,5]", weight, {image, {n, 3, 3, 5}}},
      {"the positions must be [N,3,3,2], got [N,2,2,2]", put, {{n, 2, 2, 2}, {n, 3, 3, 2}}, DType::u8},
      {"the values must be [N,3,3,2] for an image of [6,6], got [N,2,2,2]", put, {{n, 3, 3, 2}, {n, 2, 2, 2}}, DType::u8},
      {"the values must be [N,3,3,2] for an image of [6,6], got [N,2,2,2]", spread, {{n, 2, 2, 2}}},
      {"a window may have at most 256 elements, got [17,17]", wide, {{n, 20, 20, 1}}},
      {"the last dimension must be fixed, got f32[3,N]", Argmax{}, {{3, n}}},
      {"2147483658 elements of a row are more than positions in i32 reach (2147483647); work on parts of them", Argmax{}, {{n, beyond}}},
      {"2147483658 elements of a row are more than positions in i32 reach (2147483647); work on parts of them", TopK{1}, {{beyond}}},
      {"2147483658 rows of a table are more than positions in i32 reach (2147483647); work on parts of them",
       ScatterAddRows{beyond},
       {{n}, {n, 1}},
       DType::i32},
      {"axes [1, 3) do not exist in [N,2], which has 2 dimensions", Sum{1, 3}, {{n, 2}}},
      {"needs two matrices, got f32[2,3] and f32[3]; reshape them to 2 dimensions", Matmul{}, {{2, 3}, {3}}},
      {"cannot add N and 3 elements along one axis", Concat{0}, {{n, 2}, {3, 2}}},
      {"the rows of a table are read only by gather_rows, got f32[R,2]", Slice{0, 0, 1}, {{Dim::rows(), 2}}},
      {"elements 3 to 7 do not exist along axis 0 of [5]", Slice{0, 3, 4}, {{5}}},
      {"the start must be a number along an axis of 5, got N", Slice{0, n, 1}, {{5}}},
      {"cannot pad by -1 and 0 elements; slice removes some", Pad{0, -1, 0}, {{5}}},
      {"axis 3 does not exist in [5], which has 1 dimensions", Pad{3, 1, 0}, {{5}}},
      {"too many elements: 9223372036854775807 and 5 along one axis", Pad{0, std::numeric_limits<std::int64_t>::max(), 0}, {{5}}},
      {"needs at least 1 operand, got none", Concat{0}, {}},
      {"operands must be equal except along axis 0, got f32[5] and f32[5,1]", Concat{0}, {{5}, {5, 1}}},
      {"cannot broadcast [2,3] to [3]", Broadcast{{3}}, {{2, 3}}},
      {"cannot reshape [2] (2 elements) to [3] (3 elements)", Reshape{{3}}, {{2}}},
      {"the contracted dimensions differ: 2 of [N,2] against 3 of [3,4]", Matmul{}, {{n, 2}, {3, 4}}},
      {"needs matrices in the last two axes and equal leading axes, got f32[2,3] and f32[3,4]", BatchMatmul{}, {{2, 3}, {3, 4}}},
      {"N must be one of the leading axes, got f32[2,N,3] and f32[2,3,4]", BatchMatmul{}, {{2, n, 3}, {2, 3, 4}}},
  };
  for (const Refusal& refusal : refusals) {
    std::vector<Type> types;
    for (const Shape& shape : refusal.operands) types.push_back({types.empty() ? refusal.first : DType::f32, shape});
    EXPECT_USER_ERROR(infer(refusal.op, types), refusal.wanted);
  }
}

}  // namespace
}  // namespace sinter::ir::op_errors_test
