// Arrays and images as the model of a file reads them.
#include <sinter/graph.h>

#include <algorithm>
#include <filesystem>

#include "cli/model.h"
#include "cli/reading_kinds.h"
#include "cli/task.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

/// Samples [n, ...] of this shape.
Tensor in_shape(const Tensor& samples, const Shape& sample) {
  const Shape shape = sample.insert(0, extent(samples, 0));
  return reshape(samples, {shape.begin(), shape.end()});
}

/// The targets of samples, if they are of the kind that the model predicts.
Tensor checked_truth(const Tensor& truth, const std::string& path, std::int64_t samples, const Reading& reading, std::int64_t outputs) {
  const bool classes = !reading.classes.empty();
  if (extent(truth, 0) != samples)
    throw UserError(path, str("has ", counted(extent(truth, 0), "target"), ", but the data has ", counted(samples, "sample"), "; give one for each"));
  if (classes != is_index(truth.dtype()) || (!classes && extent(truth, 1) != outputs))
    throw UserError(path, str("has targets ", truth.type(), ", but the model predicts ",
                              classes ? "class numbers" : str(counted(outputs, "number"), " per sample")));
  return truth;
}

/// Images [n, height, width, channels] as a model takes them that was trained on images.
class ImageSamples {
 public:
  ImageSamples(Trainer& trainer, const std::string& model) : sample_(sample_of(trainer, model)) {
    const Type input = trainer.predict_step().traced_graph().inputs()[0].type;
    image_ = trainer.has_metadata("image") ? at(str(model, ", entry 'image'"), [&] { return parse_shape(trainer.metadata("image")); }) : sample_;
    if (image_.rank() == 2) image_ = image_.insert(2, 1);
    const bool fits = image_.rank() == 3 && (image_[2] == Dim(1) || image_[2] == Dim(3)) && image_.elements() == sample_.elements();
    if (!fits || input.dtype != DType::u8)
      throw UserError(model, str("does not take images of bytes: its samples are ", Type{input.dtype, sample_}, "; give it arrays with --data"));
  }

  int channels() const { return static_cast<int>(image_[2].factor()); }
  /// Throws UserError `[path] …` for images of another size.
  Tensor of(const Tensor& images, const std::string& path) const {
    if (images.dim(1) != image_[0] || images.dim(2) != image_[1])
      throw UserError(path, str("has ", extent(images, 1), " × ", extent(images, 2), " pixels, but the model takes ", image_[0], " × ", image_[1],
                                "; make it of this size"));
    return in_shape(images, sample_);
  }

 private:
  Shape sample_, image_;
};

/// Images one after the other.
Tensor images_for(Trainer& trainer, const ReadingSettings& s) {
  const ImageSamples samples(trainer, s.model);
  std::vector<Tensor> all;
  for (const std::string& path : s.images) {
    const Tensor read = data::image(path, samples.channels()), dark = s.invert ? cast(255 - cast(read, DType::i32), DType::u8) : read;
    all.push_back(samples.of(reshape(dark, {1, read.dim(0), read.dim(1), read.dim(2)}), path));
  }
  return concat(all, 0);
}

/// The classes of a folder's images by the model's numbers, which the names of its subfolders tell.
Tensor truth_of_images(const data::ImageFolder& read, const std::vector<std::string>& classes, const std::string& folder) {
  std::vector<std::int32_t> numbers, truth;
  for (const std::string& name : read.classes) {
    const auto known = std::find(classes.begin(), classes.end(), name);
    if (known == classes.end())
      throw UserError(folder, str("has a subfolder '", name, "', which is none of the model's classes", nearest_hint(name, classes)));
    numbers.push_back(static_cast<std::int32_t>(known - classes.begin()));
  }
  for (const std::int32_t number : cast(read.data.y[0], DType::i32).to_vector<std::int32_t>())
    truth.push_back(numbers[static_cast<std::size_t>(number)]);
  return {truth, {read.data.size()}};
}

/// A folder with a subfolder of images per class.
Reading read_image_folder_for(Trainer& trainer, const ReadingSettings& s) {
  const ImageSamples samples(trainer, s.model);
  const data::ImageFolder read = data::image_folder(s.data, samples.channels());
  Reading result = of_outputs(trainer, s.model, outputs_of(trainer, s.model));
  result.x = samples.of(read.data.x[0], s.data);
  if (!result.classes.empty()) result.truth = truth_of_images(read, result.classes, s.data);
  return result;
}

}  // namespace

Reading read_arrays_for(Trainer& trainer, const ReadingSettings& s) {
  if (!s.texts.empty()) throw UserError("--text", str("is for models of texts, but ", s.model, " reads none"));
  const std::int64_t outputs = outputs_of(trainer, s.model);
  Reading result = of_outputs(trainer, s.model, outputs);
  if (!s.images.empty()) {
    result.x = images_for(trainer, s);
    return result;
  }
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(s.data, error);
  if (!s.labels.empty() && (is_folder || result.is_self))
    throw UserError("--labels", is_folder ? str("is for .npy or IDX samples; ", s.data, " has the classes of its images itself")
                                          : str("is for models that predict, but ", s.model, " reproduces its samples"));
  if (is_folder && has_subfolders(s.data)) return read_image_folder_for(trainer, s);
  if (!is_folder && data::is_table(s.data))
    throw UserError(s.data, "seems to be a table, but the model was trained on arrays; give samples as .npy or IDX");
  const Shape sample = sample_of(trainer, s.model);
  const std::optional<Dataset> test = is_folder ? std::optional(data::mnist(s.data).second) : std::nullopt;
  const Tensor read = test ? test->x[0].array() : samples_of(s.data);
  if (const std::int64_t numbers = sample.elements().factor(); extent(read, 1) != numbers)
    throw UserError(s.data, str("has ", counted(extent(read, 1), "number"), " per sample, but the model takes ", numbers));
  result.x = in_shape(read, sample);
  if (test ? !result.classes.empty() : !s.labels.empty())
    result.truth = checked_truth(test ? test->y[0].array() : targets_of(s.labels), test ? s.data : s.labels, extent(read, 0), result, outputs);
  return result;
}

}  // namespace sinter::cli
