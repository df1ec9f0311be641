// The inputs that fuzzing begins with.
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "frontend/data/encoder.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/nn/convolution.h"
#include "frontend/nn/dense.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/loss.h"
#include "frontend/nn/pool.h"
#include "frontend/nn/sequential.h"
#include "frontend/nn/shape.h"
#include "frontend/optim/optimizer.h"
#include "frontend/train/trainer.h"
#include "fuzz/program/choices.h"
#include "fuzz/program/program.h"
#include "fuzz/resume.h"
#include "fuzz/targets.h"
#include "runtime/file/container.h"

namespace sinter::fuzz {

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a function writes to a path.
template <class F>
std::string written(F&& write) {
  const TemporaryFolder folder;
  const std::filesystem::path file = std::filesystem::path(folder.path()) / "file";
  write(file);
  return content_of(file);
}

std::string gzip(const std::string& bytes) {
  return written([&](const std::filesystem::path& path) {
    gzFile file = gzopen(path.c_str(), "wb9");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  });
}

/// Programs that have every op among them, each one that those before it lack.
template <class F>
void for_programs_with_all_ops(F&& f) {
  std::set<std::string_view> missing;
  ir::for_each_op([&]<class O>(O) { missing.insert(O::name); });
  for (std::uint64_t seed = 0; !missing.empty(); ++seed) {
    const std::vector<std::uint8_t> bytes = bytes_of_seed(seed);
    const Program program = make_program(bytes);
    std::set<std::string_view> fresh;
    for (const ir::NodeId id : program.graph.topological_order())
      if (missing.contains(ir::name(program.graph.node(id).op))) fresh.insert(ir::name(program.graph.node(id).op));
    if (!fresh.empty() && f(seed, bytes, program))
      for (const std::string_view name : fresh) missing.erase(name);
  }
}

runtime::NamedArray stored(std::string name, const ir::Array& array) {
  const std::size_t size = array.data.size() * size_of(array.dtype);
  const runtime::Buffer memory = runtime::Buffer::allocate(size);
  std::byte* at = memory.data();
  for (const double x : array.data) {
    const auto append = [&](auto value) {
      std::memcpy(at, &value, sizeof value);
      at += sizeof value;
    };
    if (is_float(array.dtype)) append(static_cast<float>(x));
    else if (size_of(array.dtype) == 1) append(static_cast<std::uint8_t>(x));
    else append(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
  }
  return {std::move(name), array.dtype, array.extents, {memory.data(), size}, memory};
}

/// As StepCore::save writes it.
std::string step_file(const Program& program) {
  runtime::Archive archive;
  archive.metadata["kind"] = "step";
  archive.graphs.push_back({"step", program.graph});
  const Binding& binding = program.bindings[0];
  for (std::size_t i = 0; i < binding.states.size(); ++i) archive.arrays.push_back(stored(program.graph.states()[i].name, binding.states[i]));
  for (std::size_t i = 0; i < binding.inputs.size(); ++i)
    if (program.graph.inputs()[i].kind == ir::InputSpec::Kind::hidden) archive.arrays.push_back(stored(str("step/captured/", i), binding.inputs[i]));
  return runtime::to_bytes(archive);
}

template <class T>
data::HostArray host_array(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

data::NamedArrays some_arrays() {
  return {{"weight", host_array<float>(DType::f32, {2, 3}, {1, 2, 3, 4, 5, -6})},
          {"ids", host_array<std::int32_t>(DType::i32, {4}, {0, 1, 2, -3})},
          {"mask", host_array<std::uint8_t>(DType::boolean, {3}, {0, 1, 1})},
          {"scalar", host_array<float>(DType::f32, {}, {7})}};
}

std::string idx(int code, std::initializer_list<char> extents, const std::string& elements) {
  std::string bytes{0, 0, static_cast<char>(code), static_cast<char>(extents.size())};
  for (const char extent : extents) bytes += std::string{0, 0, 0, extent};
  return bytes + elements;
}

/// Columns of the seeds' tables, and an encoder of them.
data::Table table_for_encoder() { return {{"area", "town", "rooms"}, {{"1.5", "4", "-2"}, {"Bonn", "Kiel", "Bonn"}, {"2", "3", ""}}}; }
data::Encoder encoder_of_seeds(const std::string& target) { return data::Encoder::fit(table_for_encoder(), {.target = target}); }

}  // namespace

Seeds model_seeds() {
  Seeds seeds;
  for_programs_with_all_ops([&](std::uint64_t seed, const auto&, const Program& program) {
    std::string file = step_file(program);
    if (file.size() > 6000) return false;
    seeds.emplace_back(str("program-", seed), std::move(file));
    return true;
  });
  return seeds;
}

Seeds program_seeds() {
  Seeds seeds;
  for_programs_with_all_ops([&](std::uint64_t seed, const auto& bytes, const Program&) {
    seeds.emplace_back(str(seed), std::string(bytes.begin(), bytes.end()));
    return true;
  });
  return seeds;
}

Seeds checkpoint_seeds() {
  const auto file = [](auto optimizer, const Tensor& x, bool dropout) {
    seed(3);
    nn::Sequential model = dropout ? nn::Sequential{nn::Dense(3, 4, Activation::relu), nn::Dropout(0.25f), nn::Dense(4, 2)}
                                   : nn::Sequential{nn::Dense(3, 4, Activation::sigmoid), nn::Dense(4, 2)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, std::move(optimizer), {.mode = Mode::eager});
    trainer.set_metadata("classes", "no,yes");
    trainer.train_on_batch(x, Tensor(std::vector<std::int32_t>{0, 1}, {2}));
    return written([&](const std::filesystem::path& path) { trainer.save(path.string()); });
  };
  const Tensor floats({1, 2, 3, 4, 5, 6}, {2, 3}), bytes(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  Seeds seeds{{"sgd", file(optim::SGD({.learning_rate = 0.1f}), floats, false)},
              {"adam-dropout", file(optim::Adam({.learning_rate = 0.1f}), floats, true)},
              {"bytes", file(optim::RMSprop({.learning_rate = 0.1f}), bytes, false)}};
  const TemporaryFolder folder;
  fit_with_checkpoints(folder.path());
  for (const auto& [name, file_name] : {std::pair{"within-an-epoch", "checkpoint-000000000003.sinter"}, {"ended", "checkpoint-000000000004.sinter"}})
    seeds.emplace_back(name, content_of(std::filesystem::path(folder.path()) / file_name));
  return seeds;
}

Seeds idx_seeds() {
  const std::string bytes = idx(8, {2, 3, 2}, "abcdefghijkl");
  return {{"u8", bytes},
          {"i32", idx(12, {3}, std::string(12, '\1'))},
          {"f32", idx(13, {1, 2}, std::string("\x3f\x80\0\0\x40\0\0\0", 8))},
          {"gz", gzip(bytes)},
          {"claims-4-billion", std::string("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", 12)}};
}

Seeds csv_seeds() {
  return {{"numbers", "a,b,c\n1,2,3\n4,5,6\n"},
          {"quoted", "name,\"a \"\"b\"\"\"\r\n\"x,\ny\",  z \r\n\r\n"},
          {"open-quote", "a,b\n1,\"2\n"},
          {"uneven", "a,b\n1\n"},
          {"repeated-name", "a,a\n1,2\n"},
          {"no-rows", "a,b\n"},
          {"byte-order-mark", "\xef\xbb\xbf\"a\",b\n1,2\n"},
          {"latin1", "a,b\nK\xf6ln,2\n"}};
}

Seeds cifar_seeds() {
  std::string ten(3073, '\x11'), hundred(3074, '\x22');
  ten[0] = 9, hundred[0] = 19, hundred[1] = 99;
  return {{"10", gzip(ten + ten)}, {"100", gzip(hundred)}, {"label-out-of-range", gzip(std::string(3073, '\x7f'))}, {"plain", ten}};
}

Seeds npy_seeds() {
  Seeds seeds;
  for (const auto& [name, array] : some_arrays()) {
    const std::vector<std::byte> bytes = data::npy_bytes(array, name);
    seeds.emplace_back(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  const auto with_header = [](const std::string& header, std::size_t elements) {
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + std::string(elements, '\0');
  };
  seeds.emplace_back("f64", with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16));
  seeds.emplace_back("i64", with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }", 16));
  seeds.emplace_back("fortran", with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 8));
  return seeds;
}

Seeds npz_seeds() {
  return {{"arrays", written([](const std::filesystem::path& path) { data::write_npz(path, some_arrays()); })}};
}

Seeds safetensors_seeds() {
  const auto with_header = [](const std::string& header, std::size_t elements) {
    return static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(elements, '\0');
  };
  return {{"arrays", written([](const std::filesystem::path& path) { data::write_safetensors(path, some_arrays()); })},
          {"half", with_header(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]}})", 6)},
          {"f64", with_header(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8)}};
}

Seeds encoder_seeds() {
  return {{"numbers", encoder_of_seeds("area").to_json()},
          {"classes", encoder_of_seeds("town").to_json()},
          {"no-target", encoder_of_seeds("").to_json()},
          {"rules", data::Encoder::fit(table_for_encoder(), {.missing = {"-"}, .thousands = ",", .strip = {"$", "EUR"}}).to_json()},
          {"steps", data::Encoder::fit(table_for_encoder(), {.keep = {"area > -100"},
                                                             .train_on = {"town not empty"},
                                                             .scaling = data::Scaling::min_max,
                                                             .normalize = data::Norm::l1,
                                                             .pca = data::PCAOptions{.components = 2}})
                        .to_json()},
          {"deep", std::string(100, '[')}};
}

Seeds text_seeds() {
  const std::vector<std::string> texts{"A wonderful film, a FILM", "Größe über alles: 3.5", "これは映画です"};
  return {{"vocabulary", "v" + data::Vocabulary::fit(texts).to_json()},
          {"short",
           "v" + data::Vocabulary::fit(texts, {.most_words = 2, .lower_case = false, .start = true, .longest = 2, .keep = Keep::last}).to_json()},
          {"json-lines", "j{\"text\": \"fine\\u00e9\", \"stars\": 4.5}\n\n{\"stars\": null, \"seen\": true}\n"},
          {"json-nested", "j{\"a\": [[[[1]]]]}"},
          {"tabs", "tlabel\ttext\n1\tHe said \"no\"\n0\t\"dull\n"}};
}

Seeds command_line_seeds() {
  const auto saved = [](Trainer& trainer) { return written([&](const std::filesystem::path& path) { trainer.save(path.string()); }); };
  const auto of_table = [&](const char* target) {
    const data::Encoder encoder = encoder_of_seeds(target);
    const bool classes = encoder.is_classification();
    seed(3);
    nn::Sequential model{nn::Dense(encoder.width(), 3, Activation::relu), nn::Dense(3, classes ? 2 : 1)};
    Trainer trainer(model, classes ? loss::sparse_categorical_crossentropy_from_logits : loss::mean_squared_error,
                    optim::SGD({.learning_rate = 0.1f, .momentum = 0.9f}), {.mode = Mode::eager});
    const data::Table table = table_for_encoder();
    trainer.train_on_batch(encoder.features(table), encoder.target(table));
    trainer.set_metadata("encoder", encoder.to_json());
    trainer.set_metadata("task", classes ? "classes" : "numbers");
    return saved(trainer);
  };
  const auto of_images = [&] {
    seed(3);
    nn::Sequential model{nn::Reshape({4, 4, 1}), nn::Conv2D(1, 2, {3}, Activation::relu), nn::MaxPool2D({2}), nn::Flatten(), nn::Dense(2, 3)};
    Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam(), {.mode = Mode::eager});
    const Tensor pixels(std::vector<std::uint8_t>(32, 9), {2, 16});
    trainer.train_on_batch(pixels, Tensor(std::vector<std::int32_t>{0, 2}, {2}));
    trainer.set_metadata("task", "classes");
    return saved(trainer);
  };
  return {{"table-numbers", of_table("area")}, {"table-classes", of_table("town")}, {"images", of_images()}};
}

}  // namespace sinter::fuzz
