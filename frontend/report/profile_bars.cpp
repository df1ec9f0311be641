// ProfileReport as two stacked bars and a table.
#include "frontend/report/html.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

/// A bar whose pieces are as long as their shares of a whole; what is less than a thousandth is left out.
template <class Share>
std::string stacked(const ProfileReport& profile, const char* title, Share share) {
  std::string out = str("<div class=\"side\">", title, "</div>\n<div class=\"stack\">");
  for (const ProfileReport::Part& part : profile.parts) {
    const double of_all = share(part.name);
    if (of_all < 1e-3) continue;
    out += str("<div class=\"piece ", part.name, "\" style=\"width:", fixed(of_all * 100, 1), "%\" title=\"", part.name, " ", fixed(of_all * 100, 1),
               " %\"></div>");
  }
  return out + "</div>\n";
}

std::string cell(const std::string& text) { return "<td class=\"number\">" + text + "</td>"; }

}  // namespace

std::string profile_bars(const ProfileReport& profile) {
  std::string out = stacked(profile, "Wall time", [&](const std::string& name) { return profile.time_share(name); });
  out += stacked(profile, "Arithmetic", [&](const std::string& name) { return profile.flop_share(name); });
  out +=
      "<table>\n<thead><tr><th>part</th><th class=\"number\">µs a step</th><th class=\"number\">of the time</th><th class=\"number\">of the "
      "arithmetic</th><th class=\"number\">GFLOP/s</th></tr></thead>\n<tbody>\n";
  const double steps = profile.steps > 0 ? static_cast<double>(profile.steps) : 1;
  for (const ProfileReport::Part& part : profile.parts)
    out += str("<tr><td><span class=\"key piece ", part.name, "\"></span>", part.name, "</td>", cell(fixed(part.seconds / steps * 1e6, 1)),
               cell(fixed(profile.time_share(part.name) * 100, 1) + " %"), cell(fixed(profile.flop_share(part.name) * 100, 1) + " %"),
               cell(part.flops > 0 ? fixed(part.gflops(), 2) : ""), "</tr>\n");
  return out + "</tbody>\n</table>\n";
}

}  // namespace sinter::report
