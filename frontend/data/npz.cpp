#include "frontend/data/npz.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
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

/// A member of an archive, unpacked in order.
class Member {
 public:
  Member(const Archive& archive, zip_uint64_t index, const zip_stat_t& entry, const std::string& where)
      : where_(where), file_(zip_fopen_index(archive.get(), index, 0)) {
    // Deflate expands one byte to at most 1032: a larger claim is damage or an attempt to exhaust memory.
    if (entry.size > entry.comp_size * 1032 + 64) throw UserError(where, str("claims to unpack to ", entry.size, " bytes from ", entry.comp_size));
    if (!file_) fail();
    const std::size_t have = std::min<zip_uint64_t>(entry.size, start_.size());
    unpack(std::span(start_).first(have));
  }

  /// From where the last read ended, or from one of the first bytes on.
  void read(std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t again = offset < start_.size() ? std::min(start_.size() - offset, into.size()) : 0;
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(again ? offset : 0), again, into.begin());
    unpack(into.subspan(again));
  }

 private:
  void unpack(std::span<std::byte> into) {
    while (!into.empty()) {
      const zip_int64_t count = zip_fread(file_.get(), into.data(), into.size());
      if (count <= 0) fail();
      into = into.subspan(static_cast<std::size_t>(count));
    }
  }
  [[noreturn]] void fail() const { throw UserError(where_, "is damaged or packed in a way that cannot be read; copy or write the file again"); }

  const std::string& where_;
  std::unique_ptr<zip_file_t, Discard> file_;
  std::array<std::byte, 12> start_{};
};

/// What libzip reads when it closes an archive: an .npy file of an array.
class Content {
 public:
  explicit Content(const ArrayWriter& array) : array_(array), start_(npy_start(array.dtype, array.shape)) {}

  std::uint64_t size() const { return start_.size() + array_.bytes(); }
  /// zip_source_callback.
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    Content& content = *static_cast<Content*>(self);
    switch (command) {
      case ZIP_SOURCE_OPEN:
        content.at_ = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return content.read(std::span(static_cast<std::byte*>(data), length));
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:  // it belongs to the caller
        return 0;
      case ZIP_SOURCE_STAT: {
        auto& entry = *static_cast<zip_stat_t*>(data);
        zip_stat_init(&entry);
        entry.size = content.size();
        entry.valid = ZIP_STAT_SIZE;
        return sizeof entry;
      }
      case ZIP_SOURCE_ERROR: {
        const int none[2] = {ZIP_ER_OK, 0};
        std::memcpy(data, none, sizeof none);
        return sizeof none;
      }
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                              -1);
      default:
        return -1;
    }
  }

 private:
  zip_int64_t read(std::span<std::byte> into) {
    into = into.first(std::min<std::uint64_t>(into.size(), size() - at_));
    const std::size_t before = at_ < start_.size() ? std::min<std::uint64_t>(start_.size() - at_, into.size()) : 0;
    std::memcpy(into.data(), start_.data() + (before ? at_ : 0), before);
    if (into.size() > before) array_.read(at_ + before - start_.size(), into.subspan(before));
    at_ += into.size();
    return static_cast<zip_int64_t>(into.size());
  }

  const ArrayWriter& array_;
  const std::string start_;
  std::uint64_t at_ = 0;
};

}  // namespace

void visit_npz(const std::filesystem::path& path, const ArrayVisitor& visit) {
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
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::string name = members[i].name;
    const std::string at = str(where, ", ", name);
    if (!name.ends_with(extension)) throw UserError(at, "is no .npy file; an .npz holds nothing else");
    name.resize(name.size() - extension.size());
    require_name(where, name);
    Member member(archive, i, members[i], at);
    ArrayReader array = open_npy({members[i].size, [&](std::uint64_t offset, std::span<std::byte> into) { member.read(offset, into); }}, at);
    visit(name, array);
  }
}

NamedArrays read_npz(const std::filesystem::path& path) {
  NamedArrays arrays;
  visit_npz(path, [&](const std::string& name, ArrayReader& array) { arrays.emplace_back(name, array.array()); });
  return arrays;
}

void write_npz(const std::filesystem::path& path, const NamedArrays& arrays) { stream_npz(path, writers_of(path.string(), arrays)); }

void stream_npz(const std::filesystem::path& path, std::span<const ArrayWriter> arrays) {
  const std::string where = path.string();
  if (arrays.empty()) throw UserError(where, "there are no arrays to write; an .npz file holds at least one");
  runtime::AtomicFile file(path);  // libzip would replace a device, so it writes to memory
  std::deque<Content> contents;    // alive until the archive is closed
  const Source memory(zip_source_buffer_create(nullptr, 0, 0, nullptr));
  Archive archive(memory ? zip_open_from_source(memory.get(), ZIP_CREATE | ZIP_TRUNCATE, nullptr) : nullptr);
  if (!archive) throw std::bad_alloc();
  zip_source_keep(memory.get());  // the archive has a reference of its own
  std::set<std::string> names;
  for (const ArrayWriter& array : arrays) {
    const std::string& name = array.name;
    if (!name.empty()) require_name(where, name);
    if (name.empty() || !names.insert(name).second) throw UserError(where, str("needs a different name for each array, got '", name, "'"));
    zip_source_t* source = zip_source_function(archive.get(), &Content::call, &contents.emplace_back(array));
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
