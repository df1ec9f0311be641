// Scalers of features against scikit-learn, and what they refuse.
#include "frontend/data/scaler.h"

#include <limits>

#include "tests/frontend/scaler_fixture.h"
#include "tests/support/allocations.h"

namespace sinter::test::scaler_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

/// Compares a fitted scaler, and the same from its description, with the results of the fixture.
template <class Scaler>
void expect_as_fixture(const Scaler& fitted, const nlohmann::json& all, const std::string& name) {
  const std::int64_t features = all.at("features");
  const Tensor x = samples_in(all.at("scaled"), features), other = samples_in(all.at("new"), features);
  const Scaler read = Scaler::from_json(fitted.to_json());
  EXPECT_EQ(read.to_json(), fitted.to_json());
  for (const Scaler& scaler : {fitted, read}) {
    EXPECT_EQ(scaler.width(), features);
    expect_near(scaler.transform(x).template to_vector<float>(), all.at(name).at("transformed"), name);
    expect_near(scaler.transform(other).template to_vector<float>(), all.at(name).at("new"), name + ", new samples");
    expect_near(scaler.inverse_transform(other).template to_vector<float>(), all.at(name).at("inverse"), name + ", inverse");
  }
}

TEST(Scaler, StandardAgreesWithScikitLearn) {
  const nlohmann::json all = scaler_fixture();
  const Tensor x = samples_in(all.at("scaled"), all.at("features"));
  const data::StandardScaler scaler = data::StandardScaler::fit(x);
  expect_near(scaler.mean(), all.at("standard").at("mean"), "mean");
  expect_near(scaler.scale(), all.at("standard").at("scale"), "scale");
  EXPECT_EQ(scaler.scale()[3], 1);  // the same in all samples
  expect_as_fixture(scaler, all, "standard");
  expect_as_fixture(data::StandardScaler::fit(x, {.with_mean = false}), all, "no_mean");
  expect_as_fixture(data::StandardScaler::fit(x, {.with_deviation = false}), all, "no_deviation");
}

TEST(Scaler, MinMaxAgreesWithScikitLearn) {
  const nlohmann::json all = scaler_fixture();
  const Tensor x = samples_in(all.at("scaled"), all.at("features"));
  for (const char* name : {"min_max", "min_max_range"}) {
    const std::pair<double, double> range = name == std::string("min_max") ? std::pair(0.0, 1.0) : std::pair(-1.0, 3.0);
    const data::MinMaxScaler scaler = data::MinMaxScaler::fit(x, {.feature_range = range});
    EXPECT_EQ(scaler.feature_range(), range);
    expect_near(scaler.data_min(), all.at(name).at("data_min"), "data_min");
    expect_near(scaler.data_max(), all.at(name).at("data_max"), "data_max");
    expect_near(scaler.scale(), all.at(name).at("scale"), "scale");
    expect_as_fixture(scaler, all, name);
  }
}

TEST(Scaler, NormsAgreeWithScikitLearn) {
  const nlohmann::json all = scaler_fixture();
  const std::int64_t features = all.at("features");
  const Tensor x = concat({samples_in(all.at("x"), features), Tensor::zeros({DType::f32, {1, features}})}, 0);
  for (const auto& [norm, name] : {std::pair{data::Norm::l1, "l1"}, {data::Norm::l2, "l2"}, {data::Norm::max, "max"}}) {
    const data::Normalizer normalizer = data::Normalizer::from_json(data::Normalizer(norm).to_json());
    EXPECT_EQ(normalizer.norm(), norm);
    expect_near(normalizer.transform(x).to_vector<float>(), all.at(name).at("transformed"), name);
  }
  // Squares that f32 does not hold.
  EXPECT_THAT(data::Normalizer().transform(Tensor({3e30f, 4e30f}, {1, 2})).to_vector<float>(),
              ElementsAre(testing::FloatEq(0.6f), testing::FloatEq(0.8f)));
}

TEST(Scaler, AMillionSamplesFarFromZero) {
  constexpr std::int64_t rows = 1000000;
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r) values.insert(values.end(), {16777216.0f + static_cast<float>(r % 2 * 4), static_cast<float>(r), 0.1f});
  const Tensor x(values, {rows, 3});
  const data::StandardScaler scaler = data::StandardScaler::fit(x);
  EXPECT_NEAR(scaler.mean()[0], 16777218, 1e-6);
  EXPECT_NEAR(scaler.scale()[0], 2, 1e-9);
  EXPECT_NEAR(scaler.mean()[1], 499999.5, 1e-6);
  EXPECT_NEAR(scaler.scale()[1], std::sqrt((1e12 - 1) / 12), 1e-4);
  EXPECT_EQ(scaler.scale()[2], 1);
  const std::vector<float> scaled = scaler.transform(x).to_vector<float>();
  EXPECT_THAT(std::vector<float>(scaled.end() - 3, scaled.end()), ElementsAre(1, testing::FloatNear(std::sqrt(3.0f), 1e-5f), 0));
}

TEST(Scaler, OneSampleAtATimeWithoutAllocation) {
  const Tensor x({1, 2, 3, 5, -1, 7}, {3, 2});
  const data::StandardScaler standard = data::StandardScaler::fit(x);
  const data::MinMaxScaler min_max = data::MinMaxScaler::fit(x);
  std::vector<float> sample{1, 2}, result(2), back(2), first = standard.transform(x).to_vector<float>();
  const std::int64_t before = allocations();
  standard.transform(sample, result);
  standard.inverse_transform(result, back);
  EXPECT_EQ(allocations_are_counted ? allocations() - before : 0, 0);
  EXPECT_EQ(result, std::vector<float>(first.begin(), first.begin() + 2));
  EXPECT_EQ(back, sample);
  min_max.transform(sample, sample);  // in place
  EXPECT_THAT(sample, ElementsAre(0.5f, 0));
  min_max.inverse_transform(sample, sample);
  EXPECT_THAT(sample, ElementsAre(1, 2));
  data::Normalizer(data::Norm::max).transform(sample, sample);
  EXPECT_THAT(sample, ElementsAre(0.5f, 1));
  EXPECT_EQ(error_of([&] { standard.transform(sample, std::span(result).first(1)); }), "[StandardScaler] makes 2 numbers of 2, got 2 and room for 1");
  EXPECT_EQ(error_of([&] { data::Normalizer().transform(sample, std::span(result).first(1)); }),
            "[Normalizer] makes 2 numbers of 2, got 2 and room for 1");
}

TEST(Scaler, RefusesWhatItCannotScale) {
  const Tensor x({1, 2, 3, 5}, {2, 2});
  const auto fit = [](const Tensor& samples) { return error_of([&] { (void)data::StandardScaler::fit(samples); }); };
  EXPECT_EQ(fit(Tensor()), "[StandardScaler] the samples were never set");
  EXPECT_EQ(fit(Tensor({1, 2}, {2})), "[StandardScaler] needs samples f32[samples, features], got f32[2]; use reshape and cast, outside of steps");
  EXPECT_THAT(fit(Tensor::zeros({DType::u8, {2, 2}})), HasSubstr("got u8[2,2]"));
  EXPECT_EQ(fit(Tensor::zeros({DType::f32, {0, 2}})), "[StandardScaler] needs at least one sample and one feature, got f32[0,2]");
  EXPECT_EQ(fit(Tensor({1, nan}, {1, 2})),
            "[StandardScaler] the samples have nan at [0, 1]; leave such samples out or fill them in, as data::Encoder does");
  EXPECT_THAT(error_of([&] { (void)data::MinMaxScaler::fit(Tensor({1, infinity}, {2, 1})); }),
              HasSubstr("[MinMaxScaler] the samples have inf at [1, 0]"));
  EXPECT_THAT(error_of([&] { (void)data::Normalizer().transform(Tensor({1, nan}, {2, 1})); }), HasSubstr("[Normalizer] the samples have nan"));
  EXPECT_THAT(error_of([&] { (void)data::Normalizer().transform(Tensor({1, nan}, {2})); }), HasSubstr("[Normalizer] needs samples"));
  const data::StandardScaler scaler = data::StandardScaler::fit(x);
  EXPECT_EQ(error_of([&] { (void)scaler.transform(Tensor({1, 2, 3}, {1, 3})); }), "[StandardScaler] takes samples of 2 features, got f32[1,3]");
  EXPECT_THAT(error_of([&] { (void)scaler.inverse_transform(Tensor({nan, 2}, {1, 2})); }), HasSubstr("have nan at [0, 0]"));
  EXPECT_EQ(error_of([&] { (void)data::StandardScaler::fit(Tensor({0, 1e-20f}, {2, 1})).transform(Tensor({1, 1e30f}, {2, 1})); }),
            "[StandardScaler] gives inf at [1, 0], which is beyond f32: that sample is far from all that it learnt from");
  for (const std::pair<double, double>& range :
       {std::pair(1.0, 1.0), {2.0, 1.0}, {0.0, std::numeric_limits<double>::infinity()}, {std::nan(""), 1.0}})
    EXPECT_THAT(error_of([&] { (void)data::MinMaxScaler::fit(x, {.feature_range = range}); }),
                HasSubstr("[MinMaxScaler] MinMaxScalerOptions::feature_range must be two finite numbers, the lesser first, got "));
}

TEST(Scaler, DamagedDescriptionsAreRefused) {
  const auto standard = [](const std::string& json) { return error_of([&] { (void)data::StandardScaler::from_json(json); }); };
  const std::string start = R"({"kind":"StandardScaler","version":1,)";
  EXPECT_EQ(standard(start + R"("mean":[0,1],"scale":[1,2]})"), "");
  EXPECT_THAT(standard("{"), HasSubstr("[StandardScaler] the description is damaged ([json"));
  EXPECT_THAT(standard(std::string(100, '[')), HasSubstr("[StandardScaler]"));
  EXPECT_THAT(standard(start + R"("mean":[0,1],"scale":[1]})"), HasSubstr("the description is damaged: scale has 1 numbers, not 2"));
  EXPECT_THAT(standard(start + R"("mean":[],"scale":[]})"), HasSubstr("the description is damaged: mean has 0 numbers"));
  EXPECT_THAT(standard(start + R"("mean":[0],"scale":[0]})"), HasSubstr("the description is damaged: scale has 0"));
  EXPECT_THAT(standard(start + R"("mean":[null],"scale":[1]})"), HasSubstr("the description is damaged ("));
  EXPECT_THAT(standard(start + R"("mean":3,"scale":[1]})"), HasSubstr("the description is damaged ("));
  EXPECT_THAT(standard(R"({"kind":"StandardScaler","version":2})"), HasSubstr("version 2 is not known; it needs a newer version of Sinter"));
  EXPECT_THAT(standard(R"({"kind":"StandardScaler","version":true})"), HasSubstr("version true is not known"));
  EXPECT_EQ(standard(data::Normalizer().to_json()), "[StandardScaler] the description is of another kind, \"Normalizer\"");
  const auto min_max = [](const std::string& fields) {
    return error_of([&] { (void)data::MinMaxScaler::from_json(R"({"kind":"MinMaxScaler","version":1,)" + fields + "}"); });
  };
  EXPECT_EQ(min_max(R"("feature_range":[0,1],"data_min":[1],"data_max":[1])"), "");
  EXPECT_THAT(min_max(R"("feature_range":[1,1],"data_min":[1],"data_max":[1])"), HasSubstr("damaged: feature_range is 1 and 1"));
  EXPECT_THAT(min_max(R"("feature_range":[0,1],"data_min":[2],"data_max":[1])"), HasSubstr("damaged: feature 0 has more than data_max as data_min"));
  EXPECT_THAT(error_of([] { (void)data::Normalizer::from_json(R"({"kind":"Normalizer","version":1,"norm":"l3"})"); }),
              HasSubstr("[Normalizer] the description is damaged: norm is 'l3'"));
}

}  // namespace
}  // namespace sinter::test::scaler_test
