// What the readers of PNG and JPEG files share.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "frontend/data/array.h"

namespace sinter::data {

using FileBytes = std::span<const unsigned char>;

/// The way out of a C library: its error handler calls fail(), which returns to run().
class Escape {
 public:
  /// Whether f() ended without an error. Objects of f, and of what it calls, must have no destructors, since fail() passes over these.
  template <class F>
  bool run(F&& f) {
    if (setjmp(place_)) return false;
    f();
    return true;
  }
  /// Within run().
  [[noreturn]] void fail(const char* message);
  const char* message() const { return message_.data(); }

 private:
  std::jmp_buf place_{};
  std::array<char, 200> message_{};
};

/// u8 [height, width, channels], of zeros. `most`: the pixels that a file of this size can hold. Throws UserError for more, before memory is taken,
/// and for more than 2^28.
HostArray empty_image(const std::string& path, std::uint64_t height, std::uint64_t width, int channels, double most);

/// Row y of an image.
unsigned char* row_of(HostArray& image, std::size_t y);

/// A row of stored pixels as pixels of 1 or 3 channels. `stored` bytes make a pixel: 1 is grey, 3 are red, green and blue. 2 and 4 have a factor
/// behind these by which they are multiplied (round(v · factor / 255)): alpha, over black, or the black of inverted CMYK. Colours become grey as in
/// ITU-R BT.601: 0.299 red + 0.587 green + 0.114 blue, in the 16-bit fixed point of libjpeg and Pillow.
void write_row(const unsigned char* from, int stored, std::size_t pixels, unsigned char* to, int channels);

/// Throw UserError for a file that is damaged, or of a kind that is not read.
HostArray read_png(const std::string& path, FileBytes data, int channels);
HostArray read_jpeg(const std::string& path, FileBytes data, int channels);

}  // namespace sinter::data
