#include "frontend/data/npz.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <new>
#include <set>

#include "frontend/core/name.h"
#include "frontend/data/npy.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

constexpr std::string_view extension = ".npy";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

Archive open(const runtime::InputFile& file, const std::string& where) {
  int code = 0;
  const int descriptor = file.duplicate();
  if (zip_t* const archive = zip_fdopen(descriptor, ZIP_CHECKCONS, &code)) return Archive(archive);
  ::close(descriptor);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw UserError(where, str("cannot be opened as a zip archive (", reason, ")"));
}

std::vector<std::byte> unpack(const Archive& archive, zip_uint64_t member, const zip_stat_t& entry, const std::string& where) {
  // Deflate expands one byte to at most 1032: a larger claim is damage or an attempt to exhaust memory.
  if (entry.size > entry.comp_size * 1032 + 64) throw UserError(where, str("claims to unpack to ", entry.size, " bytes from ", entry.comp_size));
  std::vector<std::byte> bytes(entry.size);
  const std::unique_ptr<zip_file_t, Discard> file(zip_fopen_index(archive.get(), member, 0));
  std::size_t have = 0;
  while (file && have < bytes.size()) {
    const zip_int64_t count = zip_fread(file.get(), bytes.data() + have, bytes.size() - have);
    if (count <= 0) break;
    have += static_cast<std::size_t>(count);
  }
  if (!file || have < bytes.size()) throw UserError(where, "is damaged or packed in a way that cannot be read; copy or write the file again");
  return bytes;
}

}  // namespace

NamedArrays read_npz(const std::filesystem::path& path) {
  const std::string where = path.string();
  const runtime::InputFile file(path);
  const Archive archive = open(file, where);
  std::vector<zip_stat_t> members(static_cast<std::size_t>(std::max<zip_int64_t>(0, zip_get_num_entries(archive.get(), 0))));
  // Members do not overlap in the file: together they are no larger than it, or some bytes would be decompressed repeatedly.
  std::uint64_t left = file.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    zip_stat_t& entry = members[i];
    if (zip_stat_index(archive.get(), i, 0, &entry) != 0 || (entry.valid & needed) != needed)
      throw UserError(where, str("member ", i, " cannot be read; the file is damaged"));
    if (entry.comp_size > left)
      throw UserError(str(where, ", ", entry.name), str("claims ", entry.comp_size, " bytes of the file, which has ", left, " left; it is damaged"));
    left -= entry.comp_size;
  }
  NamedArrays arrays;
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::string name = members[i].name;
    const std::string at = str(where, ", ", name);
    if (!name.ends_with(extension)) throw UserError(at, "is no .npy file; an .npz holds nothing else");
    name.resize(name.size() - extension.size());
    require_name(where, name);
    arrays.emplace_back(name, parse_npy(unpack(archive, i, members[i], at), at));
  }
  return arrays;
}

void write_npz(const std::filesystem::path& path, const NamedArrays& arrays) {
  const std::string where = path.string();
  if (arrays.empty()) throw UserError(where, "there are no arrays to write; an .npz file holds at least one");
  runtime::AtomicFile file(path);               // libzip would replace a device, so it writes to memory
  std::vector<std::vector<std::byte>> members;  // alive until the archive is closed
  members.reserve(arrays.size());
  const Source memory(zip_source_buffer_create(nullptr, 0, 0, nullptr));
  Archive archive(memory ? zip_open_from_source(memory.get(), ZIP_CREATE | ZIP_TRUNCATE, nullptr) : nullptr);
  if (!archive) throw std::bad_alloc();
  zip_source_keep(memory.get());  // the archive has a reference of its own
  std::set<std::string> names;
  for (const auto& [name, array] : arrays) {
    if (!name.empty()) require_name(where, name);
    if (name.empty() || !names.insert(name).second) throw UserError(where, str("needs a different name for each array, got '", name, "'"));
    members.push_back(npy_bytes(array, str(where, ", ", name)));
    zip_source_t* source = zip_source_buffer(archive.get(), members.back().data(), members.back().size(), 0);
    const zip_int64_t member = zip_file_add(archive.get(), (name + std::string(extension)).c_str(), source, ZIP_FL_ENC_UTF_8);
    if (member < 0) {
      zip_source_free(source);
      throw InternalError("npz", str("the archive in memory cannot hold '", name, "' (", zip_strerror(archive.get()), ")"));
    }
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(member), ZIP_CM_STORE, 0);
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(member), 315532800, 0);  // 1980, so that equal arrays give equal files
  }
  if (zip_close(archive.get()) != 0) throw UserError(where, str("cannot be written (", zip_strerror(archive.get()), ")"));
  archive.release();
  std::vector<std::byte> block(std::size_t{1} << 16);
  zip_int64_t count = zip_source_open(memory.get());
  while (count >= 0 && (count = zip_source_read(memory.get(), block.data(), block.size())) > 0)
    file.write(std::span(block).first(static_cast<std::size_t>(count)));
  if (count < 0) throw InternalError("npz", "the archive in memory cannot be read");
  file.commit();
}

}  // namespace sinter::data
