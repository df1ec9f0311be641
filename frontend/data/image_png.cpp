// PNG files by libpng, as stored: its simplified interface would convert values between gammas, and blend and mix them as amounts of light.
#include <png.h>

#include <cstring>
#include <new>
#include <vector>

#include "frontend/data/image_decoder.h"
#include "ir/error.h"

namespace sinter::data {

namespace {

void on_error(png_structp png, png_const_charp message) { static_cast<Escape*>(png_get_error_ptr(png))->fail(message); }
void on_warning(png_structp, png_const_charp) {}
void on_read(png_structp png, png_bytep to, std::size_t count) {
  FileBytes& rest = *static_cast<FileBytes*>(png_get_io_ptr(png));
  if (count > rest.size()) png_error(png, "it ends too early");
  std::memcpy(to, rest.data(), count);
  rest = rest.subspan(count);
}

class PngFile {
 public:
  PngFile(const std::string& path, FileBytes data)
      : path_(path),
        size_(static_cast<double>(data.size())),
        rest_(data),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &escape_, on_error, on_warning)),
        info_(png_ ? png_create_info_struct(png_) : nullptr) {}
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  HostArray read(int channels) {
    if (!info_) throw std::bad_alloc();
    guarded([this] { read_header(); });
    const std::size_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
    const int bits = png_get_channels(png_, info_) * png_get_bit_depth(png_, info_);
    constexpr double deflate_ratio = 1032;  // the most bytes that deflate expands one byte to
    HostArray image = empty_image(path_, height, width, channels, size_ * deflate_ratio * 8 / bits);
    int passes = 0;
    guarded([&] { passes = convert_to_bytes(); });
    const int stored = png_get_channels(png_, info_);
    const std::size_t stride = png_get_rowbytes(png_, info_);
    const std::size_t kept = passes > 1 ? 1 : 0;  // each pass of an interlaced image adds pixels to all rows
    std::vector<unsigned char> rows(kept ? height * stride : stride);
    guarded([&] {
      for (int pass = 1; pass <= passes; ++pass)
        for (std::size_t y = 0; y < height; ++y) {
          unsigned char* row = rows.data() + kept * y * stride;
          png_read_row(png_, row, nullptr);
          if (pass == passes) write_row(row, stored, width, row_of(image, y), channels);
        }
      png_read_end(png_, nullptr);
    });
    return image;
  }

 private:
  template <class F>
  void guarded(F&& f) {
    if (!escape_.run(f)) throw UserError(path_, str("is a damaged PNG file: ", escape_.message(), "; copy or download it again"));
  }

  void read_header() {
    png_set_read_fn(png_, &rest_, on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);             // empty_image has the limit
    png_set_crc_action(png_, PNG_CRC_DEFAULT, PNG_CRC_ERROR_QUIT);           // or a damaged tRNS would make all pixels opaque
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // what says how to show values (gAMA, iCCP) is not even unpacked
    png_set_option(png_, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);         // some writers claim too small a window
    png_read_info(png_, info_);
  }

  /// Chooses 8 bits a value, and alpha where there is transparency. Returns how often the rows are to be read.
  int convert_to_bytes() {
    const int colour = png_get_color_type(png_, info_);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    if (png_get_valid(png_, info_, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(png_);  // compares all 16 bits, before
    png_set_strip_16(png_);                                                      // keeps the high byte
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return passes;
  }

  const std::string& path_;
  double size_;
  FileBytes rest_;
  Escape escape_;
  png_structp png_;
  png_infop info_;
};

}  // namespace

HostArray read_png(const std::string& path, FileBytes data, int channels) { return PngFile(path, data).read(channels); }

}  // namespace sinter::data
