// TimeReport as a table.
#include <algorithm>
#include <map>

#include "frontend/report/html.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

/// The nodes of one kernel, with their times and the kernel's.
struct Group {
  std::vector<const TimeReport::Row*> rows;
  double eager = 0, graph = 0;
};

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 1); }

std::string bar(const char* kind, double seconds, double longest) {
  const double part = longest > 0 ? std::clamp(seconds / longest, 0.0, 1.0) : 0;
  return str("<div class=\"bar ", kind, "\" style=\"width:", fixed(part * 100, 1), "%\"></div>");
}

/// "%4 = sigmoid f32[N,70]   # dense_1, mlp.cpp:14" as node and origin.
std::pair<std::string, std::string> parts(const std::string& node) {
  const std::string separator = "   # ";
  const std::size_t at = node.find(separator);
  if (at == std::string::npos) return {node, ""};
  return {node.substr(0, at), node.substr(at + separator.size())};
}

}  // namespace

std::string time_table(const TimeReport& times) {
  std::map<int, Group> groups;
  for (const TimeReport::Row& row : times.rows) {
    groups[row.kernel].rows.push_back(&row);
    groups[row.kernel].eager += row.eager_seconds;
  }
  double longest = 0;
  for (auto& [kernel, group] : groups) {
    const auto k = static_cast<std::size_t>(kernel);
    if (kernel >= 0 && k < times.kernel_seconds.size()) group.graph = times.kernel_seconds[k];
    longest = std::max({longest, group.eager, group.graph});
  }
  const bool compiled = !times.kernel_seconds.empty();
  std::string out = str("<table class=\"times\">\n<thead><tr><th>node</th><th>where</th><th class=\"number\">eager µs</th>",
                        compiled ? "<th class=\"number\">compiled µs</th>" : "", "<th class=\"bars\"></th></tr></thead>\n");
  for (const auto& [kernel, group] : groups) {
    out += str("<tbody>\n<tr class=\"kernel\"><th colspan=\"2\">", kernel < 0 ? "no kernel" : str("kernel ", kernel), "</th><td class=\"number\">",
               microseconds(group.eager), "</td>", compiled ? "<td class=\"number\">" + microseconds(group.graph) + "</td>" : "",
               "<td class=\"bars\">", bar("eager", group.eager, longest), compiled ? bar("compiled", group.graph, longest) : "", "</td></tr>\n");
    for (const TimeReport::Row* row : group.rows) {
      const auto [node, origin] = parts(row->node);
      out += str("<tr><td class=\"node\">", escaped(node), "</td><td class=\"where\">", escaped(origin), "</td><td class=\"number\">",
                 microseconds(row->eager_seconds), "</td>", compiled ? "<td></td>" : "", "<td class=\"bars\">",
                 bar("eager part", row->eager_seconds, longest), "</td></tr>\n");
    }
    out += "</tbody>\n";
  }
  return out + "</table>\n";
}

}  // namespace sinter::report
