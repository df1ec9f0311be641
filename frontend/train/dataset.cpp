#include "frontend/train/dataset.h"

#include <algorithm>
#include <array>
#include <span>

#include "frontend/core/finite.h"
#include "frontend/core/ops.h"
#include "frontend/data/cifar.h"
#include "frontend/data/idx.h"
#include "frontend/data/mnist.h"
#include "frontend/data/npy.h"
#include "frontend/train/row_numbers.h"
#include "runtime/file/disk.h"

namespace sinter {

namespace {

/// "x" for a single one, else "x 2".
std::string label(const char* what, const Columns& list, std::size_t i) { return list.size() == 1 ? what : str(what, " ", i + 1); }

void check_types(const char* where, const char* what, const Columns& list, std::int64_t samples) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].defined()) throw UserError(where, str(label(what, list, i), " was never set"));
    const Type type = list[i].type();
    if (type.shape.rank() < 1 || type.shape[0].factor() == 0)
      throw UserError(where, str("the data set is empty: ", label(what, list, i), " is ", type));
    if (list[i].has_sequences() && list[i].sequences().steps() == 0)
      throw UserError(where, str("the data set is empty: all sequences of ", label(what, list, i), " have no steps"));
    if (type.shape[0].factor() != samples)
      throw UserError(where, str("x has ", samples, " samples but ", label(what, list, i), " has ", type.shape[0]));
  }
}

void check_numbers(const char* where, const std::string& what, const Tensor& tensor) {
  if (tensor.dtype() != DType::f32) return;
  if (const std::optional<NonFinite> bad = first_non_finite(tensor))
    throw UserError(where, str(what, " has ", bad->value, " at ", place_text(tensor.shape(), bad->place),
                               ", sample number first; leave such samples out or fill them in, as data::Encoder does"));
}

}  // namespace

void Dataset::check(const char* where) const {
  if (x.empty() || y.empty()) throw UserError(where, "the data set has no x or no y");
  require_row_numbers(where, size());
  check_types(where, "x", x, size());
  check_types(where, "y", y, size());
  for (const Column& t : x)
    if (t.dtype() == DType::boolean) throw UserError(where, str("features must be f32, u8, i32 or u32, got ", t.type(), "; convert them with cast"));
  if (weights.defined() && (weights.dtype() != DType::f32 || weights.rank() != 1 || weights.shape()[0] != Dim(size())))
    throw UserError(where, str("weights must be f32[", size(), "], one per sample, got ", weights.type()));
}

void Dataset::check_finite(const char* where) const {
  for (std::size_t i = 0; i < x.size(); ++i) check_numbers(where, label("x", x, i), x[i].values());
  for (std::size_t i = 0; i < y.size(); ++i) check_numbers(where, label("y", y, i), y[i].values());
  if (weights.defined()) check_numbers(where, "weights", weights);
}

Dataset Dataset::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin >= end || end > size())
    throw UserError("Dataset::slice", str("samples [", begin, ", ", end, ") of ", size(), " are empty or out of range"));
  const auto part = [&](const Columns& list) {
    std::vector<Column> parts;
    for (const Column& column : list) parts.push_back(column.slice(begin, end));
    return Columns(std::move(parts));
  };
  return {part(x), part(y), scale, weights.defined() ? sinter::slice(weights, 0, begin, end) : weights};
}

Dataset Dataset::select(std::span<const std::size_t> samples) const {
  constexpr const char* where = "Dataset::select";
  if (samples.empty()) throw UserError(where, "needs the number of at least one sample");
  require_row_numbers(where, size());
  std::vector<std::int32_t> numbers;
  for (const std::size_t sample : samples) {
    if (static_cast<std::int64_t>(sample) >= size()) throw UserError(where, str("sample ", sample, " is outside of [0, ", size(), ")"));
    numbers.push_back(static_cast<std::int32_t>(sample));
  }
  const Tensor rows(numbers, {static_cast<std::int64_t>(numbers.size())});
  const auto part = [&](const Columns& list) {
    std::vector<Column> parts;
    for (const Column& column : list) parts.push_back(column.select(numbers));
    return Columns(std::move(parts));
  };
  return {part(x), part(y), scale, weights.defined() ? gather_rows(weights, rows) : weights};
}

namespace data {

bool are_class_numbers(const Type& targets) { return (is_index(targets.dtype) || targets.dtype == DType::boolean) && targets.shape.rank() == 1; }

std::vector<double> balanced_class_weights(const Tensor& y, std::int64_t classes) {
  if (!are_class_numbers(y.type())) throw UserError("class weights", str("targets must be class numbers [samples], got ", y.type()));
  std::vector<double> counts(static_cast<std::size_t>(std::max<std::int64_t>(0, classes)));
  for (const std::int32_t c : cast(y, DType::i32).to_vector<std::int32_t>()) {
    if (c < 0 || c >= classes) throw UserError("class weights", str("class ", c, " is outside [0, ", classes, ")"));
    ++counts[static_cast<std::size_t>(c)];
  }
  const auto present = static_cast<double>(std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; }));
  for (double& count : counts) count = count > 0 ? static_cast<double>(y.elements()) / (present * count) : 1;
  return counts;
}

namespace {

Tensor to_tensor(const HostArray& array) { return Tensor::from_bytes({array.dtype, Shape::fixed(array.shape)}, array.bytes.data()); }

/// Images [n, rows, cols] as [n, rows · cols].
Tensor flat(const HostArray& images) {
  std::int64_t pixels = 1;
  for (std::size_t i = 1; i < images.shape.size(); ++i) pixels *= images.shape[i];
  return Tensor::from_bytes({images.dtype, Shape{images.shape[0], pixels}}, images.bytes.data());
}

}  // namespace

std::pair<Dataset, Dataset> mnist(const std::string& folder) {
  const Mnist files = load_mnist(folder);
  constexpr float scale = 1.0f / 255;
  return {{flat(files.train_images), to_tensor(files.train_labels), scale}, {flat(files.test_images), to_tensor(files.test_labels), scale}};
}

namespace {
std::pair<Dataset, Dataset> cifar(const std::string& folder, int classes) {
  const Cifar files = load_cifar(folder, classes);
  const auto part = [](const Images& images) { return Dataset{to_tensor(images.images), to_tensor(images.labels), 1.0f / 255}; };
  return {part(files.train), part(files.test)};
}
}  // namespace

std::pair<Dataset, Dataset> cifar10(const std::string& folder) { return cifar(folder, 10); }
std::pair<Dataset, Dataset> cifar100(const std::string& folder) { return cifar(folder, 100); }

Tensor npy(const std::string& path) { return to_tensor(read_npy(path)); }

namespace {
enum class FileKind { npy, idx, other };

FileKind kind_of(const std::string& path) {
  const runtime::InputFile file(path);
  std::array<char, 2> first{};
  if (file.size() < first.size()) throw UserError(path, str("has ", file.size(), " bytes, too few for data"));
  file.read(0, std::as_writable_bytes(std::span(first)));
  if (first == std::array{'\x93', 'N'}) return FileKind::npy;
  return first == std::array{'\0', '\0'} || first == std::array{'\x1f', '\x8b'} ? FileKind::idx : FileKind::other;  // plain or gzip'd
}
}  // namespace

Tensor array(const std::string& path) { return to_tensor(kind_of(path) == FileKind::npy ? read_npy(path) : read_idx(path)); }

bool is_table(const std::string& path) { return kind_of(path) == FileKind::other; }

}  // namespace data
}  // namespace sinter
