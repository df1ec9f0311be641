// Tells good reviews from bad ones with a GRU over their words. Without --data, reviews are made up in which the order of words matters.
#include <sinter/sinter.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <unordered_map>

using namespace sinter;

namespace {

struct Review {
  std::vector<std::string> words;
  std::int32_t good;
};
using Reviews = std::vector<Review>;

/// Letters, digits and apostrophes are words, in lower case; all else is between them.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false, tag = false;
  for (const char raw : text) {
    if (raw == '<' || raw == '>') tag = raw == '<';
    const char c = raw >= 'A' && raw <= 'Z' ? static_cast<char>(raw - 'A' + 'a') : raw;
    const bool letter = !tag && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '\'');
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += c;
    inside = letter;
  }
  return words;
}

/// A line each: 1 for good or 0 for bad, a tab, the text.
Reviews read_reviews(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UserError(file, "cannot be read; give --data a folder with train.tsv and test.tsv");
  Reviews reviews;
  for (std::string line; std::getline(in, line);) {
    if (line.size() < 2 || (line[0] != '0' && line[0] != '1') || line[1] != '\t')
      throw UserError(file, "line " + std::to_string(reviews.size() + 1) + " must be 0 or 1, a tab and a text");
    reviews.push_back({words_of(line.substr(2)), line[0] - '0'});
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
    Review review{{}, 0};
    for (int judgement = 0; judgement < 2; ++judgement) {
      for (unsigned k = random() % 6; k > 0; --k) review.words.push_back(filler[random() % filler.size()]);
      const bool good = random() % 2, turned = random() % 2;
      if (turned) review.words.emplace_back("not");
      review.words.push_back((good != turned ? praise : blame)[random() % 3]);
      review.good = good;
    }
    reviews.push_back(std::move(review));
  }
  return reviews;
}

/// Numbers of words, by falling frequency: 0 is padding, 1 the beginning of a review, 2 a word that is not among the most frequent.
std::unordered_map<std::string, std::int32_t> number_words(const Reviews& reviews, std::size_t vocabulary) {
  std::map<std::string, std::int64_t> counts;
  for (const Review& review : reviews)
    for (const std::string& word : review.words) ++counts[word];
  std::vector<std::pair<std::int64_t, std::string>> by_count;
  for (const auto& [word, count] : counts) by_count.emplace_back(-count, word);
  std::sort(by_count.begin(), by_count.end());
  std::unordered_map<std::string, std::int32_t> numbers;
  for (std::size_t i = 0; i < std::min(by_count.size(), vocabulary - 3); ++i) numbers[by_count[i].second] = static_cast<std::int32_t>(i + 3);
  return numbers;
}

/// The last `length` words of each review, padded before.
Dataset numbered(const Reviews& reviews, const std::unordered_map<std::string, std::int32_t>& numbers, std::size_t length) {
  std::vector<std::int32_t> x, y;
  for (const Review& review : reviews) {
    std::vector<std::int32_t> ids{1};
    for (const std::string& word : review.words) {
      const auto known = numbers.find(word);
      ids.push_back(known == numbers.end() ? 2 : known->second);
    }
    const std::size_t kept = std::min(ids.size(), length);
    x.insert(x.end(), length - kept, 0);
    x.insert(x.end(), ids.end() - static_cast<std::ptrdiff_t>(kept), ids.end());
    y.push_back(review.good);
  }
  const auto count = static_cast<std::int64_t>(reviews.size());
  return {Tensor(x, {count, static_cast<std::int64_t>(length)}), Tensor(y, {count})};
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
    const std::size_t vocabulary = real ? 30000 : 24, length = real ? 150 : 16;
    const Reviews train = real ? read_reviews(folder + "/train.tsv") : made_up(2000, 1),
                  test = real ? read_reviews(folder + "/test.tsv") : made_up(500, 2);
    const auto numbers = number_words(train, vocabulary);
    const Dataset learned = numbered(train, numbers, length), judged = numbered(test, numbers, length);
    std::printf("%zu reviews to learn from, %zu to be judged, %zu words\n", train.size(), test.size(), numbers.size());

    seed(1);
    const std::int64_t features = real ? 125 : 12, units = real ? 100 : 16;
    nn::Sequential model{nn::Embedding(static_cast<std::int64_t>(vocabulary), features, {.mask_zero = true}), nn::GRU(features, units),
                         nn::Dense(units, 2)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = real ? 1e-3 : 1e-2}),
                    {.mode = mode == "eager" ? Mode::eager : Mode::graph, .metrics = {metric::accuracy()}});
    double seconds = 0;
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      for (const EpochResult& result : trainer.fit(learned, {.epochs = 1, .batch_size = batch, .verbose = false})) seconds += result.seconds;
      std::printf("epoch %lld: %.1f s, test accuracy %.2f %%\n", static_cast<long long>(epoch), seconds,
                  trainer.evaluate(judged).metrics[0].second * 100);
      std::fflush(stdout);
    }
    return 0;
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
