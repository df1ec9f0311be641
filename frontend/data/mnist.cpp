#include "frontend/data/mnist.h"

#include <algorithm>

#include "frontend/data/idx.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

constexpr int classes = 10;

/// "train-images" and 3 → the file under one of its usual names.
std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name, int rank) {
  const std::string ending = str("idx", rank, "-ubyte");
  for (const char* separator : {"-", "."})
    for (const char* packed : {"", ".gz"}) {
      const std::filesystem::path path = folder / (name + separator + ending + packed);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path;
    }
  throw UserError(folder.string(),
                  str("has no file '", name, "-", ending, "' (with or without .gz); give the folder that holds the four IDX files of MNIST"));
}

struct Part {
  HostArray images, labels;
};

Part read_part(const std::filesystem::path& folder, const std::string& name) {
  const auto image_path = find_file(folder, name + "-images", 3), label_path = find_file(folder, name + "-labels", 1);
  Part part{read_idx(image_path), read_idx(label_path)};
  const auto require = [](const std::filesystem::path& path, const HostArray& array, std::size_t rank, const char* what) {
    if (array.dtype != DType::u8 || array.shape.size() != rank)
      throw UserError(path.string(), str(what, " are u8 with ", rank, " dimensions, got ", array.dtype, Shape::fixed(array.shape),
                                         "; check that the files are MNIST's"));
    if (array.elements() == 0)
      throw UserError(path.string(),
                      str("the data set is empty, got ", what, " of shape ", Shape::fixed(array.shape), "; give a file with at least one"));
  };
  require(image_path, part.images, 3, "images");
  require(label_path, part.labels, 1, "labels");
  if (part.images.shape[0] != part.labels.shape[0])
    throw UserError(label_path.string(), str("there must be one label per image, got ", part.labels.shape[0], " labels for ", part.images.shape[0],
                                             " images; take both files from one data set"));
  const auto labels = part.labels.values<std::uint8_t>();
  const auto wrong = std::find_if(labels.begin(), labels.end(), [](std::uint8_t label) { return label >= classes; });
  if (wrong != labels.end())
    throw UserError(label_path.string(), str("labels are 0 to ", classes - 1, ", got ", static_cast<int>(*wrong), " at position ",
                                             wrong - labels.begin(), "; the file is damaged or of another data set"));
  return part;
}

}  // namespace

Mnist load_mnist(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw UserError(folder.string(), "is no folder; give the folder that holds the four IDX files of MNIST");
  Part train = read_part(folder, "train"), test = read_part(folder, "t10k");
  if (!std::equal(train.images.shape.begin() + 1, train.images.shape.end(), test.images.shape.begin() + 1))
    throw UserError(folder.string(), str("training and test images must have one size, got ", Shape::fixed(train.images.shape), " and ",
                                         Shape::fixed(test.images.shape), "; take all files from one data set"));
  return {std::move(train.images), std::move(train.labels), std::move(test.images), std::move(test.labels)};
}

}  // namespace sinter::data
