#include "frontend/report/sample_images.h"

#include <algorithm>
#include <cmath>

#include "frontend/core/ops.h"
#include "frontend/report/markup.h"
#include "frontend/report/parts.h"
#include "frontend/report/png.h"
#include "frontend/report/regression.h"
#include "frontend/train/metric_rules.h"

namespace sinter::report {

namespace {

constexpr std::size_t most_shown = 12, longest_side = 96, least_side = 8;

/// What is black, and what is white. NaN is black.
struct Levels {
  double low, high;
  std::uint8_t of(double x) const {
    const double part = (x - low) / (high - low);
    return part > 0 ? static_cast<std::uint8_t>(std::lround(std::min(part, 1.0) * 255)) : std::uint8_t{0};
  }
};

Levels levels_of(std::span<const std::vector<double>> images) {
  double low = 0, high = 0;
  for (const std::vector<double>& image : images)
    for (const double x : image) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  if (low >= 0) return {0, high <= 1 ? 1.0 : high <= 255 ? 255.0 : high};
  return low >= -1 && high <= 1 ? Levels{-1, 1} : Levels{low, high};
}

/// An image as an element of the page: blocks of pixels become their mean if it is large, and pixels become blocks if it is small.
std::string picture(const std::vector<double>& numbers, const ImageShape& shape, const Levels& levels, const std::string& name) {
  const std::size_t side = std::max(shape.height, shape.width), block = (side + longest_side - 1) / longest_side;
  const std::size_t height = (shape.height + block - 1) / block, width = (shape.width + block - 1) / block;
  std::vector<std::uint8_t> pixels;
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < shape.channels; ++c) {
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t yy = y * block; yy < std::min((y + 1) * block, shape.height); ++yy)
          for (std::size_t xx = x * block; xx < std::min((x + 1) * block, shape.width); ++xx, ++count)
            sum += numbers[(yy * shape.width + xx) * shape.channels + c];
        pixels.push_back(levels.of(sum / static_cast<double>(count)));
      }
  const std::size_t zoom = std::max<std::size_t>(1, longest_side / std::max(height, width));
  return str("<img src=\"", png_uri(pixels, height, width, shape.channels), "\" alt=\"", escaped(name), "\" width=\"", width * zoom, "\" height=\"",
             height * zoom, "\"/>");
}

std::size_t wrong_answers(const Judgement& j, std::size_t sample) {
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < j.width; ++k) wrong += !j.right(sample * j.width + k);
  return wrong;
}

/// How bad the worst answer on a sample is; infinite for NaN.
double badness(const Judgement& j, std::size_t sample) {
  double worst = 0;
  if (j.kind == Judgement::Kind::classes)
    for (std::size_t k = 0; k < j.width; ++k)
      worst = std::max(worst, 1 - (std::isnan(j.p_truth[sample * j.width + k]) ? -INFINITY : j.p_truth[sample * j.width + k]));
  else worst = squared_error(j, sample);
  return std::isnan(worst) ? INFINITY : worst;
}

std::vector<std::size_t> worst_samples(const Judgement& j) {
  std::vector<std::pair<double, std::size_t>> mistakes;
  for (std::size_t i = 0; i < j.samples; ++i)
    if (j.kind != Judgement::Kind::classes || wrong_answers(j, i)) mistakes.emplace_back(-badness(j, i), i);
  std::sort(mistakes.begin(), mistakes.end());
  std::vector<std::size_t> worst;
  for (std::size_t k = 0; k < std::min(most_shown, mistakes.size()); ++k) worst.push_back(mistakes[k].second);
  return worst;
}

std::vector<std::size_t> even_samples(const Judgement& j) {
  const std::size_t count = std::min(most_shown, j.samples);
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < count; ++k) chosen.push_back(k * j.samples / count);
  return chosen;
}

/// What the model says of a sample, and the truth.
std::string answer(const Judgement& j, std::size_t sample) {
  const auto said = [](bool right, const std::string& text) { return str("<b class=\"", right ? "right" : "wrong", "\">", escaped(text), "</b>"); };
  if (j.kind == Judgement::Kind::reconstruction) return str("error ", significant(squared_error(j, sample), 3));
  if (j.kind == Judgement::Kind::numbers) {
    if (j.width > 1) return str("RMSE ", escaped(with_unit(std::sqrt(squared_error(j, sample)), j.names.unit, 3)));
    return str("<b>", escaped(with_unit(j.predicted[sample], j.names.unit)), "</b><br/>true: ", escaped(with_unit(j.target[sample], j.names.unit)));
  }
  const std::size_t wrong = wrong_answers(j, sample);
  if (j.width > 1) return said(wrong == 0, str(wrong, " of ", j.width, " wrong"));
  const std::string sure = std::isnan(j.p_said[sample]) ? "" : " " + fixed(100 * j.p_said[sample], 0) + " %";
  return said(wrong == 0, shortened(j.class_name(j.said[sample]), 16)) + sure +
         (wrong ? "<br/>true: " + escaped(shortened(j.class_name(j.truth[sample]), 16)) : "");
}

}  // namespace

std::optional<ImageShape> image_shape(const Tensor& features, const std::vector<std::int64_t>& given) {
  const auto side = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::int64_t numbers = features.elements() / features.shape()[0].factor();
  if (!given.empty()) {
    const std::int64_t channels = given.size() == 3 ? given[2] : 1;
    if (given.size() > 3 || given.size() < 2 || given[0] < 1 || given[1] < 1 || (channels != 1 && channels != 3))
      throw UserError("report", "Options::image must be {height, width} or {height, width, channels} with 1 or 3 channels");
    if (numbers % given[0] || numbers / given[0] % given[1] || numbers / given[0] / given[1] != channels)
      throw UserError("report", str("Options::image has ", given[0], " x ", given[1], " pixels with ", channels,
                                    channels == 1 ? " number" : " numbers", " each, but a sample has ", numbers, " numbers"));
    return ImageShape{side(given[0]), side(given[1]), side(channels)};
  }
  if (features.rank() < 3 || features.rank() > 4 || (features.dtype() != DType::f32 && features.dtype() != DType::u8)) return std::nullopt;
  const std::int64_t height = features.dim(1).factor(), width = features.dim(2).factor(),
                     channels = features.rank() == 4 ? features.dim(3).factor() : 1;
  if (side(height) < least_side || side(width) < least_side || (channels != 1 && channels != 3)) return std::nullopt;
  return ImageShape{side(height), side(width), side(channels)};
}

std::string sample_images(const Judgement& judgement, const Tensor& features, const ImageShape& shape) {
  const bool pairs = judgement.kind == Judgement::Kind::reconstruction;
  const auto numbers_of = [&](std::size_t sample) {
    const auto first = static_cast<std::int64_t>(sample);
    if (!pairs) return metric::as_doubles(slice(features, 0, first, first + 1));
    const auto begin = judgement.target.begin() + static_cast<std::ptrdiff_t>(sample * judgement.width);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(judgement.width));
  };
  const auto group = [&](const char* id, const std::string& title, const std::vector<std::size_t>& samples) {
    std::vector<std::vector<double>> images;
    for (const std::size_t i : samples) images.push_back(numbers_of(i));
    const Levels levels = features.dtype() == DType::u8 && !pairs ? Levels{0, 255} : levels_of(images);
    std::string out = str("<h3>", title, "</h3>\n<div class=\"pictures\" id=\"", id, "\">\n");
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const std::string name = str("sample ", samples[k]);
      out += "<figure>" + picture(images[k], shape, levels, name);
      if (pairs) {
        const auto begin = judgement.predicted.begin() + static_cast<std::ptrdiff_t>(samples[k] * judgement.width);
        out += picture(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(judgement.width)), shape, levels, name + ", reconstructed");
      }
      out += str("<figcaption>", answer(judgement, samples[k]), "<br/><span class=\"soft\">", name, "</span></figcaption></figure>\n");
    }
    return out + "</div>\n";
  };
  std::string out = group("samples", "Samples", even_samples(judgement));
  const std::vector<std::size_t> worst = worst_samples(judgement);
  if (worst.empty()) out += paragraph("There are no mistakes among these samples.");
  else out += group("mistakes", judgement.kind == Judgement::Kind::classes ? "Worst mistakes" : "Greatest errors", worst);
  if (std::max(shape.height, shape.width) > longest_side) out += paragraph("Images are shrunk; each pixel is the mean of a block.");
  return out;
}

}  // namespace sinter::report
