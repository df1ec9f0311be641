// Pictures within the page.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sinter::report {

/// The pixels as a PNG file in a data URI. `channels`: 1 (grey) or 3 (red, green, blue); row-major, channels last.
std::string png_uri(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width, std::size_t channels);

}  // namespace sinter::report
