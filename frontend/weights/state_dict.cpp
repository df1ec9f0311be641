#include "frontend/weights/state_dict.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "frontend/core/nearest.h"
#include "frontend/data/npz.h"
#include "frontend/data/safetensors.h"
#include "frontend/weights/convention.h"
#include "frontend/weights/keras.h"
#include "runtime/file/disk.h"

namespace sinter::weights {

namespace {

data::NamedArrays arrays_of(const StateDict& tensors) {
  data::NamedArrays arrays;
  for (const auto& [name, tensor] : tensors) {
    data::HostArray array{tensor.dtype(), tensor.shape().extents(1), {}};
    array.bytes.resize(static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype()));
    tensor.copy_to(array.bytes.data());
    arrays.emplace_back(name, std::move(array));
  }
  return arrays;
}

StateDict tensors_of(const data::NamedArrays& arrays) {
  StateDict tensors;
  for (const auto& [name, array] : arrays)
    tensors.emplace_back(name, Tensor::from_bytes({array.dtype, Shape::fixed(array.shape)}, array.bytes.data()));
  return tensors;
}

enum class Format { safetensors, npz, hdf5 };

Format format_of(const std::string& path) {
  const runtime::InputFile file(path);
  std::array<char, 8> start{};
  const auto there = std::span(start).first(std::min<std::uint64_t>(start.size(), file.size()));
  file.read(0, std::as_writable_bytes(there));
  const std::string_view text(there.data(), there.size());
  if (text.starts_with("PK")) return Format::npz;
  if (text == "\x89HDF\r\n\x1a\n") return Format::hdf5;
  return Format::safetensors;
}

}  // namespace

StateDict state_dict(const nn::Module& model) {
  StateDict result;
  for (const Parameter& p : model.parameters()) result.emplace_back(p.name(), p);
  return result;
}

void load_state_dict(nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  const bool is_foreign = options.convention != Convention::sinter || !options.layers.empty() || !options.flattened.empty();
  const StateDict renamed = is_foreign ? to_sinter(model, tensors, options) : tensors;
  const std::vector<Parameter> parameters = model.parameters();
  std::vector<std::string> known, given;
  for (const Parameter& p : parameters) known.push_back(p.name());
  for (const auto& [name, tensor] : renamed) given.push_back(name);
  std::vector<std::pair<Parameter, Tensor>> found;
  for (const auto& [name, tensor] : renamed) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      if (options.partial) continue;
      throw UserError("load", str("'", name, "' belongs to no parameter", nearest_hint(name, known), "; load with partial = true to leave it out"));
    }
    const Parameter& parameter = parameters[static_cast<std::size_t>(at - known.begin())];
    if (parameter.type() != tensor.type())
      throw UserError("load", str("'", name, "' is ", tensor.type(), " in the file but ", parameter.type(), " in the model"));
    found.emplace_back(parameter, tensor);
  }
  for (const std::string& name : known)
    if (!options.partial && std::find(given.begin(), given.end(), name) == given.end())
      throw UserError("load", str("there is no '", name, "'", nearest_hint(name, given), "; load with partial = true to leave it as it is"));
  for (const auto& [parameter, tensor] : found) parameter.assign(tensor);
}

StateDict read(const std::string& path) {
  switch (format_of(path)) {
    case Format::npz:
      return tensors_of(data::read_npz(path));
    case Format::hdf5:
      return tensors_of(read_keras(path));
    case Format::safetensors:
      break;
  }
  return tensors_of(data::read_safetensors(path));
}

void write(const std::string& path, const StateDict& tensors) {
  if (path.ends_with(".safetensors")) return data::write_safetensors(path, arrays_of(tensors));
  if (path.ends_with(".npz")) return data::write_npz(path, arrays_of(tensors));
  throw UserError(path, "weights are written to .safetensors or .npz files; choose one of these endings");
}

void save(const nn::Module& model, const std::string& path) { write(path, state_dict(model)); }

void load(nn::Module& model, const std::string& path, LoadOptions options) {
  if (format_of(path) == Format::hdf5) options.convention = Convention::keras;
  const StateDict tensors = read(path);
  try {
    load_state_dict(model, tensors, options);
  } catch (const UserError& error) {
    throw UserError(path, error.message());
  }
}

}  // namespace sinter::weights
