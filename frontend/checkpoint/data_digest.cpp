#include "frontend/checkpoint/data_digest.h"

#include <algorithm>
#include <bit>

#include "runtime/file/digest.h"

namespace sinter {

namespace {

constexpr std::int64_t most_samples_read = 4096, most_bytes = std::int64_t{32} << 20;

void add_number(runtime::Digest& digest, std::uint64_t number) { digest.add(std::as_bytes(std::span(&number, 1))); }

void add(runtime::Digest& digest, const Tensor& tensor) {
  add_number(digest, tensor.defined());
  if (!tensor.defined()) return;
  const std::string type = str(tensor.type());
  digest.add(std::as_bytes(std::span(type)));
  const Layout at = tensor.view().layout();
  const std::int64_t samples = tensor.shape()[0].factor(), element = static_cast<std::int64_t>(size_of(tensor.dtype()));
  const bool flat = tensor.rank() == 1;
  const std::int64_t rows = flat ? 1 : at.rows / samples, row_bytes = (flat ? 1 : at.cols) * element, stride = (flat ? 1 : at.stride) * element;
  const std::int64_t count =
      std::clamp(most_bytes / std::max<std::int64_t>(1, rows * row_bytes), std::int64_t{1}, std::min(samples, most_samples_read));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t sample = count == 1 ? 0 : i * (samples - 1) / (count - 1);  // the first, the last and what lies between
    const std::byte* first = tensor.buffer().data() + sample * rows * stride;
    for (std::int64_t row = 0; row < rows; ++row) digest.add({first + row * stride, static_cast<std::size_t>(row_bytes)});
  }
}

}  // namespace

std::vector<double> digest_of(const Dataset& data) {
  runtime::Digest digest;
  for (const Columns* list : {&data.x, &data.y}) {
    add_number(digest, list->size());
    for (const Column& column : *list) {
      add(digest, column.values());
      if (column.has_sequences()) digest.add(std::as_bytes(column.sequences().offsets()));
    }
  }
  add(digest, data.weights);
  add_number(digest, std::bit_cast<std::uint32_t>(data.scale));
  std::vector<double> result;
  for (const std::uint64_t half : digest.value())
    result.insert(result.end(), {static_cast<double>(half >> 32), static_cast<double>(half & 0xffffffffu)});
  return result;
}

}  // namespace sinter
