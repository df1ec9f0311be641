#include "frontend/data/image_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "frontend/data/image_decoder.h"
#include "ir/error.h"
#include "runtime/file/disk.h"

namespace sinter::data {

namespace {

using namespace std::string_view_literals;

/// Without the mark of UTF-8 and white space in front.
std::string_view image_text_of(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
}

/// What a file that is neither PNG nor JPEG is, by its first bytes; "" if they do not say it.
std::string_view other_kind(std::string_view head) {
  const auto has = [&](std::size_t at, std::string_view bytes) { return head.substr(std::min(at, head.size())).starts_with(bytes); };
  const auto brand = [&](std::string_view name) { return has(4, "ftyp") && head.substr(8, 40).find(name) != head.npos; };
  std::string text(image_text_of(head));
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto tag = [&](std::string_view name) { return text.starts_with("<") && text.find(name) != text.npos; };
  const std::array<std::pair<bool, std::string_view>, 12> kinds{{{has(0, "RIFF") && has(8, "WEBP"), "a WebP picture"},
                                                                 {has(0, "GIF8"), "a GIF picture"},
                                                                 {has(0, "BM") && has(6, "\0\0\0\0"sv), "a BMP picture"},
                                                                 {has(0, "II*\0"sv) || has(0, "MM\0*"sv), "a TIFF picture"},
                                                                 {brand("avif") || brand("avis"), "an AVIF picture"},
                                                                 {brand("hei") || brand("hev") || brand("mif1"), "a HEIC picture"},
                                                                 {has(0, "\0\0\0\x0cjP  "sv), "a JPEG 2000 picture"},
                                                                 {has(0, "\xff\x0a") || has(0, "\0\0\0\x0cJXL "sv), "a JPEG XL picture"},
                                                                 {has(0, "8BPS"), "a Photoshop picture"},
                                                                 {has(0, "%PDF"), "a PDF document"},
                                                                 {tag("<!doctype html") || tag("<html"), "an HTML page"},
                                                                 {tag("<svg"), "an SVG picture"}}};
  for (const auto& [is, name] : kinds)
    if (is) return name;
  return {};
}

}  // namespace

void check_channels(const std::string& where, int channels) {
  if (channels != 1 && channels != 3) throw UserError(where, str("images have 1 or 3 channels, got ", channels));
}

HostArray read_image(const std::filesystem::path& path, int channels) {
  const std::string name = path.string();
  check_channels(name, channels);
  const runtime::InputFile file(path);
  std::vector<unsigned char> data(file.size());
  file.read(0, std::as_writable_bytes(std::span(data)));
  const std::string_view head(reinterpret_cast<const char*>(data.data()), std::min<std::size_t>(data.size(), 1024));
  if (head.starts_with("\x89PNG")) return read_png(name, data, channels);
  if (head.starts_with("\xff\xd8")) return read_jpeg(name, data, channels);
  if (head.empty()) throw UserError(name, "is empty, and no PNG or JPEG file; copy or download it again");
  const std::string_view kind = other_kind(head);
  if (kind.empty()) throw UserError(name, "is neither a PNG nor a JPEG file; convert it to one of them");
  throw UserError(
      name, str("is ", kind, ", and no PNG or JPEG file; ", kind == "an HTML page" ? "download the picture itself" : "convert it to one of them"));
}

}  // namespace sinter::data
