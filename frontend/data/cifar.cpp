#include "frontend/data/cifar.h"

#include "frontend/data/byte_stream.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr std::size_t side = 32, pixels = side * side, channels = 3;

/// The number of labels before each image, of which the last counts.
std::size_t labels_of(int classes) {
  if (classes != 10 && classes != 100) throw UserError("CIFAR", str("there are 10 or 100 classes, got ", classes));
  return classes == 10 ? 1 : 2;
}

/// Appends the images of one file: records of the labels, then planes of red, green and blue.
void append(Images& to, const std::filesystem::path& path, int classes) {
  const std::size_t labels = labels_of(classes);
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

Images read(std::initializer_list<std::filesystem::path> files, int classes) {
  Images result;
  result.images.dtype = result.labels.dtype = DType::u8;
  for (const std::filesystem::path& file : files) append(result, file, classes);
  const auto count = static_cast<std::int64_t>(result.labels.bytes.size());
  if (count == 0) throw UserError(files.begin()->string(), "holds no images");
  result.images.shape = {count, side, side, channels};
  result.labels.shape = {count};
  return result;
}

}  // namespace

Images read_cifar(const std::filesystem::path& path, int classes) { return read({path}, classes); }

Cifar load_cifar(const std::filesystem::path& folder, int classes) {
  const auto in = [&](const char* name) { return folder / name; };
  if (labels_of(classes) == 1)
    return {read({in("data_batch_1.bin"), in("data_batch_2.bin"), in("data_batch_3.bin"), in("data_batch_4.bin"), in("data_batch_5.bin")}, classes),
            read({in("test_batch.bin")}, classes)};
  return {read({in("train.bin")}, classes), read({in("test.bin")}, classes)};
}

}  // namespace sinter::data
