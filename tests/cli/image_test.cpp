// sinter train and predict on images.
#include <sinter/sinter.h>

#include "tests/cli/cli.h"

namespace sinter::test::image_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Images : public Cli {
 protected:
  static std::string picture(const std::string& name) { return fixture(name + ".png"); }
  Arguments learning(const Arguments& more) const {
    return Arguments{"train", "--data",  photos(), "--validation-split", "0", "--epochs", "60", "--learning-rate", "0.01", "--batch-size",
                     "4",     "--quiet", "-o",     file("model.sinter")} +
           more;
  }
};

TEST_F(Images, OfAFolderAreLearntAndRecognized) {
  for (const Arguments& layers :
       {Arguments{}, Arguments{"--layers", "conv 4 2 relu; flatten"}, Arguments{"--channels", "1", "--layers", "conv 4 2; flatten"}}) {
    EXPECT_THAT(sinter_with(learning(layers)), Prints(HasSubstr("training: accuracy 100 %")));
    EXPECT_THAT(sinter_with({"predict", file("model.sinter"), picture("rgb"), picture("grey")}),
                Prints(ContainsRegex("^prediction,p\\(grey\\),p\\(rgb\\)\nrgb,.*\ngrey,.*\n$")));
  }
}

TEST_F(Images, MayBeDarkOnLight) {
  ASSERT_EQ(sinter_with(learning({"--channels", "1"})).status, 0);
  const auto probabilities = [&](const Arguments& more) {
    return sinter_with(Arguments{"predict", file("model.sinter"), picture("grey")} + more).out;
  };
  const std::string usual = probabilities({}), inverted = probabilities({"--invert"});
  EXPECT_NE(usual, inverted);
  // The same as of the pixels turned by hand.
  Trainer trainer = Trainer::load(file("model.sinter"));
  const Tensor pixels = data::image(picture("grey"), 1), turned = cast(255 - cast(pixels, DType::i32), DType::u8);
  const Tensor p = softmax(trainer.predict(reshape(turned, {1, turned.elements()})));
  EXPECT_THAT(inverted, HasSubstr("," + serve::prediction_text(p.to_vector<float>()[1])));
}

TEST_F(Images, RefusesWhatDoesNotFit) {
  ASSERT_EQ(sinter_with(learning({"--epochs", "1"})).status, 0);
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), fixture("smooth.jpg")}),
              Fails(failure, ContainsRegex("smooth.jpg\\] has [0-9]+ × [0-9]+ pixels, but the model takes [0-9]+ × [0-9]+; make it of this size")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), houses}), Fails(failure, HasSubstr("houses.csv] ")));
  EXPECT_THAT(sinter_with({"predict", file("model.sinter"), picture("rgb"), "--data", houses}),
              Fails(failure, HasSubstr("[predict] --data, --text and images stand in place of each other; give one of them")));
  EXPECT_THAT(sinter_with({"predict", model(), picture("rgb")}),
              Fails(failure, HasSubstr("rgb.png] is an image, but " + file("model.sinter") + " does not take images")));

  Trainer numbers(nn::Sequential{nn::Dense(4, 2)}, loss::mean_squared_error, optim::SGD(), {.mode = Mode::eager});
  (void)numbers.evaluate({Tensor::zeros({DType::f32, {2, 4}}), Tensor::zeros({DType::f32, {2, 2}})});
  numbers.save(file("numbers.sinter"));
  EXPECT_THAT(sinter_with({"predict", file("numbers.sinter"), picture("rgb")}),
              Fails(failure, HasSubstr("numbers.sinter] does not take images of bytes: its samples are f32[4]; give it arrays with --data")));

  ASSERT_EQ(sinter_with(learning({"--epochs", "1"})).status, 0);
  Trainer trainer = Trainer::load(file("model.sinter"));
  for (const auto& [key, value, error] : {std::tuple{"image", "5,4", "damaged.sinter, entry 'image'] a shape is written [N,70], got '5,4'"},
                                          {"classes", "[", "the entry 'classes' is damaged ("},
                                          {"classes", "[\"a\"]", "the entry 'classes' has 1 names, but the model tells 2 classes apart"}}) {
    const std::string before = trainer.metadata(key);
    trainer.set_metadata(key, value);
    trainer.save(file("damaged.sinter"));
    EXPECT_THAT(sinter_with({"predict", file("damaged.sinter"), picture("rgb")}), Fails(failure, HasSubstr(error)));
    trainer.set_metadata(key, before);
  }

  const Arguments command = learning({});
  std::filesystem::remove_all(file("photos/rgb"));
  EXPECT_THAT(sinter_with(command), Fails(failure, HasSubstr("photos] has a single subfolder: with one class there is nothing to learn")));
}

}  // namespace
}  // namespace sinter::test::image_test
