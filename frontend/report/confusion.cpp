// Tables of what is taken for what.
#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/core/counted.h"
#include "frontend/report/classification.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

constexpr std::size_t most_in_matrix = 20, most_confusions = 30, most_in_table = 100, longest_name = 18;

using Counts = std::map<std::pair<std::int32_t, std::int32_t>, std::size_t>;  ///< by truth and answer

Counts counts_of(const Judgement& judgement) {
  Counts counts;
  for (std::size_t i = 0; i < judgement.answers(); ++i) ++counts[{judgement.truth[i], judgement.said[i]}];
  return counts;
}

std::size_t count(const Counts& counts, std::int32_t truth, std::int32_t said) {
  const auto found = counts.find({truth, said});
  return found == counts.end() ? 0 : found->second;
}

struct ClassFigures {
  std::int32_t number;
  std::size_t right = 0, actual = 0, predicted = 0;
  double precision() const { return predicted ? static_cast<double>(right) / static_cast<double>(predicted) : NAN; }
  double recall() const { return actual ? static_cast<double>(right) / static_cast<double>(actual) : NAN; }
  double f1() const { return actual + predicted ? 2 * static_cast<double>(right) / static_cast<double>(actual + predicted) : NAN; }
};

std::vector<ClassFigures> figures_of(const Counts& counts, std::size_t classes) {
  std::vector<ClassFigures> figures;
  for (std::size_t c = 0; c < classes; ++c) figures.push_back({static_cast<std::int32_t>(c)});
  for (const auto& [pair, n] : counts) {
    figures[static_cast<std::size_t>(pair.first)].actual += n;
    if (pair.second == Judgement::no_class) continue;
    figures[static_cast<std::size_t>(pair.second)].predicted += n;
    if (pair.first == pair.second) figures[static_cast<std::size_t>(pair.first)].right += n;
  }
  return figures;
}

/// A class's name, shortened, with the whole of it as a tooltip.
std::string heading(const char* kind, const std::string& name) {
  return str("<th class=\"", kind, "\" title=\"", escaped(name), "\">", escaped(shortened(name, longest_name)), "</th>");
}

std::string cell(std::size_t n, std::size_t of, bool right) {
  const double share = of ? static_cast<double>(n) / static_cast<double>(of) : 0;
  return str("<td class=\"", right ? "right" : "wrong", "\" style=\"--a:", n ? fixed(0.08 + 0.52 * share, 2) : "0", "\" title=\"",
             fixed(share * 100, 1), " %\">", n, "</td>");
}

std::string matrix(const Judgement& judgement, const Counts& counts) {
  const std::vector<ClassFigures> figures = figures_of(counts, judgement.classes);
  std::vector<std::int32_t> columns;
  for (const ClassFigures& figure : figures) columns.push_back(figure.number);
  if (std::find(judgement.said.begin(), judgement.said.end(), Judgement::no_class) != judgement.said.end()) columns.push_back(Judgement::no_class);
  std::string out = "<table class=\"confusion\">\n<thead><tr><th class=\"corner\">true \\ predicted</th>";
  for (const std::int32_t c : columns) out += heading("number", judgement.class_name(c));
  out += "</tr></thead>\n<tbody>\n";
  for (const ClassFigures& row : figures) {
    out += "<tr>" + heading("class", judgement.class_name(row.number));
    for (const std::int32_t c : columns) out += cell(count(counts, row.number, c), row.actual, row.number == c);
    out += "</tr>\n";
  }
  return card(out + "</tbody>\n</table>\n") + paragraph("Rows are the true classes, columns the predicted ones; shades are shares of a row.");
}

std::string most_frequent(const Judgement& judgement, const Counts& counts) {
  std::vector<std::pair<std::size_t, std::pair<std::int32_t, std::int32_t>>> wrong;
  for (const auto& [pair, n] : counts)
    if (pair.first != pair.second) wrong.push_back({n, pair});
  std::sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  const std::size_t all = wrong.size(), shown = std::min(all, most_confusions);
  wrong.resize(shown);
  std::string out =
      "<table class=\"confusions\">\n<thead><tr><th>true class</th><th>predicted</th><th class=\"number\">samples</th></tr></thead>\n<tbody>\n";
  for (const auto& [n, pair] : wrong)
    out += str("<tr>", "<td>", escaped(judgement.class_name(pair.first)), "</td><td>", escaped(judgement.class_name(pair.second)),
               "</td><td class=\"number\">", n, "</td></tr>\n");
  return card(out + "</tbody>\n</table>\n") +
         paragraph(str("The ", shown, " most frequent of ", all, " confusions among ", judgement.classes, " classes."));
}

}  // namespace

std::string confusion_table(const Judgement& judgement) {
  const Counts counts = counts_of(judgement);
  return judgement.classes <= most_in_matrix ? matrix(judgement, counts) : most_frequent(judgement, counts);
}

std::string class_table(const Judgement& judgement) {
  std::vector<ClassFigures> figures = figures_of(counts_of(judgement), judgement.classes);
  std::string note;
  if (figures.size() > most_in_table) {
    std::erase_if(figures, [](const ClassFigures& f) { return f.actual + f.predicted == 0; });
    std::sort(figures.begin(), figures.end(),
              [](const ClassFigures& a, const ClassFigures& b) { return a.f1() != b.f1() ? a.f1() < b.f1() : a.number < b.number; });
    const std::size_t all = figures.size();
    figures.resize(std::min(all, most_in_table));
    note = paragraph(str("The ", figures.size(), " classes with the least F1 of ", counted(all, "class", "classes"), " that occur."));
  }
  std::string out =
      "<table class=\"classes\">\n<thead><tr><th>class</th><th class=\"number\">samples</th><th class=\"number\">predicted</th><th "
      "class=\"number\">precision</th><th class=\"number\">recall</th><th class=\"number\">F1</th></tr></thead>\n<tbody>\n";
  const auto number = [](double x) { return std::isnan(x) ? std::string("–") : fixed(x, 3); };
  for (const ClassFigures& f : figures)
    out += str("<tr>", heading("class", judgement.class_name(f.number)), "<td class=\"number\">", f.actual, "</td><td class=\"number\">", f.predicted,
               "</td><td class=\"number\">", number(f.precision()), "</td><td class=\"number\">", number(f.recall()), "</td><td class=\"number\">",
               number(f.f1()), "</td></tr>\n");
  return card(out + "</tbody>\n</table>\n") + note;
}

}  // namespace sinter::report
