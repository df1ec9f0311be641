// Tells good reviews from bad ones with a GRU over their words. Without --data, reviews are made up in which the order of words matters.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <random>

using namespace sinter;

namespace {

struct Reviews {
  std::vector<std::string> texts;
  std::vector<std::int32_t> good;

  Tensor labels() const { return {good, {std::ssize(good)}}; }
};

/// A line each: 1 for good or 0 for bad, a tab, the text.
Reviews read_reviews(const std::string& file) {
  const data::Table table = data::read_csv(file, {.delimiter = '\t', .quotes = false, .names = {"label", "text"}});
  Reviews reviews;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view label = table.field(row, 0);
    if (label != "0" && label != "1") throw UserError(file, "line " + std::to_string(table.line(row)) + " must be 0 or 1, a tab and a text");
    reviews.texts.emplace_back(table.field(row, 1));
    reviews.good.push_back(label == "1");
  }
  return reviews;
}

/// Sentences of filler and a few judgements, each of which a "not" before it turns around; the last one counts.
Reviews made_up(std::int64_t count, unsigned seed_value) {
  std::mt19937 random(seed_value);
  const std::vector<std::string> filler{"the", "film", "was", "with", "actors", "a", "story", "of", "music", "and", "scenes"};
  const std::vector<std::string> praise{"great", "wonderful", "moving"}, blame{"dull", "awful", "boring"};
  Reviews reviews;
  for (std::int64_t i = 0; i < count; ++i) {
    std::string text;
    std::int32_t good = 0;
    for (int judgement = 0; judgement < 2; ++judgement) {
      for (unsigned k = random() % 6; k > 0; --k) text += filler[random() % filler.size()] + " ";
      good = random() % 2;
      const bool turned = random() % 2;
      text += (turned ? "not " : "") + ((good == 1) != turned ? praise : blame)[random() % 3] + ", ";
    }
    reviews.texts.push_back(text);
    reviews.good.push_back(good);
  }
  return reviews;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder, mode = "graph";
  std::int64_t epochs = 3, batch = 64;
  CLI::App app{"Tells good reviews from bad ones with a GRU"};
  app.add_option("--data", folder, "folder with train.tsv and test.tsv, lines of 0 or 1, a tab and a text")->check(CLI::ExistingDirectory);
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--batch", batch)->capture_default_str()->check(CLI::Range(1, 100000));
  app.add_option("--mode", mode, "eager or graph")->capture_default_str()->check(CLI::IsMember({"eager", "graph"}));
  CLI11_PARSE(app, argc, argv);
  try {
    const bool real = !folder.empty();
    const Reviews train = real ? read_reviews(folder + "/train.tsv") : made_up(2000, 1),
                  test = real ? read_reviews(folder + "/test.tsv") : made_up(500, 2);
    const data::Vocabulary vocabulary = data::Vocabulary::fit(train.texts, {.most_words = 30000, .start = true, .longest = 150, .keep = Keep::last});
    const Dataset learned{vocabulary.encode_all(train.texts), train.labels()}, judged{vocabulary.encode_all(test.texts), test.labels()};
    std::printf("%zu reviews to learn from, %zu to be judged, %zu words\n", train.texts.size(), test.texts.size(), vocabulary.words().size());

    seed(1);
    const std::int64_t features = real ? 125 : 12, units = real ? 100 : 16;
    nn::Sequential model{nn::Embedding(vocabulary.size(), features), nn::GRU(features, units), nn::Dense(units, 2)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = real ? 1e-3 : 1e-2}),
                    {.mode = mode == "eager" ? Mode::eager : Mode::graph});
    double seconds = 0;
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      for (const EpochResult& result : trainer.fit(learned, {.epochs = 1, .batch_size = batch, .verbose = false})) seconds += result.seconds;
      std::printf("epoch %lld: %.1f s, test accuracy %.2f %%\n", static_cast<long long>(epoch), seconds, *trainer.evaluate(judged).accuracy * 100);
      std::fflush(stdout);
    }
    trainer.set_vocabulary(vocabulary);
    const std::string review = "the music was not dull";
    std::printf("\"%s\": good with a probability of %.2f\n", review.c_str(), softmax(trainer.predict_text(review)).to_vector<float>()[1]);
    return 0;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
