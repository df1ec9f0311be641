#include "bench/published/rosetta_data.h"

#include <algorithm>
#include <filesystem>

#include "frontend/core/random.h"

namespace sinter::published {

namespace {

constexpr const char* how_to_unpack = "`python3 unpack.py OUT` in a folder of packed sets unpacks them";

/// The first of these files of --data that is there; empty if none is, or files are not wanted.
std::filesystem::path found(const RunSettings& settings, const std::vector<std::string>& files) {
  if (settings.generated || settings.data.empty()) return {};
  for (const std::string& file : files)
    if (const std::filesystem::path path = std::filesystem::path(settings.data) / file; std::filesystem::exists(path)) return path;
  return {};
}

std::string why_generated(const RunSettings& settings, const std::string& files) {
  if (settings.generated) return "(--generated)";
  return settings.data.empty() ? "since no folder was given (--data)" : str("since --data has no ", files, "; ", how_to_unpack);
}

std::vector<std::uint8_t> classes_of(std::int64_t samples, std::uint32_t classes, RandomStream& random) {
  std::vector<std::uint8_t> y(static_cast<std::size_t>(samples));
  for (std::uint8_t& label : y) label = static_cast<std::uint8_t>(random.below(classes));
  return y;
}

Dataset generated_images(std::int64_t samples, std::uint64_t stream) {
  RandomStream random(0, stream);
  const std::vector<std::uint8_t> y = classes_of(samples, 10, random);
  std::vector<std::uint8_t> x(y.size() * 3072);
  for (std::uint8_t& pixel : x) pixel = static_cast<std::uint8_t>(random.below(256));
  return {Tensor(x, {samples, 32, 32, 3}), Tensor(y, {samples}), 1.0f / 255};
}

Dataset generated_reviews(std::int64_t samples, std::uint64_t stream) {
  RandomStream random(0, stream);
  const std::vector<std::uint8_t> y = classes_of(samples, 2, random);
  std::vector<std::int32_t> x(y.size() * review_words);
  for (std::int32_t& word : x) word = static_cast<std::int32_t>(random.below(vocabulary));
  return {Tensor(x, {samples, review_words}), Tensor(y, {samples})};
}

Dataset read_reviews(const std::filesystem::path& folder, const std::string& set) {
  const std::string file = (folder / (set + "-x.npy")).string();
  const Tensor words = data::npy(file), labels = data::npy((folder / (set + "-y.npy")).string());
  const Type wanted{DType::i32, {labels.shape()[0].factor(), review_words}};
  if (words.type() != wanted) throw UserError(file, str("must be ", wanted, " for the labels beside it, but is ", words.type()));
  std::vector<std::int32_t> x = words.to_vector<std::int32_t>();
  const auto outside = std::find_if(x.begin(), x.end(), [](std::int32_t word) { return word < 0 || word >= vocabulary; });
  if (outside != x.end()) throw UserError(file, str("has the word number ", *outside, "; they must be in [0, ", vocabulary, ")"));
  for (auto row = x.begin(); row != x.end(); row += review_words)
    std::rotate(row, std::find_if(row, row + review_words, [](std::int32_t word) { return word != 0; }), row + review_words);
  return {Tensor(x, words.shape()), labels};
}

}  // namespace

Sets cifar(const RunSettings& settings, Report& report) {
  const std::filesystem::path file = found(settings, {"cifar10/data_batch_1.bin", "cifar-10-batches-bin/data_batch_1.bin"});
  if (!file.empty()) {
    report.remark("Images: CIFAR-10.");
    auto [train, test] = data::cifar10(file.parent_path().string());
    return {std::move(train), std::move(test), true};
  }
  report.remark(str("Images: generated, ", why_generated(settings, "cifar10/data_batch_1.bin"), "; only seconds mean something."));
  return {generated_images(6400, 110), generated_images(1280, 111)};
}

Sets reviews(const RunSettings& settings, Report& report) {
  const std::filesystem::path file = found(settings, {"imdb/train-x.npy"});
  if (!file.empty()) {
    report.remark("Reviews: IMDB, the last 150 words of each, padded at the end, of a vocabulary of 30,000.");
    return {read_reviews(file.parent_path(), "train"), read_reviews(file.parent_path(), "test"), true};
  }
  report.remark(str("Reviews: generated, ", why_generated(settings, "imdb/train-x.npy"), "; only seconds mean something."));
  return {generated_reviews(6400, 112), generated_reviews(1280, 113)};
}

}  // namespace sinter::published
