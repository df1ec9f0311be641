#include "tests/frontend/file_kinds.h"

#include <fstream>

#include "frontend/core/trace.h"
#include "frontend/data/cifar.h"
#include "frontend/data/csv.h"
#include "frontend/data/idx.h"
#include "frontend/data/image_file.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/data/vocabulary.h"
#include "frontend/file/model_file.h"
#include "frontend/weights/keras.h"
#include "ir/graph.h"
#include "ir/print.h"
#include "tests/frontend/data_files.h"
#include "tests/frontend/helpers.h"
#include "tests/frontend/sentencepiece_fixtures.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/bytes.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;
using data::HostArray;

/// What a writer leaves in a file.
template <class F>
std::string written(F&& write) {
  const TemporaryFolder folder;
  const fs::path path = fs::path(folder.path) / "file";
  write(path);
  return read_bytes(path);
}

// ---- content as text, to compare ----
std::string text_of(const HostArray& array) {
  EXPECT_EQ(array.bytes.size(), static_cast<std::size_t>(array.elements()) * size_of(array.dtype));
  return str(array.dtype, Shape::fixed(array.shape), ":") + std::string(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
}
std::string text_of(const data::NamedArrays& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays) text += str(name, "=") + text_of(array) + ";";
  return text;
}
std::string text_of(const data::Table& table) {
  std::string text;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    text += table.names[c] + ":";
    for (const std::string_view field : table.fields(c)) text += str(field.size(), " ", field);
  }
  return text;
}
std::string text_of(std::vector<Parameter> states) {
  std::sort(states.begin(), states.end(), [](const Parameter& a, const Parameter& b) { return a.name() < b.name(); });
  std::string text;
  for (const Parameter& p : states) {
    const Tensor value = p.read();
    std::string bytes(static_cast<std::size_t>(value.elements()) * size_of(value.dtype()), '\0');
    value.copy_to(bytes.data());
    text += str(p.name(), p.type()) + bytes;
  }
  return text;
}
std::string text_of(const data::Images& images) { return text_of(images.images) + text_of(images.labels); }

// ---- kinds of files ----
std::string packed_npz() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "types.npz"); }
std::string picture(const std::string& name) { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "pictures" / name); }
std::string rgb_png() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "rgb.png"); }

std::string idx_file() {
  std::string elements;
  for (int i = 0; i < 24; ++i) elements += static_cast<char>(i * 37);
  return data::idx(8, {2, 3, 4}, elements);
}
HostArray small_array(DType dtype, std::vector<std::int64_t> shape) {
  HostArray array{dtype, std::move(shape), {}};
  array.bytes.resize(static_cast<std::size_t>(array.elements()) * size_of(dtype));
  for (std::size_t i = 0; i < array.bytes.size(); ++i) array.bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i & 1 : i * 29 & 0x3f);
  return array;
}
data::NamedArrays small_arrays() {
  return {{"w", small_array(DType::f32, {2, 3})}, {"truth", small_array(DType::boolean, {3})}, {"n", small_array(DType::i32, {})}};
}
std::string cifar_file() {
  std::string bytes;
  for (int i = 0; i < 2 + 32 * 32 * 3; ++i) bytes += static_cast<char>(i * 7 & 63);
  return bytes;
}
/// CIFAR-100 is read by the folder; the file to test is its training set.
std::string read_cifar(const fs::path& path) {
  const fs::path folder = path.parent_path();
  if (!fs::exists(folder / "test.bin")) overwrite(folder / "test.bin", cifar_file());
  const data::Cifar cifar = data::load_cifar(folder, 100);
  return text_of(cifar.train) + text_of(cifar.test);
}

/// A graph with a state that is updated and a captured tensor.
std::string step_file() {
  Traced traced;
  ir::Graph& graph = traced.graph;
  const ir::Value x = graph.add_input({"x", {DType::f32, {Dim::batch(), 3}}});
  const ir::Value table = graph.add_input({"table", {DType::f32, {4, 24}}, InputKind::hidden});
  const ir::Value w = graph.add_state({"w", {DType::f32, {3, 2}}, true});
  graph.add_output(matmul(x, w));
  graph.add_output(table);
  graph.set_update(0, (w * 0.5).id);
  traced.cells = {Parameter("w", random({3, 2}, 1)).cell()};
  traced.captured = {random({4, 24}, 2)};
  return written([&](const fs::path& path) { write_model_file(path.string(), {{"step", traced}}, {{"kind", "step"}}); });
}
std::string read_step(const fs::path& path) {
  const Tensor x = random({2, 3}, 4);
  const Tensor* const in[] = {&x};
  const auto outputs = load_step(path.string(), {.mode = Mode::eager})->call(in);
  return str(outputs[0], outputs[1]);
}
std::string trainer_file() {
  return written([](const fs::path& path) {
    seed(4);
    nn::Sequential model{nn::Dense(3, 5, Activation::tanh), nn::Dense(5, 2)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 1e-2f}), {.mode = Mode::eager});
    trainer.fit({random({8, 3}, 5), random_labels(8, 2, 6)}, {.verbose = false});
    trainer.save(path.string());
  });
}

template <auto read>
std::string text(const fs::path& path) {
  return text_of(read(path));
}
std::string read_graph(const fs::path& path) { return ir::to_text(load_step(path.string(), {.mode = Mode::eager})->traced_graph()); }
std::string read_trainer(const fs::path& path) { return text_of(Trainer::load(path.string(), {.mode = Mode::eager}).parameters()); }
std::string read_rgb(const fs::path& path) { return text_of(data::read_image(path)); }
std::string read_table(const fs::path& path) { return text_of(data::read_csv(path)); }
std::string read_sentencepiece(const fs::path& path) {
  const auto vocabulary = data::Vocabulary::from_sentencepiece(path);
  std::string text;
  for (const std::string& piece : vocabulary.words()) text += str(piece.size(), " ", piece);
  for (const std::int32_t number : vocabulary.encode("A wonderful <url>\tﬁlm, ｡ ::")) text += str(" ", number);
  return text;
}

const FileKind kinds[] = {
    {.name = "step", .sound = step_file, .read = read_step, .checked = true},
    {.name = "trainer", .sound = trainer_file, .read = read_trainer, .checked = true, .step = 5, .memory = 2 << 20},
    {.name = "step_under_right_checksums", .sound = step_file, .read = read_graph, .finish = runtime::sealed},
    {.name = "trainer_under_right_checksums", .sound = trainer_file, .read = read_trainer, .step = 61, .memory = 16 << 20, .finish = runtime::sealed},
    {.name = "idx", .sound = idx_file, .read = text<data::read_idx>},
    {.name = "idx_gz", .sound = [] { return data::gzip(idx_file()); }, .read = text<data::read_idx>, .checked = true},
    {.name = "csv", .sound = [] { return std::string("a,\"b \"\"x\"\"\",c\n1,2,3\n-4.5,\"5,6\",\n"); }, .read = read_table, .sized = false},
    {.name = "cifar", .sound = cifar_file, .read = read_cifar, .step = 5},
    {.name = "npy",
     .sound = [] { return written([](const fs::path& path) { data::write_npy(path, small_array(DType::f32, {2, 3})); }); },
     .read = text<data::read_npy>},
    {.name = "npz",
     .sound = [] { return written([](const fs::path& path) { data::write_npz(path, small_arrays()); }); },
     .read = text<data::read_npz>},
    {.name = "npz_packed", .sound = packed_npz, .read = text<data::read_npz>, .step = 3},
    {.name = "safetensors",
     .sound = [] { return written([](const fs::path& path) { data::write_safetensors(path, small_arrays()); }); },
     .read = text<data::read_safetensors>},
    {.name = "sentencepiece", .sound = [] { return sentencepiece_fixtures().at("characters"); }, .read = read_sentencepiece, .step = 3},
    {.name = "sentencepiece_rules", .sound = [] { return sentencepiece_fixtures().at("suffix"); }, .read = read_sentencepiece, .step = 61},
    {.name = "hdf5", .sound = keras_file, .read = text<weights::read_keras>, .step = 5},
    {.name = "png", .sound = rgb_png, .read = read_rgb, .checked = true},
    {.name = "png_palette", .sound = [] { return picture("palette4_transparent.png"); }, .read = read_rgb, .checked = true},
    {.name = "png_interlaced", .sound = [] { return picture("rgba16_interlaced.png"); }, .read = read_rgb, .checked = true, .step = 5},
    {.name = "jpeg", .sound = jpeg_file, .read = read_rgb, .step = 3, .memory = 16 << 20},
    {.name = "jpeg_cmyk", .sound = [] { return picture("jpeg_ycck.jpg"); }, .read = read_rgb, .step = 7, .memory = 16 << 20},
    {.name = "jpeg_progressive", .sound = [] { return picture("jpeg_arithmetic_progressive.jpg"); }, .read = read_rgb, .memory = 16 << 20},
};

}  // namespace

void PrintTo(const FileKind& kind, std::ostream* out) { *out << kind.name; }

std::span<const FileKind> file_kinds() { return kinds; }

void overwrite(const std::filesystem::path& path, const std::string& bytes) {
  if (!fs::exists(path)) std::ofstream(path).close();
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  if (fs::file_size(path) != bytes.size()) fs::resize_file(path, bytes.size());
}

std::string keras_file() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "keras_words.weights.h5"); }
std::string jpeg_file() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "smooth.jpg"); }

}  // namespace sinter::test
