// Text that XML and SVG are made of. Nothing here depends on the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinter::report {

/// For text and attributes: & < > and quotes as entities; what is no UTF-8 or no character of XML 1.0 becomes U+FFFD.
std::string escaped(std::string_view text);
/// Code points, which is how wide a monospaced text is.
std::size_t glyphs(std::string_view utf8);
/// The text, or its end behind "…" if it has more code points than `most`.
std::string shortened(std::string_view utf8, std::size_t most);
/// With so many digits behind the point: "12.50".
std::string fixed(double number, int digits);
/// With so many significant digits and no zeros at the end: "0.0125", "1.5e-7", "NaN".
std::string significant(double number, int digits);
/// A coordinate: a tenth of a pixel is enough.
inline std::string px(double number) { return fixed(number, 1); }
/// "val_top_2_accuracy" as "Val top 2 accuracy".
std::string title_of(std::string_view name);

}  // namespace sinter::report
