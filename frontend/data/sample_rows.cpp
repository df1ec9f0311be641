#include "frontend/data/sample_rows.h"

#include "frontend/core/counted.h"
#include "frontend/core/finite.h"
#include "ir/error.h"

namespace sinter::data {

std::vector<float> samples_of(const std::string& where, const Tensor& x, std::int64_t width) {
  if (!x.defined()) throw UserError(where, "the samples were never set");
  if (x.is_traced() || x.rank() != 2 || x.dtype() != DType::f32)
    throw UserError(where, str("needs samples f32[samples, features], got ", x.type(), "; use reshape and cast, outside of steps"));
  if (x.elements() == 0) throw UserError(where, str("needs at least one sample and one feature, got ", x.type()));
  if (width && x.shape()[1].factor() != width) throw UserError(where, str("takes samples of ", counted(width, "feature"), ", got ", x.type()));
  if (const auto bad = first_non_finite(x))
    throw UserError(where, str("the samples have ", bad->value, " at ", place_text(x.shape(), bad->place),
                               "; leave such samples out or fill them in, as data::Encoder does"));
  return x.to_vector<float>();
}

void require_sizes(const std::string& where, std::span<const float> sample, std::span<float> result, std::int64_t in, std::int64_t out) {
  if (static_cast<std::int64_t>(sample.size()) != in || static_cast<std::int64_t>(result.size()) != out)
    throw UserError(where, str("makes ", counted(out, "number"), " of ", in, ", got ", sample.size(), " and room for ", result.size()));
}

std::vector<Spread> spreads_of(std::span<const float> samples, std::size_t width) {
  std::vector<Spread> spreads(width);
  for (std::size_t i = 0; i < samples.size(); i += width)
    for (std::size_t c = 0; c < width; ++c) spreads[c].add(static_cast<double>(samples[i + c]));
  return spreads;
}

Tensor results_of(const std::string& where, std::span<const float> results, std::int64_t samples, std::int64_t width) {
  const Tensor tensor(results, {samples, width});
  if (const auto bad = first_non_finite(tensor))
    throw UserError(where, str("gives ", bad->value, " at ", place_text(tensor.shape(), bad->place),
                               ", which is beyond f32: that sample is far from all that it learnt from"));
  return tensor;
}

}  // namespace sinter::data
