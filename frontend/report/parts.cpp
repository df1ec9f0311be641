#include "frontend/report/parts.h"

#include "frontend/report/markup.h"
#include "ir/error.h"

namespace sinter::report {

std::string section(const std::string& id, const std::string& title, const std::string& content) {
  return str("<section id=\"", id, "\">\n<h2>", escaped(title), "</h2>\n", content, "</section>\n");
}

std::string paragraph(const std::string& text) { return "<p class=\"soft\">" + escaped(text) + "</p>\n"; }
std::string card(const std::string& content) { return "<div class=\"card\">" + content + "</div>\n"; }
std::string folded(const std::string& summary, const std::string& content) {
  return "<details><summary>" + escaped(summary) + "</summary>\n" + content + "</details>\n";
}

std::string tiles(const std::vector<Figure>& figures) {
  std::string out = "<div class=\"tiles\">\n";
  for (const auto& [name, value] : figures)
    out += str("<div class=\"tile\"><div class=\"side\">", escaped(name), "</div><div class=\"value\">", escaped(value), "</div></div>\n");
  return out + "</div>\n";
}

Chart small_chart(const std::string& title, const std::string& x_label, const std::string& y_label) {
  return {.title = title, .x_label = x_label, .y_label = y_label, .series = {}, .width = 440, .height = 310};
}

std::string side_by_side(const std::vector<Chart>& charts) {
  std::string out = "<div class=\"charts\">\n";
  for (const Chart& chart : charts) out += draw(chart);
  return out + "</div>\n";
}

}  // namespace sinter::report
