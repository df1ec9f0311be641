// Text for XML and SVG. Nothing here depends on the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::report {

/// For text and attributes: & < > and quotes as entities; invalid UTF-8 and characters outside of XML 1.0 become U+FFFD.
std::string escaped(std::string_view text);
/// The number of code points, the width of a monospaced text.
std::size_t glyphs(std::string_view utf8);
/// The text, or "…" and its end if it has more code points than `most`.
std::string shortened(std::string_view utf8, std::size_t most);
/// With so many decimals: "12.50".
std::string fixed(double number, int digits);
/// With so many significant digits and no zeros at the end: "0.0125", "1.5e-7", "NaN".
std::string significant(double number, int digits);
/// A coordinate: a tenth of a pixel is enough.
inline std::string px(double number) { return fixed(number, 1); }
/// "val_top_2_accuracy" as "Val top 2 accuracy".
std::string title_of(std::string_view name);

}  // namespace sinter::report
