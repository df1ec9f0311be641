#include "frontend/report/graph_drawing.h"

#include <algorithm>
#include <array>

#include "frontend/report/graph_boxes.h"
#include "frontend/report/layers.h"
#include "frontend/report/markup.h"

namespace sinter::report {

namespace {

constexpr double box_letter = 6.7, small_letter = 6.1;  // approximate widths in the monospaced texts
constexpr double padding = 10, row = 16, chip_row = 20, chip_height = 16, most_width = 250, drawing_margin = 12;
constexpr std::size_t most_glyphs = 30;

constexpr const char* drawing_style = R"(
svg.graph { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.graph .box { fill: #ffffff; stroke: #b4bdca; }
.graph .name { fill: #1c2330; font: 600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.graph .type { fill: #5b6472; font-size: 10px; }
.graph .op { fill: #1c2330; }
.graph .edge { fill: none; stroke: #8793a5; stroke-width: 1.3; }
.graph .edge:hover { stroke: #2463d6; stroke-width: 2.4; }
.graph .tip { fill: #8793a5; }
.graph .stub { stroke-dasharray: 3 2; }
.graph .chip rect { stroke-width: 1; }
.graph .chip text { font-size: 10px; fill: #1c2330; }
.graph .input rect { fill: #e1f5ea; stroke: #7cc7a0; }
.graph .state rect { fill: #e4edfd; stroke: #8fb3f0; }
.graph .constant rect { fill: #f0f2f5; stroke: #c3cad4; }
.graph .update rect { fill: #fdebd9; stroke: #edb075; }
.graph .output rect { fill: #f2e6fc; stroke: #c49bea; }
@media (prefers-color-scheme: dark) {
.graph .box { fill: #1b212b; stroke: #465063; }
.graph .name, .graph .op, .graph .chip text { fill: #e3e8ef; }
.graph .type { fill: #9ba6b5; }
.graph .edge { stroke: #76839a; }
.graph .edge:hover { stroke: #6ea4ff; }
.graph .tip { fill: #76839a; }
.graph .input rect { fill: #153526; stroke: #2f7a55; }
.graph .state rect { fill: #17294a; stroke: #3c66ad; }
.graph .constant rect { fill: #2a313c; stroke: #4d5768; }
.graph .update rect { fill: #402a12; stroke: #99622a; }
.graph .output rect { fill: #321d45; stroke: #7a4fa3; }
}
)";

constexpr std::array<const char*, 6> kind_names{"op", "input", "state", "constant", "update", "output"};

std::string kind_name(BoxMark::Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

/// The text of a mark: an arrow shows that it is written.
std::string shown(const BoxMark& mark) { return (mark.kind == BoxMark::Kind::update ? "→ " : "") + shortened(mark.text, most_glyphs); }

/// Marks in rows from left to right, at most `most` wide.
struct Flow {
  std::vector<double> x, y, widths;
  double width = 0, height = 0;

  Flow(const std::vector<BoxMark>& marks, double glyph, double inside, double apart, double step, double most = most_width) {
    double at = 0;
    for (const BoxMark& mark : marks) {
      const double w = glyph * static_cast<double>(glyphs(shown(mark))) + inside;
      if (at > 0 && at + w > most) {
        at = 0;
        height += step;
      }
      x.push_back(at);
      y.push_back(height);
      widths.push_back(w);
      width = std::max(width, at + w);
      at += w + apart;
    }
    if (!marks.empty()) height += step;
  }
};

std::string tooltip(const std::string& text) { return "<title>" + escaped(text) + "</title>"; }

std::string chips(const std::vector<BoxMark>& marks, const Flow& flow, double x, double y) {
  std::string out;
  for (std::size_t i = 0; i < marks.size(); ++i)
    out += str("<g class=\"chip ", kind_name(marks[i].kind), "\">", tooltip(marks[i].tip), "<rect x=\"", px(x + flow.x[i]), "\" y=\"",
               px(y + flow.y[i]), "\" width=\"", px(flow.widths[i]), "\" height=\"", px(chip_height), "\" rx=\"8\"/><text x=\"",
               px(x + flow.x[i] + 7), "\" y=\"", px(y + flow.y[i] + 11.5), "\">", escaped(shown(marks[i])), "</text></g>\n");
  return out;
}

/// A box with its texts at their positions.
class DrawnBox {
 public:
  explicit DrawnBox(const GraphBox& box)
      : box_(box),
        ops_(box.ops, box_letter, 0, 14, row),
        reads_(box.reads, small_letter, 14, 5, chip_row),
        writes_(box.writes, small_letter, 14, 5, chip_row) {
    for (std::size_t i = 0; i < std::min<std::size_t>(3, box.types.size()); ++i) types_ += (i ? ", " : "") + box.types[i];
    if (box.types.size() > 3) types_ += str(" +", box.types.size() - 3);
    const double head = box_letter * static_cast<double>(glyphs(box.name)) + 14 + small_letter * static_cast<double>(glyphs(types_));
    width = std::max({110.0, head, ops_.width, reads_.width, writes_.width}) + 2 * padding;
    height = 30 + ops_.height + (box.ops.empty() ? 0 : 4) + reads_.height + writes_.height + (box.reads.empty() && box.writes.empty() ? 2 : 6);
  }

  std::string drawn(double x, double y) const {
    std::string types;
    for (const std::string& type : box_.types) types += (types.empty() ? "" : ", ") + type;
    std::string out = str("<g><rect class=\"box\" x=\"", px(x), "\" y=\"", px(y), "\" width=\"", px(width), "\" height=\"", px(height),
                          "\" rx=\"6\"/><text class=\"name\" x=\"", px(x + padding), "\" y=\"", px(y + 18), "\">",
                          box_.tip.empty() ? "" : tooltip(box_.tip), escaped(box_.name), "</text><text class=\"type\" text-anchor=\"end\" x=\"",
                          px(x + width - padding), "\" y=\"", px(y + 18), "\">", tooltip("results: " + types), escaped(types_), "</text>\n");
    const double ops = y + 26, reads = ops + ops_.height + (box_.ops.empty() ? 2 : 6), left = x + padding;
    for (std::size_t i = 0; i < box_.ops.size(); ++i)
      out += str("<text class=\"op\" x=\"", px(left + ops_.x[i]), "\" y=\"", px(ops + ops_.y[i] + 12), "\">", tooltip(box_.ops[i].tip),
                 escaped(shown(box_.ops[i])), "</text>\n");
    return out + chips(box_.reads, reads_, left, reads) + chips(box_.writes, writes_, left, reads + reads_.height) + "</g>\n";
  }

  double width, height;

 private:
  const GraphBox& box_;
  Flow ops_, reads_, writes_;
  std::string types_;
};

std::string arrow_head(double x, double y) {
  return str("M", px(x - 3.5), " ", px(y - 7), "L", px(x), " ", px(y), "L", px(x + 3.5), " ", px(y - 7), "z");
}

/// All edges that leave a box as one line.
std::string edges(const std::vector<Link>& links, const std::string& tip, double left, double top) {
  std::string path, heads;
  for (const Link& link : links) {
    const double x0 = left + link.x0, x1 = left + link.x1, end = top + link.y1 - (link.arrives ? 5 : 0), bend = (link.y1 - link.turn) * 0.55;
    path += str("M", px(x0), " ", px(top + link.y0));
    if (link.turn > link.y0) path += "V" + px(top + link.turn);
    path += str("C", px(x0), " ", px(top + link.turn + bend), " ", px(x1), " ", px(top + link.y1 - bend), " ", px(x1), " ", px(end));
    if (link.arrives) heads += arrow_head(x1, top + link.y1);
  }
  if (path.empty()) return "";
  return str("<path class=\"edge\" d=\"", path, "\">", tooltip(tip), "</path>", heads.empty() ? "" : "<path class=\"tip\" d=\"" + heads + "\"/>",
             "\n");
}

/// "kernel 2 gives %4: f32[N,70]", for each value that leaves the box.
std::string leaving(const std::vector<GraphBox>& boxes, std::size_t from, const std::vector<std::size_t>& users) {
  std::vector<std::string> values;
  for (const std::size_t user : users)
    for (const std::string& value : boxes[user].from.at(from))
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  std::string text = boxes[from].name + " gives ";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + values[i];
  text += " to ";
  for (std::size_t i = 0; i < users.size(); ++i) text += (i ? ", " : "") + boxes[users[i]].name;
  return text;
}

/// The legend of the colors, for the kinds that occur.
std::vector<BoxMark> legend(const std::vector<GraphBox>& boxes) {
  std::array<bool, kind_names.size()> seen{};
  for (const GraphBox& box : boxes)
    for (const auto* marks : {&box.reads, &box.writes})
      for (const BoxMark& mark : *marks) seen[static_cast<std::size_t>(mark.kind)] = true;
  const std::array<const char*, kind_names.size()> meaning{"",
                                                           "read: an input of the call",
                                                           "read: a state, which lasts from call to call",
                                                           "read: a number that is compiled in",
                                                           "written: the new value of a state",
                                                           "written: what the call returns"};
  const std::array<const char*, kind_names.size()> words{"", "input", "state", "constant", "new state", "output"};
  std::vector<BoxMark> marks;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) marks.push_back({static_cast<BoxMark::Kind>(i), words[i], meaning[i]});
  return marks;
}

}  // namespace

std::string draw(const ir::Graph& graph) {
  const std::vector<GraphBox> boxes = graph_boxes(graph);
  std::vector<DrawnBox> figures(boxes.begin(), boxes.end());
  std::vector<Block> blocks;
  std::vector<std::vector<std::size_t>> users(boxes.size());
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    blocks.push_back({figures[b].width, figures[b].height, {}});
    for (const auto& [from, values] : boxes[b].from) {
      blocks[b].from.push_back(from);
      users[from].push_back(b);
    }
  }
  const Layering layering = lay_out(blocks);
  const std::vector<BoxMark> meaning = legend(boxes);
  const Flow legend_flow(meaning, small_letter, 14, 5, chip_row, 1000);
  const double left = drawing_margin, top = drawing_margin + legend_flow.height + (meaning.empty() ? 0 : 10);
  const double width = std::max({layering.width, legend_flow.width, 160.0}) + 2 * drawing_margin,
               height = top + std::max(layering.height, 16.0) + drawing_margin;

  // A page may scale it down, but not so far that its texts become unreadable.
  std::string out = str("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" aria-label=\"", escaped("graph " + graph.name()),
                        "\" width=\"", px(width), "\" height=\"", px(height), "\" style=\"min-width:", px(0.8 * width), "px\" viewBox=\"0 0 ",
                        px(width), " ", px(height), "\">\n<style>", drawing_style, "</style>\n");
  out += chips(meaning, legend_flow, left, drawing_margin);
  if (boxes.empty()) out += str("<text class=\"type\" x=\"", px(left), "\" y=\"", px(top + 12), "\">the graph has no operations</text>\n");
  for (std::size_t b = 0; b < boxes.size(); ++b)
    if (!users[b].empty()) out += edges(layering.links[b], leaving(boxes, b, users[b]), left, top);
  std::vector<double> stub_shift(boxes.size(), 12);
  for (const auto& [from, to] : layering.stubs) {
    const double x = left + layering.x[to] + blocks[to].width - stub_shift[to], y = top + layering.y[to];
    stub_shift[to] = std::min(stub_shift[to] + 10, blocks[to].width - 12);
    out += str("<path class=\"edge stub\" d=\"M", px(x), " ", px(y - 20), "V", px(y - 5), "\">", tooltip("from " + leaving(boxes, from, {to})),
               "</path><path class=\"tip\" d=\"", arrow_head(x, y), "\"/>\n");
  }
  for (std::size_t b = 0; b < boxes.size(); ++b) out += figures[b].drawn(left + layering.x[b], top + layering.y[b]);
  return out + "</svg>\n";
}

}  // namespace sinter::report
