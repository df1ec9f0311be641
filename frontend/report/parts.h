// The parts of which the page is made.
#pragma once

#include <string>
#include <vector>

#include "frontend/report/chart.h"

namespace sinter::report {

std::string section(const std::string& id, const std::string& title, const std::string& content);
/// A note in a soft colour; the text is escaped.
std::string paragraph(const std::string& text);
std::string card(const std::string& content);
std::string folded(const std::string& summary, const std::string& content);

/// Figures with their names above them, side by side.
struct Figure {
  std::string name, value;
};
std::string tiles(const std::vector<Figure>& figures);

/// A chart without series, of the size of those that stand side by side where there is room.
Chart small_chart(const std::string& title, const std::string& x_label, const std::string& y_label);
std::string side_by_side(const std::vector<Chart>& charts);

}  // namespace sinter::report
