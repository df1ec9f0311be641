#include "fuzz/targets.h"

#include "frontend/data/cifar.h"
#include "frontend/data/csv.h"
#include "frontend/data/encoder.h"
#include "frontend/data/encoding.h"
#include "frontend/data/idx.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/weights/keras.h"
#include "fuzz/container/mutate.h"
#include "ir/error.h"

namespace sinter::fuzz {

namespace {

void require_whole(const data::HostArray& array) {
  if (array.bytes.size() != static_cast<std::size_t>(array.elements()) * size_of(array.dtype))
    throw Finding(str("an array of ", array.elements(), " ", array.dtype, " has ", array.bytes.size(), " bytes"));
}

/// The readers of data files: each opens a file by its path. An array that they return has the bytes that its shape asks for.
template <auto read>
void run_reader(Bytes bytes) {
  const MemoryFile file(bytes);
  read(file.path());
}

void read_idx(const std::filesystem::path& path) { require_whole(data::read_idx(path)); }

void read_csv(const std::filesystem::path& path) {
  for (const bool header : {true, false}) try {
      const data::Table table = data::read_csv(path, {.delimiter = ',', .header = header});
      std::string text;
      for (std::size_t r = 0; r < table.rows(); ++r)
        for (std::size_t c = 0; c < table.names.size(); ++c) text += table.field(r, c);
      if (table.open_fields() != 0 || data::first_not_utf8(text) != std::string::npos) throw Finding("a table holds half a row, or what is no UTF-8");
    } catch (const UserError&) {
    }
}

void read_cifar(const std::filesystem::path& path) {
  for (const int classes : {10, 100}) try {
      const data::Images images = data::read_cifar(path, classes);
      require_whole(images.images);
      require_whole(images.labels);
    } catch (const UserError&) {
    }
}

void read_npy(const std::filesystem::path& path) {
  const data::HostArray array = data::read_npy(path);
  require_whole(array);
  const data::HostArray again = data::parse_npy(data::npy_bytes(array, "copy"), "copy");
  if (again.dtype != array.dtype || again.shape != array.shape || again.bytes != array.bytes)
    throw Finding("an array written and read again differs");
}

template <auto read>
void read_arrays(const std::filesystem::path& path) {
  for (const auto& [name, array] : read(path)) require_whole(array);
}

/// A description of columns: what is accepted can be written and read again, the same, and makes tensors of tables, or refuses them.
void run_encoder(Bytes bytes) {
  const data::Encoder encoder = data::Encoder::from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const std::string text = encoder.to_json();
  if (data::Encoder::from_json(text).to_json() != text) throw Finding("an encoder written and read again differs");
  const data::Table table{{"area", "town", "rooms", ""}, {{"1.5", "4", "-2"}, {"Bonn", "Kiel", "Bonn"}, {"2", "", "NA"}, {"", "", ""}}};
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Finding(what);
  };
  const auto names = static_cast<std::int64_t>(encoder.feature_names().size());
  const auto rows = static_cast<std::int64_t>(encoder.kept_rows(table).size());
  require(encoder.features(table, [](const std::string&) {}).shape() == Shape({rows, names}), "features have another shape than their names say");
  if (!encoder.has_target()) return;
  const Tensor target = encoder.target(table);
  require(target.shape()[0] == Dim(rows), "there is no target a row");
  if (!encoder.is_classification()) return (void)encoder.unscaled(1);
  for (const std::int32_t number : target.to_vector<std::int32_t>())
    require(number >= 0 && static_cast<std::size_t>(number) < encoder.classes().size(), "a class has no name");
}

constexpr std::size_t kilobyte = 1024;
const Target all[] = {
    {"sinter_file", run_sinter_file, 16 * kilobyte, mutate_container, nullptr, nullptr, model_seeds},
    {"checkpoint", run_checkpoint, 32 * kilobyte, mutate_container, nullptr, nullptr, checkpoint_seeds},
    {"programs", run_program, kilobyte / 2, nullptr, describe_program, summary_of_programs, program_seeds},
    {"idx", run_reader<read_idx>, 4 * kilobyte, nullptr, nullptr, nullptr, idx_seeds},
    {"csv", run_reader<read_csv>, 4 * kilobyte, nullptr, nullptr, nullptr, csv_seeds},
    {"cifar", run_reader<read_cifar>, 16 * kilobyte, nullptr, nullptr, nullptr, cifar_seeds},
    {"npy", run_reader<read_npy>, 4 * kilobyte, nullptr, nullptr, nullptr, npy_seeds},
    {"npz", run_reader<read_arrays<data::read_npz>>, 4 * kilobyte, nullptr, nullptr, nullptr, npz_seeds},
    {"safetensors", run_reader<read_arrays<data::read_safetensors>>, 4 * kilobyte, nullptr, nullptr, nullptr, safetensors_seeds},
    {"keras", run_reader<read_arrays<weights::read_keras>>, 8 * kilobyte, nullptr, nullptr, nullptr, keras_seeds},
    {"encoder", run_encoder, 4 * kilobyte, nullptr, nullptr, nullptr, encoder_seeds},
    {"stream", run_stream, 2 * kilobyte, nullptr, nullptr, nullptr, stream_seeds},
    {"text", run_text, 4 * kilobyte, nullptr, nullptr, nullptr, text_seeds},
#ifdef SINTER_CLI
    {"command_line", run_command_line, 32 * kilobyte, mutate_container, nullptr, nullptr, command_line_seeds},
#endif
};

}  // namespace

std::span<const Target> targets() { return all; }

const Target& find_target(std::string_view name) {
  std::string known;
  for (const Target& target : all) {
    if (target.name == name) return target;
    known += str(known.empty() ? "" : ", ", target.name);
  }
  throw UserError("fuzz", str("there is no target '", name, "'; there are ", known));
}

void run(const Target& target, Bytes bytes) {
  try {
    target.run(bytes);
  } catch (const UserError&) {
  }
}

}  // namespace sinter::fuzz
