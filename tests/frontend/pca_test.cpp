// Principal components against scikit-learn, and what they refuse.
#include "frontend/data/pca.h"

#include <limits>
#include <numeric>

#include "tests/frontend/scaler_fixture.h"
#include "tests/support/allocations.h"

namespace sinter::test::pca_test {
namespace {

using testing::HasSubstr;

TEST(PCA, AgreesWithScikitLearn) {
  const nlohmann::json all = scaler_fixture();
  const struct {
    const char *name, *data;
    std::int64_t width;
    data::PCAOptions options;
  } cases[] = {{"pca_all", "x", 5, {}},
               {"pca_two", "x", 5, {.components = 2}},
               {"pca_share", "x", 5, {.variance = 0.97}},
               {"pca_whiten", "x", 5, {.whiten = true}},
               {"pca_wide", "wide", 7, {.components = 3, .whiten = true}}};
  for (const auto& c : cases) {
    const Tensor x = samples_in(all.at(c.data), c.width);
    const nlohmann::json& expected = all.at(c.name);
    const data::PCA fitted = data::PCA::fit(x, c.options), read = data::PCA::from_json(fitted.to_json());
    EXPECT_EQ(read.to_json(), fitted.to_json());
    for (const data::PCA& pca : {fitted, read}) {
      EXPECT_EQ(pca.width(), c.width);
      EXPECT_EQ(pca.count(), expected.at("count").get<std::int64_t>()) << c.name;
      EXPECT_EQ(pca.whiten(), c.options.whiten);
      expect_near(pca.mean(), expected.at("mean"), c.name);
      expect_near(pca.components(), expected.at("components"), c.name);
      expect_near(pca.explained_variance(), expected.at("explained_variance"), c.name);
      expect_near(pca.explained_variance_ratio(), expected.at("explained_variance_ratio"), c.name);
      const Tensor coordinates = pca.transform(x);
      expect_near(coordinates.to_vector<float>(), expected.at("transformed"), c.name);
      expect_near(pca.inverse_transform(coordinates).to_vector<float>(), expected.at("inverse"), c.name);
    }
  }
}

/// Blocks of rows are put together: the components of many samples are those of their covariance.
TEST(PCA, OfManySamples) {
  constexpr std::int64_t rows = 200000, width = 3;
  std::vector<float> values;
  RandomStream random(3, 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double a = random.normal(), b = random.normal(), c = random.normal();  // along (1, 1, 0), (1, -1, 0) and (0, 0, 1)
    for (const double x : {1000 + 3 * a + b, 3 * a - b, 1e-3 * c - 7}) values.push_back(static_cast<float>(x));
  }
  const data::PCA pca = data::PCA::fit(Tensor(values, {rows, width}));
  EXPECT_NEAR(pca.explained_variance()[0], 18, 0.2);
  EXPECT_NEAR(pca.explained_variance()[1], 2, 0.02);
  EXPECT_NEAR(pca.explained_variance()[2], 1e-6, 1e-8);
  EXPECT_NEAR(pca.components()[0], std::sqrt(0.5), 1e-2);
  EXPECT_NEAR(pca.components()[1], std::sqrt(0.5), 1e-2);
  EXPECT_NEAR(pca.components()[8], 1, 1e-6);
  EXPECT_NEAR(std::accumulate(pca.explained_variance_ratio().begin(), pca.explained_variance_ratio().end(), 0.0), 1, 1e-12);
  EXPECT_EQ(data::PCA::fit(Tensor(values, {rows, width}), {.variance = 0.91}).count(), 2);
}

TEST(PCA, OneSampleAtATimeWithoutAllocation) {
  const Tensor x({1, 2, 3, 5, -1, 7}, {3, 2});
  const data::PCA pca = data::PCA::fit(x, {.whiten = true});
  const std::vector<float> sample{3, 5}, all = pca.transform(x).to_vector<float>();
  std::vector<float> result(2), back(2);
  const std::int64_t before = allocations();
  pca.transform(sample, result);
  pca.inverse_transform(result, back);
  EXPECT_EQ(allocations_are_counted ? allocations() - before : 0, 0);
  EXPECT_EQ(result, std::vector<float>(all.begin() + 2, all.begin() + 4));
  EXPECT_NEAR(back[0], 3, 1e-5);
  EXPECT_NEAR(back[1], 5, 1e-5);
  EXPECT_EQ(error_of([&] { pca.transform(std::span(sample).first(1), result); }), "[PCA] makes 2 numbers of 2, got 1 and room for 2");
}

TEST(PCA, RefusesWhatItCannotUse) {
  const Tensor x({1, 2, 3, 5, -1, 7}, {3, 2});
  const auto fit = [&](const data::PCAOptions& options) { return error_of([&] { (void)data::PCA::fit(x, options); }); };
  for (const std::int64_t count : {3, -1})
    EXPECT_EQ(fit({.components = count}),
              str("[PCA] PCAOptions::components must be from 1 to 2, the lesser of samples and features, or 0 for that; got ", count));
  for (const double share : {1.0, -0.1, 2.0, std::nan("")})
    EXPECT_THAT(fit({.variance = share}), HasSubstr("[PCA] PCAOptions::variance is a share in (0, 1), or 0 for all, got "));
  EXPECT_EQ(fit({.components = 1, .variance = 0.5}), "[PCA] give either PCAOptions::components or PCAOptions::variance, got both");
  EXPECT_EQ(error_of([] { (void)data::PCA::fit(Tensor({1, 2}, {1, 2})); }), "[PCA] needs at least 2 samples, got f32[1,2]");
  EXPECT_EQ(error_of([] { (void)data::PCA::fit(Tensor({1, 2, 1, 2}, {2, 2})); }),
            "[PCA] all samples are the same, so that they vary in no direction");
  EXPECT_THAT(error_of([] { (void)data::PCA::fit(Tensor({1, std::numeric_limits<float>::infinity()}, {2, 1})); }),
              HasSubstr("[PCA] the samples have inf at [1, 0]"));
  const data::PCA pca = data::PCA::fit(x, {.components = 1});
  EXPECT_EQ(error_of([&] { (void)pca.transform(Tensor({1}, {1, 1})); }), "[PCA] takes samples of 2 features, got f32[1,1]");
  EXPECT_THAT(error_of([&] { (void)pca.inverse_transform(x); }), HasSubstr("[PCA] takes samples of 1 feature, got f32[3,2]"));
}

TEST(PCA, DamagedDescriptionsAreRefused) {
  const auto error = [](const std::string& fields) {
    return error_of([&] { (void)data::PCA::from_json(R"({"kind":"PCA","version":1,"whiten":false,)" + fields + "}"); });
  };
  EXPECT_EQ(error(R"("mean":[0,1],"explained_variance":[1],"explained_variance_ratio":[1],"components":[0,1])"), "");
  EXPECT_THAT(error(R"("mean":[0],"explained_variance":[1,1],"explained_variance_ratio":[1,0],"components":[1,1])"),
              HasSubstr("[PCA] the description is damaged: 2 components of 1 features"));
  EXPECT_THAT(error(R"("mean":[0],"explained_variance":[],"explained_variance_ratio":[],"components":[])"),
              HasSubstr("the description is damaged: 0 components of 1 features"));
  EXPECT_THAT(error(R"("mean":[0],"explained_variance":[-1],"explained_variance_ratio":[1],"components":[1])"),
              HasSubstr("the description is damaged: explained_variance has -1"));
  EXPECT_THAT(error(R"("mean":[0],"explained_variance":[1],"explained_variance_ratio":[1],"components":[1,2])"),
              HasSubstr("the description is damaged: components has 2 numbers, not 1"));
  EXPECT_THAT(error(R"("mean":[0],"explained_variance":[1])"), HasSubstr("the description is damaged ("));
}

}  // namespace
}  // namespace sinter::test::pca_test
