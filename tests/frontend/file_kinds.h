// A small file of every kind that Sinter reads, for tests of damaged and hostile files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>

namespace sinter::test {

struct FileKind {
  std::string name;
  std::string (*sound)();                                  ///< the bytes of a file
  std::string (*read)(const std::filesystem::path& path);  ///< its content
  bool sized = true;                                       ///< the format says how much there is: a file that is cut has an error or the same content
  bool checked = false;                                    ///< it has checksums: a changed bit is an error or changes nothing
  std::size_t step = 1;                                    ///< of the bits that are changed: 1 for all of them
  std::int64_t memory = 1 << 20;                           ///< that reading may take
  std::string (*finish)(std::string) = [](std::string bytes) { return bytes; };  ///< after the damage
};
void PrintTo(const FileKind& kind, std::ostream* out);

std::span<const FileKind> file_kinds();

/// Writes the bytes to the file, in place: some file systems flush a file that is emptied and written anew.
void overwrite(const std::filesystem::path& path, const std::string& bytes);

/// Two of the files.
std::string keras_file();
std::string jpeg_file();

}  // namespace sinter::test
