#include "frontend/core/nearest.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"

namespace sinter {

namespace {

/// As patterns match: `*` costs nothing, whatever it stands for, and neither does `?` for a character.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    const bool any_text = a[i] == '*';
    row[0] += !any_text;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      if (any_text) row[j + 1] = std::min(above, row[j]);
      else row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j] && a[i] != '?')});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  const auto nearer = [&](const std::string& a, const std::string& b) { return distance(name, a) < distance(name, b); };
  const auto best = std::min_element(known.begin(), known.end(), nearer);
  return best == known.end() ? "" : *best;
}

bool matches(const std::string& pattern, const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; }

std::string nearest_hint(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : str("; the nearest is '", nearest, "'");
}

}  // namespace sinter
