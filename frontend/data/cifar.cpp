#include "frontend/data/cifar.h"

#include "frontend/data/byte_stream.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::size_t side = 32, pixels = side * side, channels = 3;

/// Appends the images of one file: records of `labels` label bytes, of which the last counts, then planes of red, green and blue.
void append(Images& to, const std::filesystem::path& path, std::size_t labels, int classes) {
  ByteStream stream(path);
  std::vector<std::byte> record(labels + pixels * channels);
  for (;;) {
    const std::size_t got = stream.read(record);
    if (got == 0) return;
    if (got != record.size()) stream.fail(str("must hold whole images of ", record.size(), " bytes, but ", got, " are left at its end"));
    const std::byte label = record[labels - 1];
    if (static_cast<int>(label) >= classes)
      stream.fail(str("labels are 0 to ", classes - 1, ", got ", static_cast<int>(label), "; the file is damaged or of another data set"));
    to.labels.bytes.push_back(label);
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels; ++c) to.images.bytes.push_back(record[labels + c * pixels + p]);
  }
}

Images read(const std::filesystem::path& folder, const std::vector<std::string>& files, std::size_t labels, int classes) {
  Images result;
  result.images.dtype = result.labels.dtype = DType::u8;
  for (const std::string& file : files) append(result, folder / file, labels, classes);
  const auto count = static_cast<std::int64_t>(result.labels.bytes.size());
  if (count == 0) throw UserError((folder / files.front()).string(), "holds no images");
  result.images.shape = {count, side, side, channels};
  result.labels.shape = {count};
  return result;
}

}  // namespace

Cifar load_cifar(const std::filesystem::path& folder, int classes) {
  if (classes == 10)
    return {read(folder, {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}, 1, 10),
            read(folder, {"test_batch.bin"}, 1, 10)};
  if (classes == 100) return {read(folder, {"train.bin"}, 2, 100), read(folder, {"test.bin"}, 2, 100)};
  throw UserError("CIFAR", str("there are 10 or 100 classes, got ", classes));
}

}  // namespace sinter::data
