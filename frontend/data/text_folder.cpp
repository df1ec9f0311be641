#include "frontend/data/text_folder.h"

#include <algorithm>
#include <filesystem>

#include "frontend/data/encoding.h"
#include "frontend/data/entries.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

std::string text_of_file(const std::filesystem::path& path, const std::string& encoding) {
  const std::string where = path.string();
  const runtime::InputFile file(path);
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  std::string text;
  Decoder decoder(where, encoding);
  if (!decoder.decode(bytes, text) || !decoder.complete())
    throw UserError(where, str("the bytes are not of the encoding '", encoding, "'; give that of the file, as latin1 or cp1252"));
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  if (text.find('\0') != text.npos) throw UserError(where, "has the character 0, which no text has");
  return text;
}

}  // namespace

Table read_text_folder(const std::string& folder, const TextFolderOptions& options) {
  std::vector<std::filesystem::path> parts = entries(folder, true);
  const auto is_called = [](const std::string& name) { return [&name](const std::filesystem::path& part) { return part.filename() == name; }; };
  for (const std::string& name : options.classes)
    if (std::none_of(parts.begin(), parts.end(), is_called(name))) throw UserError(folder, str("has no subfolder '", name, "'"));
  if (!options.classes.empty())
    std::erase_if(parts, [&](const std::filesystem::path& part) {
      return std::find(options.classes.begin(), options.classes.end(), part.filename().string()) == options.classes.end();
    });
  if (parts.empty()) throw UserError(folder, "needs a subfolder with texts for each class");
  Table table({"class", "text"});
  for (const std::filesystem::path& part : parts) {
    const std::vector<std::filesystem::path> files = entries(part, false);
    if (files.empty()) throw UserError(part.string(), "holds no texts; remove it, or put some into it");
    for (const std::filesystem::path& file : files) table.add_row({part.filename().string(), text_of_file(file, options.encoding)});
  }
  return table;
}

}  // namespace sinter::data
