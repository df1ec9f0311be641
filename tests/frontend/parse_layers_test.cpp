// Models from one line of text.
#include "frontend/nn/parse_layers.h"

#include "frontend/nn/summary.h"
#include "tests/frontend/helpers.h"
#include "tests/ir/expect_error.h"

namespace sinter::test::parse_layers_test {
namespace {

using ::testing::HasSubstr;

const Type rows{DType::f32, {Dim::batch(), 6}}, images{DType::f32, {Dim::batch(), 12, 12, 3}}, series{DType::f32, {Dim::batch(), 20, 4}},
    sequences{DType::f32, {Dim::batch(), Dim::length(), 4}}, words{DType::i32, {Dim::batch(), Dim::length()}};

/// What the layers of a text return, as text, and how many parameters they have.
std::string result(std::string_view text, const Type& samples, const nn::ParseLayersOptions& options = {.entries = 10}) {
  nn::Sequential model = nn::parse_layers(text, samples, options);
  return str(nn::output_type(model, samples), " ", nn::count_elements(model.parameters()));
}

TEST(ParseLayers, OfRows) {
  EXPECT_EQ(result("dense 8 relu; dropout 0.3; dense 2", rows), str("f32[N,2] ", 6 * 8 + 8 + 1 + 8 * 2 + 2));
  EXPECT_EQ(result(" dense   8;relu ;batch_norm; layer_norm ;dense 1 sigmoid", rows), str("f32[N,1] ", 6 * 8 + 8 + 32 + 16 + 9));
}

TEST(ParseLayers, OfImages) {
  EXPECT_EQ(
      result("conv 8 3 relu; pool 2; conv 4 3 padding=same groups=2; pool 2 average strides=1 padding=same; spatial_dropout 0.1; flatten; dense 5",
             images),
      str("f32[N,5] ", 3 * 3 * 3 * 8 + 8 + 3 * 3 * 4 * 4 + 4 + 1 + 5 * 5 * 4 * 5 + 5));
  EXPECT_EQ(result("conv 8 3 strides=2; global_pool", images), str("f32[N,8] ", 27 * 8 + 8));
  EXPECT_EQ(result("conv 8 3 dilations=2; global_pool max", images), str("f32[N,8] ", 27 * 8 + 8));
  EXPECT_EQ(result("conv_transpose 2 3 relu strides=2 padding=same", images), str("f32[N,24,24,2] ", 27 * 2 + 2));
  EXPECT_EQ(result("adaptive_pool 5 7", images), "f32[N,5,7,3] 0");
  EXPECT_EQ(result("adaptive_pool 5 max; upsample 2; upsample bilinear 1 3", images), "f32[N,10,30,3] 0");
  EXPECT_EQ(result("conv 8 3; group_norm 4; instance_norm; global_pool", images), str("f32[N,8] ", 27 * 8 + 8 + 16 + 16));
  EXPECT_EQ(result("reshape 2 3 1; conv 1 2", rows), str("f32[N,1,2,1] ", 5));
}

TEST(ParseLayers, OfSeries) {
  EXPECT_EQ(result("conv 8 3 relu; pool 2; flatten; dense 1", series), str("f32[N,1] ", 4 * 3 * 8 + 8 + 9 * 8 + 1));
  EXPECT_EQ(result("adaptive_pool 7 average; upsample 3 nearest; instance_norm", series), "f32[N,21,4] 8");
  EXPECT_EQ(result("adaptive_pool max 7", series), "f32[N,7,4] 0");
  EXPECT_EQ(result("group_norm 2", sequences), "f32[N,T,4] 8");
  EXPECT_EQ(result("conv 8 3 relu padding=causal; gru 5 sequences; lstm 6", sequences),
            str("f32[N,6] ", 4 * 3 * 8 + 8 + 3 * 5 * (8 + 5 + 2) + 4 * 6 * (5 + 6 + 1)));
  EXPECT_EQ(result("rnn 5 relu backwards dropout=0.1 recurrent_dropout=0.2", sequences), str("f32[N,5] ", 5 * (4 + 5 + 1) + 1));
  EXPECT_EQ(result("lstm 3 both sequences; pool 3 strides=1 padding=same; global_pool", sequences), str("f32[N,6] ", 2 * 4 * 3 * (4 + 3 + 1)));
  EXPECT_EQ(result("gru 3 both merge=sum", sequences), str("f32[N,3] ", 2 * 3 * 3 * (4 + 3 + 2)));
}

TEST(ParseLayers, OfWords) {
  EXPECT_EQ(result("embedding 7; gru 5", words), str("f32[N,5] ", 70 + 3 * 5 * (7 + 5 + 2)));
  EXPECT_EQ(result("embedding 7 entries=3; global_pool", words), "f32[N,7] 21");
}

TEST(ParseLayers, GivesPenaltiesToWeights) {
  nn::Sequential model = nn::parse_layers("dense 3; dense 2", rows, {.penalty = {.l2 = 0.1f}});
  EXPECT_TRUE(model.has_penalty());
}

/// The error of a text.
std::string error(std::string_view text, const Type& samples = images) {
  return error_of([&] { (void)nn::parse_layers(text, samples); });
}

TEST(ParseLayers, SaysWhereAMistakeIs) {
  EXPECT_EQ(error("conv 8 3; cnov 4 3"), "[layers] character 11, 'cnov 4 3': [layers] there is no layer 'cnov'; the nearest is 'conv'");
  EXPECT_EQ(error("flatten; dense"), "[layers] character 10, 'dense': [dense] needs units, as in 'dense 8'");
  EXPECT_EQ(error("flatten; dense 3.5"), "[layers] character 10, 'dense 3.5': [dense] units must be a whole number from 1 to 1e+09, got 3.5");
  EXPECT_THAT(error("flatten; dense 3 rely"), HasSubstr("'dense 3 rely': [activation] there is no activation 'rely'; the nearest is 'relu'"));
  EXPECT_EQ(error("flatten 3"), "[layers] character 1, 'flatten 3': [flatten] does not take '3'");
  EXPECT_EQ(error("conv 8 3 strdes=2"), "[layers] character 1, 'conv 8 3 strdes=2': [conv] has no option 'strdes'; the nearest is 'strides'");
  EXPECT_EQ(error("conv 8 3 strides=x"), "[layers] character 1, 'conv 8 3 strides=x': [conv] strides must be a number, got 'x'");
  EXPECT_EQ(error("conv 8 3 padding=full"),
            "[layers] character 1, 'conv 8 3 padding=full': [conv] padding must be valid, same or causal, got 'full'");
  EXPECT_EQ(error("conv 8 3 strides=1 strides=2"),
            "[layers] character 1, 'conv 8 3 strides=1 strides=2': [layers] the option 'strides' is given twice");
  EXPECT_EQ(error("relu;; flatten"), "[layers] character 6, '': [layers] there is no layer between two semicolons");
  EXPECT_EQ(error(""), "[layers] character 1, '': [layers] there is no layer between two semicolons");
  EXPECT_THAT(error("flatten; conv 8 3"),
              HasSubstr("[conv] takes images [N, height, width, channels] or series [N, length, channels], but gets f32[N,432]"));
  EXPECT_THAT(error("conv 8 30"), HasSubstr("character 1, 'conv 8 30': "));
  EXPECT_THAT(error("embedding 8"), HasSubstr("[embedding] takes numbers of words (i32), but gets f32[N,12,12,3]"));
  EXPECT_THAT(error("embedding 8", words), HasSubstr("[embedding] needs to know how many words there are; give entries=NUMBER"));
  EXPECT_THAT(error("dense 8", words), HasSubstr("[dense] takes samples of features, but gets i32[N,T]"));
  EXPECT_THAT(error("gru 8 both backwards", series), HasSubstr("[gru] runs backwards or in both directions, not both"));
  EXPECT_THAT(error("gru 8 both merge=max", series), HasSubstr("[gru] merge must be concat, sum, mean or product, got 'max'"));
  EXPECT_THAT(error("dropout 2"), HasSubstr("character 1, 'dropout 2': "));
  EXPECT_EQ(error("adaptive_pool 2 3", series), "[layers] character 1, 'adaptive_pool 2 3': [adaptive_pool] takes one extent for series, got 2");
  EXPECT_THAT(error("adaptive_pool"), HasSubstr("[adaptive_pool] needs the extent of the result, as in 'adaptive_pool 8'"));
  EXPECT_THAT(error("upsample 2 0.5"), HasSubstr("[upsample] the scale must be a whole number from 1 to 1e+09, got 0.5"));
  EXPECT_THAT(error("group_norm 2"), HasSubstr("[GroupNorm] groups must divide channels, got 2 groups for 3 channels"));
  EXPECT_THAT(error("group_norm"), HasSubstr("[group_norm] needs the number of groups, as in 'group_norm 8'"));
  EXPECT_THAT(error("flatten; upsample 2"),
              HasSubstr("[upsample] takes images [N, height, width, channels] or series [N, length, channels], but gets f32[N,432]"));
  EXPECT_THAT(error("softmax 2"), HasSubstr("[softmax] does not take '2'"));
}

}  // namespace
}  // namespace sinter::test::parse_layers_test
