// Images of the data, with the truth and what the model says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/report/judgement.h"

namespace sinter::report {

struct ImageShape {
  std::size_t height = 0, width = 0, channels = 1;
};

/// The shape of the images that features are: the given one ({height, width} or {height, width, channels}), or that of [N, H, W], [N, H, W, 1] and
/// [N, H, W, 3] with at least 8 x 8 pixels; none for other features. Throws UserError if the given one does not fit.
std::optional<ImageShape> image_shape(const Tensor& features, const std::vector<std::int64_t>& given);

/// Some samples at even distances, and those with the greatest mistakes; for a reconstruction each beside it. Large images are shrunk.
std::string sample_images(const Judgement& judgement, const Tensor& features, const ImageShape& shape);

}  // namespace sinter::report
