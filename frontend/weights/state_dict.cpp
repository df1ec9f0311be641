#include "frontend/weights/state_dict.h"

#include <algorithm>
#include <array>
#include <cstring>
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

/// Bytes of a tensor's elements without padding, from this offset on.
void copy_dense(const Tensor& tensor, std::uint64_t offset, std::span<std::byte> into) {
  const runtime::View view = tensor.view();
  const sinter::Layout at = view.layout();
  const std::size_t size = size_of(view.type.dtype), row_bytes = static_cast<std::size_t>(at.is_dense() ? at.elements() : at.cols) * size,
                    stride_bytes = static_cast<std::size_t>(at.stride) * size;
  while (!into.empty()) {
    const std::size_t row = offset / row_bytes, first = offset % row_bytes, count = std::min(into.size(), row_bytes - first);
    std::memcpy(into.data(), view.data + row * stride_bytes + first, count);
    into = into.subspan(count);
    offset += count;
  }
}

std::vector<data::ArrayWriter> writers_of(const StateDict& tensors) {
  std::vector<data::ArrayWriter> writers;
  for (const auto& [name, tensor] : tensors)
    writers.push_back({name, tensor.dtype(), tensor.shape().extents(1),
                       [tensor = tensor](std::uint64_t offset, std::span<std::byte> into) { copy_dense(tensor, offset, into); }});
  return writers;
}

/// An array as a tensor, read into its memory, which may have padding.
Tensor tensor_of(data::ArrayReader& array) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Tensor result = Tensor::zeros({array.dtype(), Shape::fixed(array.shape())});
  const runtime::View view = result.view();
  const sinter::Layout at = view.layout();
  const std::size_t size = size_of(array.dtype()), row = static_cast<std::size_t>(at.cols) * size,
                    stride = static_cast<std::size_t>(at.stride) * size;
  if (at.is_dense()) {
    array.read({view.data, static_cast<std::size_t>(at.elements()) * size});
    return result;
  }
  std::vector<std::byte> rows;
  for (std::size_t first = 0, count = 0; first < static_cast<std::size_t>(at.rows); first += count) {
    count = std::min(static_cast<std::size_t>(at.rows) - first, std::max<std::size_t>(1, most / row));
    rows.resize(count * row);
    array.read(rows);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(view.data + (first + i) * stride, rows.data() + i * row, row);
  }
  return result;
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

LoadResult load_state_dict(nn::Module& model, const StateDict& tensors, const LoadOptions& options) {
  const bool is_foreign = options.convention != Convention::sinter || !options.layers.empty() || !options.flattened.empty();
  const auto may_be_unused = [&](const std::string& name) {
    return std::any_of(options.allow_unused.begin(), options.allow_unused.end(), [&](const std::string& pattern) { return matches(pattern, name); });
  };
  LoadResult result;
  StateDict renamed = tensors;
  std::vector<std::string> may_lack;
  if (is_foreign) {
    std::erase_if(renamed, [&](const auto& tensor) { return may_be_unused(tensor.first); });
    for (const auto& [name, tensor] : tensors)
      if (may_be_unused(name)) result.unused.push_back(name);
    renamed = to_sinter(model, renamed, options);
    may_lack = own_states(model);
  }
  const std::vector<Parameter> parameters = model.parameters();
  std::vector<std::string> known, given;
  for (const Parameter& p : parameters) known.push_back(p.name());
  for (const auto& [name, tensor] : renamed) given.push_back(name);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Parameter& p : parameters)
    std::replace(given.begin(), given.end(), p.name_in_file([&](const std::string& name) { return has(given, name); }), p.name());
  for (auto name = given.begin(); name != given.end(); ++name)
    if (std::find(given.begin(), name, *name) != name) throw UserError("load", str("'", *name, "' is there twice; give each tensor its own name"));
  for (const std::string& name : given) {
    if (has(known, name)) continue;
    if (!may_be_unused(name))
      throw UserError("load", str("'", name, "' belongs to no parameter", nearest_hint(name, known), "; rename it, or permit it by allow_unused"));
    result.unused.push_back(name);
  }
  std::vector<std::pair<Parameter, Tensor>> found;
  for (const Parameter& parameter : parameters) {
    const auto at = std::find(given.begin(), given.end(), parameter.name());
    if (at == given.end()) {
      if (!options.partial && !has(may_lack, parameter.name()))
        throw UserError("load", str("there is no '", parameter.name(), "'", nearest_hint(parameter.name(), given),
                                    "; load with partial = true to leave it as it is"));
      result.kept.push_back(parameter.name());
      continue;
    }
    const Tensor& tensor = renamed[static_cast<std::size_t>(at - given.begin())].second;
    if (parameter.type() != tensor.type())
      throw UserError("load", str("'", parameter.name(), "' is ", tensor.type(), " in the file but ", parameter.type(), " in the model"));
    found.emplace_back(parameter, tensor);
    result.loaded.push_back(parameter.name());
  }
  if (found.empty() && !tensors.empty() && !parameters.empty())
    throw UserError("load", str("none of the ", tensors.size(), " tensors belongs to a parameter: the first is '", tensors.front().first,
                                "', the model's first parameter '", known.front(), "'; rename them"));
  for (const auto& [parameter, tensor] : found) parameter.assign(tensor);
  return result;
}

StateDict read(const std::string& path) {
  StateDict tensors;
  const data::ArrayVisitor add = [&](const std::string& name, data::ArrayReader& array) { tensors.emplace_back(name, tensor_of(array)); };
  switch (format_of(path)) {
    case Format::npz:
      data::visit_npz(path, add);
      break;
    case Format::hdf5:
      visit_keras(path, add);
      break;
    case Format::safetensors:
      data::visit_safetensors(path, add);
  }
  return tensors;
}

void write(const std::string& path, const StateDict& tensors) {
  if (path.ends_with(".safetensors")) return data::stream_safetensors(path, writers_of(tensors));
  if (path.ends_with(".npz")) return data::stream_npz(path, writers_of(tensors));
  throw UserError(path, "weights are written to .safetensors or .npz files; choose one of these endings");
}

void save(const nn::Module& model, const std::string& path) { write(path, state_dict(model)); }

LoadResult load(nn::Module& model, const std::string& path, LoadOptions options) {
  if (format_of(path) == Format::hdf5) options.convention = Convention::keras;
  const StateDict tensors = read(path);
  try {
    return load_state_dict(model, tensors, options);
  } catch (const UserError& error) {
    throw UserError(path, error.message());
  }
}

}  // namespace sinter::weights
