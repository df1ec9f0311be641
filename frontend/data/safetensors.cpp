#include "frontend/data/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "frontend/core/json_depth.h"
#include "frontend/core/name.h"
#include "frontend/data/extents.h"
#include "frontend/data/narrow.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit
constexpr int deepest_header = 3;                      // the header, a tensor, its shape or offsets
constexpr const char* metadata_name = "__metadata__";

struct SafetensorsType {
  std::string_view name;
  DType dtype;
  std::size_t size;
};
constexpr std::array<SafetensorsType, 9> safetensors_types{{{"F32", DType::f32, 4},
                                                            {"I32", DType::i32, 4},
                                                            {"U32", DType::u32, 4},
                                                            {"U8", DType::u8, 1},
                                                            {"BOOL", DType::boolean, 1},
                                                            {"F64", DType::f32, 8},
                                                            {"I64", DType::i32, 8},
                                                            {"F16", DType::f32, 2},
                                                            {"BF16", DType::f32, 2}}};

Narrow narrow_of(const SafetensorsType& type) {
  if (type.name == "F64") return narrow_f64;
  if (type.name == "I64") return narrow_i64;
  if (type.name == "F16") return narrow_f16;
  return type.name == "BF16" ? narrow_bf16 : nullptr;
}

/// An extent or offset. The JSON library would also convert 2.5 and, with undefined behaviour, 1e40.
std::int64_t whole_number(const std::string& at, const nlohmann::ordered_json& value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    throw UserError(at, str("shape and offsets must be whole numbers from 0 to ", most, ", got ", value.dump(), "; the file is damaged"));
  return value.get<std::int64_t>();
}

}  // namespace

void visit_safetensors(const std::filesystem::path& path, const ArrayVisitor& visit) {
  const std::string where = path.string();
  const runtime::InputFile file(path);
  std::uint64_t length = 0;
  if (file.size() < sizeof length) throw UserError(where, str("has ", file.size(), " bytes, too few for a safetensors file"));
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > longest_header || length > file.size() - sizeof length)
    throw UserError(where, str("the header claims ", length, " bytes, but ", file.size() - sizeof length, " follow (at most ", longest_header,
                               "); is this a safetensors file?"));
  std::string text(length, '\0');
  file.read(sizeof length, std::as_writable_bytes(std::span(text)));
  const std::uint64_t begin = sizeof length + length, bytes = file.size() - begin;

  struct Entry {
    std::string name;
    const SafetensorsType* type;
    std::vector<std::int64_t> shape = {};
    std::uint64_t first = 0, last = 0;
  };
  std::vector<Entry> entries;
  try {
    check_json_depth(text, deepest_header, where);
    const auto header = nlohmann::ordered_json::parse(text);
    if (!header.is_object()) throw UserError(where, "the header is no JSON object; the file is damaged");
    for (const auto& [name, value] : header.items()) {
      if (name == metadata_name) continue;
      require_name(where, name);
      const std::string at = str(where, ", ", name), type_name = value.at("dtype").get<std::string>();
      const auto type =
          std::find_if(safetensors_types.begin(), safetensors_types.end(), [&](const SafetensorsType& s) { return s.name == type_name; });
      if (type == safetensors_types.end()) throw UserError(at, str("element type ", type_name, " is not supported; store it as F32"));
      Entry entry{.name = name, .type = type};
      for (const auto& extent : value.at("shape").get_ref<const nlohmann::ordered_json::array_t&>()) entry.shape.push_back(whole_number(at, extent));
      const auto& offsets = value.at("data_offsets");
      entry.first = static_cast<std::uint64_t>(whole_number(at, offsets.at(0)));
      entry.last = static_cast<std::uint64_t>(whole_number(at, offsets.at(1)));
      if (entry.shape.size() > Shape::max_rank)
        throw UserError(at, str("has ", entry.shape.size(), " dimensions, at most ", Shape::max_rank, " are supported"));
      if (entry.first > entry.last || entry.last > bytes || claimed_bytes(entry.shape, type->size) != entry.last - entry.first)
        throw UserError(at, str("the header's shape and offsets [", entry.first, ", ", entry.last, ") do not fit each other or the ", bytes,
                                " bytes of tensors; the file is damaged or truncated"));
      entries.push_back(std::move(entry));
    }
  } catch (const nlohmann::json::exception& error) {
    throw UserError(where, str("the header is damaged (", error.what(), ")"));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return std::pair(a.first, a.last) < std::pair(b.first, b.last); });
  for (std::size_t i = 1; i < entries.size(); ++i)
    if (entries[i].first < entries[i - 1].last)
      throw UserError(where, str("tensors '", entries[i - 1].name, "' and '", entries[i].name, "' overlap; the file is damaged"));
  for (const Entry& e : entries) {
    ArrayReader array(str(where, ", ", e.name), e.type->dtype, e.shape, e.type->size, narrow_of(*e.type),
                      [&file, at = begin + e.first](std::span<std::byte> into) mutable {
                        file.read(at, into);
                        at += into.size();
                      });
    visit(e.name, array);
  }
}

NamedArrays read_safetensors(const std::filesystem::path& path) {
  NamedArrays arrays;
  visit_safetensors(path, [&](const std::string& name, ArrayReader& array) { arrays.emplace_back(name, array.array()); });
  return arrays;
}

void write_safetensors(const std::filesystem::path& path, const NamedArrays& arrays) { stream_safetensors(path, writers_of(path.string(), arrays)); }

void stream_safetensors(const std::filesystem::path& path, std::span<const ArrayWriter> arrays) {
  const std::string where = path.string();
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const ArrayWriter& array : arrays) {
    const std::string& name = array.name;
    if (!name.empty()) require_name(where, name);
    if (name.empty() || name == metadata_name || header.contains(name))
      throw UserError(where, str("needs a different name for each tensor, none of them '", metadata_name, "', got '", name, "'"));
    const auto type =
        std::find_if(safetensors_types.begin(), safetensors_types.end(), [&, d = array.dtype](const SafetensorsType& s) { return s.dtype == d; });
    header[name] = {{"dtype", type->name}, {"shape", array.shape}, {"data_offsets", {offset, offset + array.bytes()}}};
    offset += array.bytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // tensors begin at a multiple of 8
  const std::uint64_t length = text.size();
  runtime::AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  for (const ArrayWriter& array : arrays) for_each_part(array, [&](std::span<const std::byte> part) { file.write(part); });
  file.commit();
}

}  // namespace sinter::data
