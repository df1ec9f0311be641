// The part of HDF5 that Keras writes: version 0 of the format, groups that are symbol tables, attributes that are lists of texts, and contiguous data
// sets of floating-point numbers. Everything else in the format, such as links to other files, external data and filters, is refused by name, so no
// file is read but the one that is opened. https://docs.hdfgroup.org/hdf5/v1_10/_f_m_t3.html, "HDF5 File Format Specification Version 3.0".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/data/array_stream.h"
#include "runtime/file/disk.h"

namespace sinter::weights {

class Hdf5File {
 public:
  /// Throws UserError for a missing file, another kind of file, and another version of HDF5.
  explicit Hdf5File(const std::filesystem::path& path);

  /// The address of a group or of a data set in the file.
  using Object = std::uint64_t;
  using Members = std::vector<std::pair<std::string, Object>>;
  struct Group {
    Members members;                                 ///< by their names in order
    std::vector<std::vector<std::byte>> attributes;  ///< as the file describes them: for texts()

    /// The member of this name; null if there is none.
    const Object* find(std::string_view name) const;
  };

  Object root() const { return root_; }
  /// `name` is what messages call the group. Each object is read once; all reads together are no larger than the file. Throws UserError
  /// `[file, name] …` for what is no group, for links that are not hard links, and for a damaged file.
  Group group(Object group, const std::string& name);
  /// The attribute of this name, a list of texts of at most 1,000 bytes, or nothing if the group has none. Throws UserError `[file, name] …`
  /// for another attribute of this name, and for a damaged file.
  std::optional<std::vector<std::string>> texts(const Group& group, std::string_view name, const std::string& group_name);
  /// Numbers of 16, 32 or 64 bits as f32, to be read while this lives. Throws UserError `[file, name] …` for other data sets, values beyond f32, and
  /// a damaged file.
  data::ArrayReader read(Object data_set, const std::string& name);

 private:
  struct Message;
  class Reader;
  struct Attribute;
  /// So many bytes at an offset are about to be read; none may be twice.
  void claim(std::uint64_t offset, std::uint64_t size, const std::string& where);
  /// Reads them.
  std::vector<std::byte> block(std::uint64_t offset, std::uint64_t size, const std::string& where);
  std::vector<Message> header(Object object, const std::string& where);
  static std::vector<std::int64_t> extents(Reader& of_space);
  /// The text that the next bytes refer to.
  std::string_view referenced(Reader& reader);
  /// The texts of a collection at this address, by their numbers there; each collection is read once.
  const std::map<std::uint32_t, std::string>& collection(std::uint64_t address, const std::string& where);
  void add_members(Members& members, std::uint64_t node, int level, const std::vector<std::byte>& names, const std::string& where);

  std::string path_;
  runtime::InputFile file_;
  std::uint64_t left_;  ///< bytes that have not been read
  Object root_ = 0;
  std::map<std::uint64_t, std::map<std::uint32_t, std::string>> collections_;
};

}  // namespace sinter::weights
