// Files of every kind that Sinter reads, cut at every byte and with every bit changed: an error or content, never a crash, a hang or a wild
// allocation. And small files that claim to hold a gigabyte.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "frontend/core/trace.h"
#include "frontend/data/cifar.h"
#include "frontend/data/csv.h"
#include "frontend/data/idx.h"
#include "frontend/data/image_file.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/file/model_file.h"
#include "frontend/weights/keras.h"
#include "ir/graph.h"
#include "ir/print.h"
#include "runtime/file/disk.h"
#include "tests/frontend/data_files.h"
#include "tests/frontend/helpers.h"
#include "tests/runtime/file_bytes.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"
#include "tests/support/faulty_files.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;
using data::HostArray;
using testing::HasSubstr;

/// In place: some file systems flush a file that is emptied and written anew.
void overwrite(const fs::path& path, const std::string& bytes) {
  if (!fs::exists(path)) std::ofstream(path).close();
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  if (fs::file_size(path) != bytes.size()) fs::resize_file(path, bytes.size());
}

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
std::string unchanged(std::string bytes) { return bytes; }

struct Kind {
  std::string name;
  std::string (*sound)();                          ///< the bytes of a file
  std::string (*read)(const fs::path& path);       ///< its content
  bool sized = true;                               ///< the format says how much there is: a file that is cut has an error or the same content
  bool checked = false;                            ///< it has checksums: a changed bit is an error or changes nothing
  std::size_t step = 1;                            ///< of the bits that are changed: 1 for all of them
  std::int64_t memory = 1 << 20;                   ///< that reading may take
  std::string (*finish)(std::string) = unchanged;  ///< after the damage
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::string keras_file() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "keras_words.weights.h5"); }
std::string packed_npz() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "types.npz"); }
std::string rgb_png() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "rgb.png"); }
std::string jpeg_file() { return read_bytes(fs::path(SINTER_TEST_FIXTURES) / "smooth.jpg"); }

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

const Kind kinds[] = {
    {.name = "step", .sound = step_file, .read = read_step, .checked = true},
    {.name = "trainer", .sound = trainer_file, .read = read_trainer, .checked = true, .step = 5},
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
    {.name = "hdf5", .sound = keras_file, .read = text<weights::read_keras>, .step = 5},
    {.name = "png", .sound = rgb_png, .read = read_rgb, .checked = true},
    {.name = "jpeg", .sound = jpeg_file, .read = read_rgb, .step = 3, .memory = 16 << 20},
};

class DamagedFile : public testing::TestWithParam<Kind> {
 protected:
  /// The content; nothing if the file is refused.
  std::optional<std::string> read(const std::string& bytes) {
    overwrite(path_, bytes);
    std::optional<std::string> content;
    const AllocationLimit limit(GetParam().memory);
    try {
      content = GetParam().read(path_);
    } catch (const UserError&) {
    }
    EXPECT_EQ(limit.refused(), 0) << "bytes were asked for";
    return content;
  }

  const TemporaryFolder folder_;
  const fs::path path_ = fs::path(folder_.path) / "train.bin";
  const std::string sound_ = GetParam().sound();
  const std::string content_ = (overwrite(path_, sound_), GetParam().read(path_));  // libraries set themselves up here, outside of any limit
};

TEST_P(DamagedFile, CutAnywhereIsAnErrorOrTheSameContent) {
  EXPECT_EQ(read(sound_), content_);
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    SCOPED_TRACE(str("cut to ", size, " of ", sound_.size(), " bytes"));
    const auto content = read(GetParam().finish(sound_.substr(0, size)));
    if (content && GetParam().sized) {
      EXPECT_EQ(*content, content_);
    }
    if (HasFailure()) return;
  }
}

TEST_P(DamagedFile, WithAChangedBitIsAnErrorOrContent) {
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < sound_.size() * 8; bit += GetParam().step) {
    SCOPED_TRACE(str("bit ", bit % 8, " of byte ", bit / 8));
    std::string changed = sound_;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const auto content = read(GetParam().finish(changed));
    errors += !content;
    if (content && GetParam().checked) {
      EXPECT_EQ(*content, content_);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(errors, 0u);
}

TEST_P(DamagedFile, OnAFailingDiskIsAnErrorOfTheSystem) {
  using Call = FaultyFiles::Call;
  std::size_t calls = 0;
  for (std::size_t fails = 1; fails == calls + 1; ++fails) {
    const FailingFiles disk([&](Call call, std::size_t number) {
      calls += number == fails;
      return number == fails ? call == Call::open ? EMFILE : EIO : 0;
    });
    try {
      const std::string content = GetParam().read(path_);
      EXPECT_LT(calls, fails) << "an error was passed over";
      EXPECT_EQ(content, content_);
    } catch (const runtime::SystemError& error) {
      EXPECT_TRUE(error.code() == EIO || error.code() == EMFILE);
    }
  }
  EXPECT_GE(calls, 1u);  // libzip reads by itself
}

/// Nobody writes to the pipe: a reader that opens it as a file waits for ever, until the alarm ends the test.
TEST_P(DamagedFile, OrAPipeIsRefused) {
  const fs::path pipe = fs::path(folder_.path) / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::rename(pipe, path_);
  ::alarm(60);
  EXPECT_THAT(error_of([&] { GetParam().read(path_); }), HasSubstr("cannot read the file: it is a pipe; give a regular file"));
  ::alarm(0);
}

INSTANTIATE_TEST_SUITE_P(Each, DamagedFile, testing::ValuesIn(kinds), [](const auto& info) { return info.param.name; });

// ---- claims ----
constexpr std::uint32_t billion = 1'000'000'000;

/// What a zip archive says of a member in front of it and in its directory.
std::string zip_entry(const std::string& name, std::uint32_t method, std::uint64_t packed_size, std::uint64_t size,
                      std::optional<std::size_t> at = {}) {
  const std::string common = little_endian(20, 2) + little_endian(0, 2) + little_endian(method, 2) + little_endian(0, 4) + little_endian(0, 4) +
                             little_endian(packed_size, 4) + little_endian(size, 4) + little_endian(name.size(), 2) + little_endian(0, 2);
  if (!at) return "PK\3\4" + common + name;
  return std::string("PK\1\2") + little_endian(20, 2) + common + little_endian(0, 2) + little_endian(0, 2) + little_endian(0, 2) +
         little_endian(0, 4) + little_endian(*at, 4) + name;
}
std::string zip(const std::string& members, const std::string& directory, std::size_t count) {
  return members + directory + std::string("PK\5\6") + little_endian(0, 4) + little_endian(count, 2) + little_endian(count, 2) +
         little_endian(directory.size(), 4) + little_endian(members.size(), 4) + little_endian(0, 2);
}
/// A zip archive of one member that claims these sizes.
std::string zip(const std::string& name, const std::string& packed, std::uint32_t method, std::uint64_t packed_size, std::uint64_t size) {
  return zip(zip_entry(name, method, packed_size, size) + packed, zip_entry(name, method, packed_size, size, 0), 1);
}

std::string png_chunk(const std::string& type, const std::string& content) {
  const std::string checked = type + content;
  const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
  return big_endian(static_cast<std::uint32_t>(content.size())) + checked + big_endian(sum);
}
std::string png(std::uint32_t width, std::uint32_t height, const std::string& kind) {
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", big_endian(width) + big_endian(height) + kind) + png_chunk("IDAT", data::gzip("x").substr(10)) +
         png_chunk("IEND", "");
}

/// The file with the one place of `from` replaced.
std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  EXPECT_NE(at, bytes.npos);
  return bytes.replace(at, from.size(), to);
}

std::string npy_header(const std::string& shape) {
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return "\x93NUMPY" + little_endian(1, 2) + little_endian(text.size(), 2) + text + "1234";
}
std::string safetensors(const std::string& header, std::uint64_t size) { return little_endian(size, 8) + header; }

/// A .sinter file of an index and these sections.
std::string sinter_file(const std::string& index, runtime::SectionKind kind, const std::string& section) {
  return runtime::file_of({{runtime::SectionKind::index, index}, {kind, section}});
}
std::string array_of(std::initializer_list<std::uint64_t> extents) {
  using runtime::field;
  return field(2, field(1, "w") + field(2, "f32") + field(3, runtime::numbers(extents)));
}
std::string with_size(std::size_t section, std::uint64_t size) {
  std::string bytes = sinter_file(array_of({billion / 4}), runtime::SectionKind::array, "1234");
  runtime::SectionEntry entry = runtime::entry_of(bytes, section);
  entry.size = size;
  std::memcpy(bytes.data() + sizeof(runtime::FileHeader) + section * sizeof entry, &entry, sizeof entry);
  return runtime::sealed(bytes);
}

struct Claim {
  std::string name;
  std::string kind;  ///< that reads it
  std::string (*bytes)();
};
const Claim claims[] = {
    {"SinterFile", "trainer",
     [] {
       std::string bytes = sinter_file(array_of({1}), runtime::SectionKind::array, "1234");
       const std::uint64_t size = billion;
       std::memcpy(bytes.data() + offsetof(runtime::FileHeader, file_size), &size, sizeof size);
       return runtime::sealed(bytes);
     }},
    {"SinterSections", "trainer",
     [] {
       std::string bytes = sinter_file(array_of({1}), runtime::SectionKind::array, "1234");
       const std::uint32_t sections = billion / sizeof(runtime::SectionEntry);
       std::memcpy(bytes.data() + offsetof(runtime::FileHeader, sections), &sections, sizeof sections);
       return bytes;
     }},
    {"SinterSection", "trainer", [] { return with_size(1, billion); }},
    {"SinterIndex", "trainer", [] { return with_size(0, 15 << 20); }},
    {"SinterArray", "trainer", [] { return sinter_file(array_of({billion / 4}), runtime::SectionKind::array, "1234"); }},
    {"SinterEmptyArray", "trainer", [] { return sinter_file(array_of({billion, 0}), runtime::SectionKind::array, ""); }},
    {"SinterField", "trainer",
     [] { return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph, "\x1a" + runtime::varint(billion) + "x"); }},
    {"SinterNode", "trainer",
     [] { return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph, runtime::field(3, "\x12" + runtime::varint(billion) + "\1")); }},
    {"SinterState", "trainer",
     [] {
       return sinter_file(runtime::field(1, "g"), runtime::SectionKind::graph,
                          runtime::state("w", "[250000000]") + runtime::field(5, std::string(1, '\0')));
     }},
    {"Idx", "idx", [] { return data::idx(8, {1000, 1000, 1000}, "x"); }},
    {"IdxGz", "idx_gz", [] { return data::gzip(data::idx(8, {1000, 1000, 1000}, std::string(100'000, '\0'))); }},
    {"IdxGzWithinTheRatio", "idx_gz", [] { return data::gzip(data::idx(8, {150'000}, std::string(100'000, '\0'))); }},
    {"Npy", "npy", [] { return npy_header("(250000000,)"); }},
    {"NpyEmpty", "npy", [] { return npy_header("(250000000000, 0)"); }},
    {"NpyHeader", "npy", [] { return "\x93NUMPY" + little_endian(2, 2) + little_endian(billion, 4) + "{}"; }},
    {"NpzDeflated", "npz", [] { return zip("w.npy", "\x4b\x04", 8, 2, billion); }},
    {"NpzDeflatedBothSizes", "npz", [] { return zip("w.npy", "\x4b\x04", 8, billion, billion); }},
    {"NpzStored", "npz", [] { return zip("w.npy", "x", 0, 1, billion); }},
    {"NpzStoredBothSizes", "npz", [] { return zip("w.npy", "x", 0, billion, billion); }},
    {"NpzInner", "npz",
     [] { return zip("w.npy", npy_header("(250000000,)"), 0, npy_header("(250000000,)").size(), npy_header("(250000000,)").size()); }},
    {"SafetensorsHeader", "safetensors", [] { return safetensors("{}", billion); }},
    {"SafetensorsTensor", "safetensors",
     [] {
       const std::string header = R"({"w":{"dtype":"F32","shape":[250000000],"data_offsets":[0,1000000000]}})";
       return safetensors(header, header.size());
     }},
    {"SafetensorsDepth", "safetensors", [] { return safetensors(std::string(200, '['), 200); }},
    {"Hdf5", "hdf5",
     [] {
       return replaced(keras_file(), little_endian(20, 8) + little_endian(6, 8) + little_endian(20, 8) + little_endian(6, 8),
                       little_endian(1 << 14, 8) + little_endian(1 << 14, 8) + little_endian(1 << 14, 8) + little_endian(1 << 14, 8));
     }},
    {"Png", "png", [] { return png(20'000, 20'000, {8, 2, 0, 0, 0}); }},
    {"PngOfBits", "png", [] { return png(20'000, 20'000, {1, 0, 0, 0, 0}); }},
    {"Jpeg", "jpeg",
     [] {
       std::string bytes = jpeg_file();
       const std::size_t frame = bytes.find("\xff\xc0");
       return bytes.replace(frame + 5, 4, "\x40\x00\x40\x00", 4).substr(0, 200);
     }},
    {"JpegWhole", "jpeg",
     [] {
       std::string bytes = jpeg_file();
       const std::size_t frame = bytes.find("\xff\xc0");
       return bytes.replace(frame + 5, 4, "\x40\x00\x40\x00", 4);
     }},
};

void PrintTo(const Claim& claim, std::ostream* out) { *out << claim.name; }

class ClaimingFile : public testing::TestWithParam<Claim> {};

TEST_P(ClaimingFile, IsRefusedWithAMegabyteAtMost) {
  const Kind& kind = *std::find_if(std::begin(kinds), std::end(kinds), [](const Kind& k) { return k.name == GetParam().kind; });
  const TemporaryFolder folder;
  const fs::path path = fs::path(folder.path) / "train.bin";
  overwrite(path, kind.sound());
  kind.read(path);  // libraries set themselves up
  const std::string bytes = GetParam().bytes();
  EXPECT_LE(bytes.size(), GetParam().kind == "hdf5" || GetParam().name == "JpegWhole" ? kind.sound().size() : 300);
  overwrite(path, bytes);
  const AllocationLimit limit(1 << 20);
  EXPECT_NE(error_of([&] { kind.read(path); }), "");
  EXPECT_EQ(limit.refused(), 0) << "bytes were asked for";
}

INSTANTIATE_TEST_SUITE_P(Each, ClaimingFile, testing::ValuesIn(claims), [](const auto& info) { return info.param.name; });

TEST(HostileFile, NoByteOfAnNpzIsUnpackedTwice) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  std::string members, directory;  // each member holds all those behind it
  constexpr std::size_t count = 20, entry = 36;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = str(static_cast<char>('a' + i), "1.npy");
    const std::size_t size = (count - 1 - i) * entry;
    members += zip_entry(name, 0, size, size);
    directory += zip_entry(name, 0, size, size, i * entry);
  }
  ASSERT_EQ(members.size(), count * entry);
  overwrite(path, zip(members, directory, count));
  EXPECT_THAT(error_of([&] { data::read_npz(path); }), HasSubstr("bytes of the file, which has"));
}

TEST(HostileFile, ManyColumnsOfACsvAreReadInGoodTime) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/file";
  std::string names, values;
  constexpr int columns = 200'000;  // quadratic work would take minutes
  for (int i = 0; i < columns; ++i) names += str(i ? "," : "", "column", i), values += str(i ? "," : "", i);
  overwrite(path, names + "\n" + values + "\n");
  EXPECT_EQ(data::read_csv(path).names.size(), static_cast<std::size_t>(columns));
  overwrite(path, names + ",column7\n" + values + ",1\n");
  EXPECT_THAT(error_of([&] { data::read_csv(path); }), HasSubstr("two columns are called 'column7'"));
}

}  // namespace
}  // namespace sinter::test
