// A model that takes texts: the vocabulary goes into its file.
#include "frontend/nn/recurrent.h"
#include "tests/frontend/mistakes.h"
#include "tests/frontend/sentencepiece_fixtures.h"
#include "tests/support/bytes.h"

namespace sinter::test::predict_text_test {
namespace {

using ::testing::HasSubstr;

class PredictText : public ::testing::Test {
 protected:
  PredictText() : vocabulary_(data::Vocabulary::fit(texts_)) {}

  Trainer trained(Mode mode) const { return trained(mode, vocabulary_); }
  Trainer trained(Mode mode, const data::Vocabulary& vocabulary) const {
    seed(1);
    nn::Sequential model{nn::Embedding(vocabulary.size(), 4), nn::GlobalAveragePool(), nn::Dense(4, 1)};
    Trainer trainer(model, loss::binary_crossentropy_from_logits, optim::Adam({.learning_rate = 0.1f}), {.mode = mode});
    trainer.fit({vocabulary.encode_all(texts_), Tensor({1, 0, 1, 0}, {4})}, {.epochs = 50, .verbose = false});
    return trainer;
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_ / "model.sinter";
  const std::vector<std::string> texts_{"a wonderful film", "a dull film, a bore", "wonderful, wonderful", "dull"};
  const data::Vocabulary vocabulary_;
};

TEST_F(PredictText, AlsoFromAFile) {
  for (const Mode mode : modes()) {
    Trainer trainer = trained(mode);
    trainer.set_vocabulary(vocabulary_);
    const std::vector<float> all = trainer.predict_texts(texts_).to_vector<float>();
    EXPECT_EQ(all, trainer.predict(vocabulary_.encode_all(texts_)).to_vector<float>());
    EXPECT_GT(all[0], 0);
    EXPECT_LT(all[1], 0);
    trainer.save(file_);
    Trainer loaded = Trainer::load(file_, {.mode = mode});
    EXPECT_EQ(loaded.vocabulary().words(), vocabulary_.words());
    EXPECT_EQ(loaded.predict_texts(texts_).to_vector<float>(), all);
    EXPECT_EQ(loaded.predict_text("A WONDERFUL film!").to_vector<float>()[0], all[0]);
    EXPECT_EQ(loaded.predict_text("").shape(), (Shape{1, 1})) << "a sequence of no words";
  }
}

TEST_F(PredictText, BySubwordsWithoutTheirModelFile) {
  const std::filesystem::path model = folder_ / "some.model";
  write_bytes(model, sentencepiece_fixtures().at("unigram"));
  const auto vocabulary = data::Vocabulary::from_sentencepiece(model, {.start = true});
  EXPECT_TRUE(vocabulary.has_subwords());
  EXPECT_FALSE(data::Vocabulary({"word"}).has_subwords());
  for (const Mode mode : modes()) {
    Trainer trainer = trained(mode, vocabulary);
    trainer.set_vocabulary(vocabulary);
    const std::vector<float> all = trainer.predict_texts(texts_).to_vector<float>();
    EXPECT_GT(all[0], 0);
    EXPECT_LT(all[1], 0);
    trainer.save(file_);
    std::filesystem::remove(model);
    Trainer loaded = Trainer::load(file_, {.mode = mode});
    EXPECT_EQ(loaded.vocabulary().to_json(), vocabulary.to_json());
    EXPECT_EQ(loaded.predict_texts(texts_).to_vector<float>(), all);
    EXPECT_EQ(loaded.predict_text("\uff41 wonderful\u3000film").to_vector<float>()[0], all[0]) << "normalized";
  }
}

TEST_F(PredictText, RefusesWhatDoesNotFit) {
  Trainer trainer = trained(Mode::eager);
  EXPECT_EQ(error_of([&] { trainer.predict_text("dull"); }), "[predict_text] the model has no vocabulary; call set_vocabulary before it is saved");
  trainer.set_vocabulary(data::Vocabulary({"a", "b", "c", "d", "e", "f", "g"}));
  EXPECT_EQ(error_of([&] { trainer.predict_text("dull"); }),
            "[predict_text] the vocabulary has 10 numbers, but the model knows 8; it is of another model");
  trainer.set_vocabulary(vocabulary_);
  EXPECT_THAT(error_of([&] { trainer.predict_texts({"fine", "b\xff"}); }), HasSubstr("[Vocabulary] text 1: [words] the text is not UTF-8"));
  trainer.set_metadata("vocabulary", "{}");
  EXPECT_THAT(error_of([&] { trainer.predict_text("dull"); }), HasSubstr("[Vocabulary] the description is damaged"));

  nn::Sequential dense{nn::Dense(3, 1)};
  Trainer other(dense, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  other.set_vocabulary(vocabulary_);
  EXPECT_THAT(error_of([&] { other.predict_text("dull"); }), HasSubstr("[predict_text] the shapes of the data are not known yet"));
  other.train_on_batch(random({2, 3}, 1), random({2, 1}, 2));
  EXPECT_THAT(error_of([&] { other.predict_text("dull"); }),
              HasSubstr("[predict_text] takes a model of sequences of numbers, i32[N,T], but this one takes 1 x, the first f32[2,3]"));
}

}  // namespace
}  // namespace sinter::test::predict_text_test
