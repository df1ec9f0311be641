#include <filesystem>

#include "bench/published/published.h"
#include "frontend/core/random.h"

namespace sinter::published {

namespace {

constexpr const char* fashion_mnist = "/usr/share/datasets/fashion-mnist";  // of the package dataset-fashion-mnist

/// Images of ten classes: blocks of pixels that are bright for a class, under noise.
Dataset generated(std::int64_t samples, std::uint64_t stream) {
  RandomStream random(0, stream);
  std::vector<std::uint8_t> x(static_cast<std::size_t>(samples) * 784), y(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<std::uint8_t>(random.below(10));
    for (std::size_t p = 0; p < 784; ++p)
      x[i * 784 + p] = static_cast<std::uint8_t>(random.below(128) + (p / 56 % 10 == y[i] || p % 28 / 3 == y[i] ? 96 : 0));
  }
  return {Tensor(x, {samples, 784}), Tensor(y, {samples}), 1.0f / 255};
}

}  // namespace

Images mnist(const RunSettings& settings, Report& report) {
  const auto read = [](const std::filesystem::path& folder, bool is_mnist) {
    auto [train, test] = data::mnist(folder.string());
    return Images{std::move(train), std::move(test), is_mnist};
  };
  if (!settings.generated) {
    const std::filesystem::path folder = std::filesystem::path(settings.data) / "mnist";
    const bool is_there = !settings.data.empty() && std::filesystem::is_directory(folder);
    if (is_there) return report.remark("Images: MNIST."), read(folder, true);
    const std::string missing = settings.data.empty() ? "no folder was given (--data)" : "there is no folder mnist in --data";
    if (std::filesystem::is_directory(fashion_mnist)) {
      report.remark(
          str("Images: Debian's Fashion-MNIST in place of MNIST, since ", missing, "; so no accuracy is asserted, and none equals the article's."));
      return read(fashion_mnist, false);
    }
    report.remark(str("Images: generated, since ", missing, " and Debian's Fashion-MNIST is not installed; accuracies mean nothing."));
  } else {
    report.remark("Images: generated (--generated); accuracies mean nothing.");
  }
  const std::int64_t thousands = settings.quick ? 1 : 10;
  report.remark(str("Generated images: ", 6000 * thousands, " for training and ", 1000 * thousands, " for the test."));
  return {generated(6000 * thousands, 100), generated(1000 * thousands, 101)};
}

}  // namespace sinter::published
