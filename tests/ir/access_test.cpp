// What ops say of how they walk, against what their reference does: each element of an operand is changed, and the elements of the result that change
// are those that the walk computes from it.
#include "ir/access.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/ops.h"
#include "ir/reference.h"
#include "tests/ir/expect_error.h"
#include "tests/ir/random_arrays.h"

namespace sinter::ir::access_test {
namespace {

struct Sampled {
  std::string name;
  Op op;
  std::vector<SampleInput> inputs;
};
void PrintTo(const Sampled& sampled, std::ostream* out) { *out << sampled.name; }

std::vector<Sampled> all_samples() {
  std::vector<Sampled> all;
  for_each_op([&]<class O>(O) {
    if constexpr (!IsLeaf<O>)
      for (const auto& sample : O::samples()) all.push_back({str(O::name, "_", all.size()), sample.op, sample.inputs});
  });
  return all;
}

class AccessOf : public ::testing::TestWithParam<Sampled> {
 protected:
  static constexpr std::int64_t n = 3;

  void SetUp() override {
    for (const SampleInput& input : GetParam().inputs) types_.push_back(input.type);
    result_ = infer(GetParam().op, types_);
    access_ = access(GetParam().op, types_, result_.shape);
  }

  /// The elements of each operand that an element of the result is computed from.
  std::vector<std::set<std::size_t>> claimed(std::vector<std::int64_t> point) const {
    std::vector<std::set<std::size_t>> all(types_.size());
    const std::size_t rank = point.size();
    point.resize(access_.axes.size());
    const auto turn = [&](std::size_t axis) {  // an odometer over the axes that the result does not decide
      return axis >= rank || access_.axes[axis].kind == Axis::Kind::whole;
    };
    std::vector<std::size_t> turned;
    for (std::size_t axis = 0; axis < point.size(); ++axis)
      if (turn(axis) || access_.axes[axis].kind == Axis::Kind::ordered) turned.push_back(axis);
    for (const std::size_t axis : turned) point[axis] = 0;
    for (bool more = true; more;) {
      for (std::size_t k = 0; k < types_.size(); ++k) add(all[k], k, 0, 0, point);
      more = false;
      for (std::size_t i = turned.size(); i-- > 0 && !more;) {
        more = ++point[turned[i]] < access_.axes[turned[i]].extent.extent(n);
        if (!more) point[turned[i]] = 0;
      }
    }
    return all;
  }

  void add(std::set<std::size_t>& elements, std::size_t k, std::size_t dim, std::size_t number, const std::vector<std::int64_t>& point) const {
    const Map& map = access_.operands[k];
    ASSERT_EQ(map.size(), types_[k].shape.rank());
    if (dim == map.size()) {
      elements.insert(number);
      return;
    }
    const std::int64_t extent = types_[k].shape[dim].extent(n);
    if (map[dim].through) {
      for (std::int64_t i = 0; i < extent; ++i)
        add(elements, k, dim + 1, number * static_cast<std::size_t>(extent) + static_cast<std::size_t>(i), point);
      return;
    }
    const std::optional<std::int64_t> at = position(map[dim], point, n);
    if (!at || *at < 0 || *at >= extent) {
      EXPECT_TRUE(map[dim].partial || (map[dim].exact && !at)) << "reads outside of operand " << k << ": " << to_string(access_);
      return;
    }
    add(elements, k, dim + 1, number * static_cast<std::size_t>(extent) + static_cast<std::size_t>(*at), point);
  }

  std::vector<Type> types_;
  Type result_;
  Access access_;
};

std::vector<std::int64_t> point_of(std::size_t element, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> point(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    point[axis] = static_cast<std::int64_t>(element) % extents[axis];
    element /= static_cast<std::size_t>(extents[axis]);
  }
  return point;
}

TEST_P(AccessOf, IsWhatTheReferenceReads) {
  SCOPED_TRACE(to_string(access_));
  ASSERT_EQ(access_.operands.size(), types_.size());
  std::vector<std::vector<std::set<std::size_t>>> wanted;  // by element of the result, by operand
  const std::vector<std::int64_t> extents = result_.shape.extents(n);
  const auto count = static_cast<std::size_t>(result_.shape.elements().extent(n));
  for (std::size_t e = 0; e < count; ++e) wanted.push_back(claimed(point_of(e, extents)));

  test::Random random(1);
  const auto evaluated = [&](const std::vector<Array>& in) {
    std::vector<const Array*> pointers;
    for (const Array& x : in) pointers.push_back(&x);
    return evaluate(GetParam().op, result_, pointers, n).data;
  };
  constexpr std::size_t most = 40;  // elements of an operand that are changed
  std::vector<std::vector<std::size_t>> changed;
  for (const Type& type : types_) {
    auto& list = changed.emplace_back();
    const auto elements = static_cast<std::size_t>(type.shape.elements().extent(n));
    for (std::size_t i = 0; i < std::min(elements, most); ++i) list.push_back(elements <= most ? i : random.below(elements));
  }
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;  // element of the result, operand, its element
  for (int round = 0; round < 6; ++round) {
    std::vector<Array> in;
    for (const SampleInput& input : GetParam().inputs) in.push_back(test::random_array(random, input.type, n, input.low, input.high));
    const std::vector<double> before = evaluated(in);
    for (std::size_t k = 0; k < in.size(); ++k)
      for (const std::size_t e : changed[k]) {
        const SampleInput& input = GetParam().inputs[k];
        const DType dtype = input.type.dtype;
        double& x = in[k].data[e];
        const double old = x;
        const auto draw = [&] { return test::random_array(random, {dtype, {1}}, n, input.low, input.high).data[0]; };
        if (dtype == DType::boolean) x = 1 - x;
        else if (!is_float(dtype) || round % 3 == 0) x = draw();
        else x += round % 3 == 1 ? 100 : -100;
        const std::vector<double> after = evaluated(in);
        for (std::size_t r = 0; r < count; ++r) {
          if (before[r] == after[r] || (std::isnan(before[r]) && std::isnan(after[r]))) continue;
          EXPECT_TRUE(wanted[r][k].contains(e)) << "element " << r << " of the result depends on element " << e << " of operand " << k;
          seen.insert({r, k, e});
        }
        x = old;
      }
  }
  // What only moves elements, and products, whatever the numbers: nothing is claimed that is not read.
  const auto any = [&](bool Index::* flag) {
    return std::any_of(access_.operands.begin(), access_.operands.end(),
                       [&](const Map& map) { return std::any_of(map.begin(), map.end(), [&](const Index& index) { return index.*flag; }); });
  };
  const bool by_index = std::any_of(access_.operands.begin(), access_.operands.end(), [](const Map& map) {
    return std::any_of(map.begin(), map.end(), [](const Index& index) { return index.through.has_value(); });
  });
  if (by_index || !(access_.flops == 0 || (access_.flops == 2 && !any(&Index::partial)))) return;
  for (std::size_t k = 0; k < types_.size(); ++k)
    for (const std::size_t e : changed[k])
      for (std::size_t r = 0; r < count; ++r)
        EXPECT_EQ(wanted[r][k].contains(e), seen.contains({r, k, e}))
            << "element " << e << " of operand " << k << ", element " << r << " of the result";
}

INSTANTIATE_TEST_SUITE_P(All, AccessOf, ::testing::ValuesIn(all_samples()), [](const auto& info) { return info.param.name; });

const Dim n = Dim::batch();

Access of(const Op& op, const std::vector<Shape>& in) {
  std::vector<Type> types;
  for (const Shape& shape : in) types.push_back({DType::f32, shape});
  return access(op, types, infer(op, types).shape);
}

TEST(Access, Prints) {
  EXPECT_EQ(to_string(of(Dense{}, {{n, 5}, {5, 3}, {3}})), "i,j,+k: [i,k] [k,j] [j]");
  EXPECT_EQ(to_string(of(Softmax{}, {{n, 5}})), "i,j*: [i,j]");
  EXPECT_EQ(to_string(of(Cumsum{1, true}, {{n, 5}})), "i,j<: [i,j]");
  EXPECT_EQ(to_string(of(Slice{1, 2, 3}, {{n, 9}})), "i,j: [i,j + 2]");
  EXPECT_EQ(to_string(of(Permute{{2, 0, 1}}, {{n, 5, 3}})), "i,j,k: [j,k,i]");
  EXPECT_EQ(to_string(of(Pad{1, 2, 0, 1}, {{n, 9}})), "i,j: [i,j + -2 if inside]");
  EXPECT_EQ(to_string(of(Reshape{{12, n}}, {{n, 12}})), "i,j: [(N i + j) / 12,(N i + j) mod 12]");
  EXPECT_EQ(to_string(of(MaxPool{{2, 2}, {2, 2}, {0, 0, 0, 0}}, {{n, 4, 4, 3}})), "i,j,k,l,+m,+n: [i,2 j + m if inside,2 k + n if inside,l]");
  EXPECT_EQ(to_string(access(GatherRows{}, std::vector<Type>{{DType::f32, {Dim::rows(), 4}}, {DType::i32, {n}}}, {n, 4})), "i,j: [#1,j] [i]");
  EXPECT_EQ(to_string(access(ScatterAddRows{7}, std::vector<Type>{{DType::i32, {n}}, {DType::f32, {n, 4}}}, {7, 4})), "i?,j,+k: [k] [k,j]");
}

TEST(Access, ReshapeNeedsNoDivisionWhereDimensionsAreMergedOrSplit) {
  EXPECT_EQ(to_string(of(Reshape{{n, 2, 3}}, {{n, 6}})), "i,j,k: [i,3 j + k]");
  EXPECT_EQ(to_string(of(Reshape{{n, 6}}, {{n, 2, 3}})), "i,j: [i,(j) / 3,(j) mod 3]");
  EXPECT_EQ(to_string(of(Reshape{{Dim::batch(2), 3}}, {{n, 6}})), "i,j: [(i) / 2,(3 i + j) mod 6]");
  EXPECT_EQ(to_string(of(Reshape{{3, 1, n}}, {{3, n}})), "i,j,k: [i,k]");
}

TEST(Access, OwnSamples) {
  const auto own = [](const Op& op, const std::vector<Shape>& in, std::size_t operand) {
    return reads_own_samples(of(op, in), operand, in[operand]);
  };
  EXPECT_TRUE(own(Matmul{}, {{n, 5}, {5, 3}}, 0));
  EXPECT_FALSE(own(Matmul{}, {{n, 5}, {5, 3}}, 1));
  EXPECT_FALSE(own(Matmul{true, false}, {{n, 5}, {n, 3}}, 0));
  EXPECT_TRUE(own(Reshape{{n, 6}}, {{Dim::batch(2), 3}}, 0));
  EXPECT_TRUE(own(Reshape{{Dim::batch(2), 3}}, {{n, 6}}, 0));
  EXPECT_FALSE(own(Reshape{{n, 3}}, {{3, n}}, 0));
  EXPECT_TRUE(own(Slice{1, 0, 2}, {{n, 3}}, 0));
  EXPECT_FALSE(own(Slice{0, n, n}, {{Dim::batch(2), 3}}, 0));
  EXPECT_FALSE(own(Pad{0, n, 0, 0}, {{n, 3}}, 0));
  EXPECT_FALSE(own(Cumsum{0, false}, {{n, 3}}, 0));
  EXPECT_TRUE(own(Cumsum{1, false}, {{n, 3}}, 0));
  EXPECT_TRUE(own(Sum{1, 2}, {{n, 3}}, 0));
  EXPECT_FALSE(own(Sum{0, 1}, {{n, 3}}, 0));
  EXPECT_TRUE(own(Add{}, {{n, 3}, {n, 1}}, 1));
  EXPECT_FALSE(own(Add{}, {{n, 3}, {3}}, 1));
  EXPECT_TRUE(own(Transpose{}, {{n, 3, 4}}, 0));
}

TEST(Access, OwnUnits) {
  const auto own = [](const Op& op, const std::vector<Shape>& in, std::size_t operand, Dim units) {
    return reads_own_units(of(op, in), operand, in[operand], units);
  };
  EXPECT_TRUE(own(Matmul{}, {{4, 5}, {5, 3}}, 0, 4));
  EXPECT_FALSE(own(Matmul{}, {{4, 5}, {5, 3}}, 1, 4));
  EXPECT_FALSE(own(Matmul{}, {{4, 4}, {4, 3}}, 1, 4));
  EXPECT_TRUE(own(Softmax{}, {{2, 4, 5}}, 0, 8));
  EXPECT_FALSE(own(Softmax{}, {{2, 4, 5}}, 0, 40)) << "an element is computed from its whole row";
  EXPECT_FALSE(own(Add{}, {{4, 5}, {1, 5}}, 1, 4));
  EXPECT_TRUE(own(Add{}, {{4, 5}, {4, 1}}, 1, 4));
  EXPECT_FALSE(own(Add{}, {{4, 5}, {4, 1}}, 1, 20));
  EXPECT_FALSE(own(Transpose{}, {{4, 4}}, 0, 4));
  EXPECT_FALSE(own(Slice{0, 1, 4}, {{5, 3}}, 0, 4));
  EXPECT_TRUE(own(Sum{2, 3}, {{n, 4, 5}}, 0, Dim::batch(4)));
  EXPECT_FALSE(own(Sum{1, 2}, {{n, 4, 4}}, 0, Dim::batch(4)));
  EXPECT_TRUE(own(Reshape{{n, 4, 5}}, {{Dim::batch(4), 5}}, 0, Dim::batch(4)));
  EXPECT_TRUE(own(Reshape{{Dim::batch(4), 5}}, {{n, 4, 5}}, 0, Dim::batch(4)));
  EXPECT_TRUE(own(Reshape{{n, 2, 2, 5}}, {{Dim::batch(2), 2, 5}}, 0, Dim::batch(4)));
  EXPECT_FALSE(own(Reshape{{Dim::batch(5), 4}}, {{n, 4, 5}}, 0, Dim::batch(4)));
  EXPECT_FALSE(own(Reshape{{Dim::batch(5), 4}}, {{n, 4, 5}}, 0, Dim::batch(5)));
}

}  // namespace
}  // namespace sinter::ir::access_test
