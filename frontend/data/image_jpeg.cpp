// JPEG files by libjpeg-turbo, with its defaults as in Pillow: the accurate integer transform, and chroma interpolated.
#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <vector>

#include "frontend/data/image_decoder.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

struct Errors : jpeg_error_mgr {
  Escape escape;
};

void on_error(j_common_ptr jpeg) {
  std::array<char, JMSG_LENGTH_MAX> text{};
  jpeg->err->format_message(jpeg, text.data());
  static_cast<Errors*>(jpeg->err)->escape.fail(text.data());
}

/// Warnings that pixels are lost are errors. The others, as of bytes between two parts of a file, change nothing.
void on_message(j_common_ptr jpeg, int level) {
  constexpr std::array losses{JWRN_ARITH_BAD_CODE, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_JPEG_EOF, JWRN_MUST_RESYNC};
  if (level < 0 && std::find(losses.begin(), losses.end(), jpeg->err->msg_code) != losses.end()) on_error(jpeg);
}

/// Each scan of a progressive file passes over the whole image, however few bytes it has.
void on_progress(j_common_ptr jpeg) {
  constexpr int most_scans = 500;  // as in TurboJPEG
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > most_scans)
    static_cast<Errors*>(jpeg->err)->escape.fail("it has more than 500 scans");
}

class JpegFile {
 public:
  JpegFile(const std::string& path, FileBytes data) : path_(path), data_(data) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    progress_.progress_monitor = on_progress;
  }
  ~JpegFile() { jpeg_destroy_decompress(&jpeg_); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  HostArray read(int channels) {
    guarded([this] { read_header(); });
    const std::size_t width = jpeg_.image_width;
    constexpr double block = 64;  // pixels, for which Huffman coding takes at least a bit
    HostArray image = empty_image(path_, jpeg_.image_height, width, channels, static_cast<double>(data_.size()) * 8 * block);
    const int stored = jpeg_.num_components == 3 ? channels : jpeg_.num_components;
    if (stored != 1 && stored != 3 && stored != 4) fail(str("has ", stored, " components"));
    jpeg_.out_color_space = stored == 1 ? JCS_GRAYSCALE : stored == 3 ? JCS_RGB : JCS_CMYK;
    std::vector<unsigned char> row(width * static_cast<std::size_t>(stored));
    guarded([&] {
      jpeg_start_decompress(&jpeg_);
      for (std::size_t y = 0; y < jpeg_.image_height; ++y) {
        JSAMPROW to = row.data();
        jpeg_read_scanlines(&jpeg_, &to, 1);
        write_row(row.data(), stored, width, row_of(image, y), channels);  // CMYK is stored inverted, as Adobe's programs do
      }
      jpeg_finish_decompress(&jpeg_);
    });
    return image;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw UserError(path_, str("is a JPEG file of a kind that is not read: ", reason, "; save it as a usual one, or as PNG"));
  }

  template <class F>
  void guarded(F&& f) {
    if (errors_.escape.run(f)) return;
    constexpr std::array kinds{JERR_ARITH_NOTIMPL, JERR_BAD_PRECISION, JERR_CONVERSION_NOTIMPL, JERR_SOF_UNSUPPORTED};
    if (std::find(kinds.begin(), kinds.end(), errors_.msg_code) != kinds.end()) fail(errors_.escape.message());
    throw UserError(path_, str("is a damaged JPEG file: ", errors_.escape.message(), "; copy or download it again"));
  }

  void read_header() {
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, data_.data(), data_.size());
    jpeg_read_header(&jpeg_, TRUE);
  }

  const std::string& path_;
  FileBytes data_;
  Errors errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct jpeg_{};
};

}  // namespace

HostArray read_jpeg(const std::string& path, FileBytes data, int channels) { return JpegFile(path, data).read(channels); }

}  // namespace sinter::data
