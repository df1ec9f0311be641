#include "frontend/report/html.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/report/graph_drawing.h"
#include "frontend/report/judged.h"
#include "frontend/report/learning_charts.h"
#include "frontend/report/markup.h"
#include "frontend/report/parts.h"
#include "frontend/train/epoch_result.h"
#include "ir/print.h"
#include "runtime/file/disk.h"

namespace sinter::report {

namespace {

constexpr const char* page_style = R"(
:root { color-scheme: light dark; --page: #f5f7fa; --card: #ffffff; --edge: #e2e6ec; --text: #1c2330; --soft: #5b6472; }
:root { --eager: #b9c4d3; --compiled: #2463d6; }
@media (prefers-color-scheme: dark) {
:root { --page: #0f131a; --card: #171c24; --edge: #2a313c; --text: #e7ebf1; --soft: #9ba6b5; --eager: #56637a; --compiled: #6ea4ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 32px 64px; }
@media (max-width: 600px) { main { padding: 16px 12px 48px; } }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 40px 0 12px; }
p { margin: 4px 0 12px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 12px; margin: 20px 0 12px; }
.figures { grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); }
.tile { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 12px 16px; }
.tile .name { font-size: 13px; font-weight: 600; }
.tile .sides { display: flex; flex-wrap: wrap; gap: 8px 32px; }
.tile .value { font-size: 24px; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tile .side, .tile .best { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 16px; overflow: auto; }
details .card { max-height: 900px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 16px; margin: 12px 0; }
.charts svg { width: 100%; height: auto; display: block; max-width: 560px; }
.wide { margin: 0 calc(min(0px, (1040px - 100vw) / 2 + 16px)); text-align: center; }
.wide svg { max-width: 100%; height: auto; text-align: left; }
pre { margin: 0; font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-weight: 600; }
td, th { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--edge); vertical-align: middle; }
thead th { color: var(--soft); font-weight: 500; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.best td { font-weight: 600; }
.node { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; padding-left: 16px; }
.where { color: var(--soft); }
.times tbody td { border-bottom: none; } .times tbody { border-bottom: 1px solid var(--edge); }
.times tr.kernel td, .times tr.kernel th { border-bottom: none; padding-top: 8px; }
.times .bars { width: 26%; padding-right: 0; }
.bar { height: 7px; border-radius: 2px; margin: 1px 0; min-width: 1px; }
.bar.eager { background: var(--eager); } .bar.compiled { background: var(--compiled); } .bar.part { opacity: 0.55; }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 2px; vertical-align: -1px; margin: 0 4px 0 12px; }
.key.eager { background: var(--eager); } .key.compiled { background: var(--compiled); }
.stack { display: flex; height: 22px; margin: 2px 0 12px; border-radius: 4px; overflow: hidden; }
.stack .piece { min-width: 1px; }
.piece.data { background: #0e9f8e; } .piece.forward { background: #2463d6; } .piece.backward { background: #8a4fd0; }
.piece.update { background: #d9822b; } .piece.metrics { background: #c2417c; } .piece.waiting { background: #c9b458; } .piece.other { background: #8b94a3; }
details { margin: 12px 0; }
summary { cursor: pointer; color: var(--soft); margin-bottom: 8px; }
)";

/// The epoch with the least validation loss, or the least loss where there is none; NaN counts as the worst.
const EpochResult& best_of(std::span<const EpochResult> history) {
  const bool validates = history.back().validation_loss.has_value();
  const auto loss = [&](const EpochResult& r) {
    const double value = validates ? r.validation_loss.value_or(NAN) : r.loss;
    return std::isnan(value) ? INFINITY : value;
  };
  return *std::min_element(history.begin(), history.end(), [&](const EpochResult& a, const EpochResult& b) { return loss(a) < loss(b); });
}

std::optional<double> find(const EpochResult& epoch, const std::string& wanted) {
  for (const auto& [name, value] : epoch.values())
    if (name == wanted) return value;
  return std::nullopt;
}

std::string number(const std::optional<double>& value, int digits = 4) { return value ? significant(*value, digits) : ""; }

std::string heading(std::span<const EpochResult> history, const std::string& title) {
  const EpochResult &last = history.back(), &best = best_of(history);
  double seconds = 0;
  for (const EpochResult& epoch : history) seconds += epoch.seconds;
  const std::string count = str(history.size(), history.size() == 1 ? " epoch" : " epochs");
  std::string out = str("<h1>", escaped(title), "</h1>\n<p class=\"soft\">", count, ", ", significant(seconds, 3),
                        " s of training; the last is epoch ", last.epoch, ", the best epoch ", best.epoch,
                        last.validation_loss ? ", by validation loss" : ", by loss", "</p>\n<div class=\"tiles figures\" id=\"figures\">\n");
  const auto side = [&](const std::string& which, const std::string& name) {
    const std::optional<double> value = find(last, name);
    return value ? str("<div><div class=\"side\">", escaped(which), "</div><div class=\"value\">", number(value), "</div><div class=\"best\">epoch ",
                       best.epoch, ": ", number(find(best, name)), "</div></div>")
                 : "";
  };
  for (const auto& [name, sets] : values_by_set({&last, 1})) {
    out += str("<div class=\"tile\"><div class=\"name\">", escaped(title_of(name)), "</div><div class=\"sides\">");
    for (const auto& [set, its_name] : sets) out += side(set, its_name);
    out += "</div></div>\n";
  }
  return out + "</div>\n";
}

std::string epoch_table(std::span<const EpochResult> history) {
  const std::vector<std::string> names = names_in(history);
  const EpochResult& best = best_of(history);
  std::string out = "<table>\n<thead><tr><th class=\"number\">epoch</th>";
  for (const std::string& name : names) out += "<th class=\"number\">" + escaped(name) + "</th>";
  out += "</tr></thead>\n<tbody>\n";
  for (const EpochResult& epoch : history) {
    out += str("<tr", &epoch == &best ? " class=\"best\"" : "", "><td class=\"number\">", epoch.epoch, "</td>");
    for (const std::string& name : names) out += "<td class=\"number\">" + number(find(epoch, name), 6) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

std::string model_section(Trainer& trainer) {
  std::string out;
  try {
    out = card("<pre>" + escaped(trainer.summary()) + "</pre>");
  } catch (const UserError& error) {  // the trainer has seen no data yet
    out = paragraph(error.what());
  }
  const std::vector<Parameter> parameters = trainer.parameters();
  std::string rows;
  for (const Parameter& p : parameters)
    rows += str("<tr><td class=\"node\">", escaped(p.name()), "</td><td class=\"node\">", p.type(), "</td><td class=\"number\">",
                p.shape().elements().factor(), "</td></tr>\n");
  return out + folded(str("All ", parameters.size(), " states: parameters and optimizer state"),
                      card("<table>\n<thead><tr><th>name</th><th>type</th><th class=\"number\">numbers</th></tr></thead>\n<tbody>\n" + rows +
                           "</tbody>\n</table>"));
}

std::string time_section(Trainer& trainer, const Options& options) {
  if (!options.sample) return paragraph("No times: the report was given no samples to measure with.");
  const TimeReport times = trainer.time(*options.sample, options.batch_size, options.repeats);
  const bool compiled = !times.kernel_seconds.empty();
  std::string out = tiles({{"Eager step", fixed(times.eager_seconds * 1e6, 1) + " µs"},
                           {"Compiled step", fixed(times.graph_seconds * 1e6, 1) + " µs"},
                           {"Speed-up", fixed(times.speedup(), 2) + " ×"},
                           {"Compile time", fixed(times.compile_seconds * 1e3, 1) + " ms"}});
  out += "<p class=\"soft\">" + str("Shortest of ", options.repeats, " steps on ", options.batch_size, " samples.");
  out += "<span class=\"key eager\"></span>node by node";
  if (compiled) out += "<span class=\"key compiled\"></span>in the compiled step, summed over its threads";
  return out + "</p>\n" + card(time_table(times));
}

std::string profile_section(Trainer& trainer, const Options& options) {
  if (!options.sample) return paragraph("No profile: the report was given no samples to measure with.");
  const std::int64_t batch_size = std::min(options.batch_size, options.sample->size());
  const ProfileReport profile = trainer.profile(*options.sample, {.batch_size = batch_size, .steps = options.repeats, .epochs = options.repeats});
  return paragraph(str(profile.steps, " steps, ", profile.samples, " samples, at most ", profile.threads,
                       profile.threads == 1 ? " thread" : " threads", profile.mode == Mode::eager ? ", eager" : ", compiled", ": ",
                       significant(profile.seconds * 1e3, 4), " ms")) +
         card(profile_bars(profile));
}

std::string graph_section(const ir::Graph& graph) {
  return "<p class=\"soft\">The training step after all passes: what each kernel computes, reads and writes. Hover over an op to see its "
         "source line.</p>\n<div class=\"wide card\">" +
         draw(graph) + "</div>\n" + folded("The graph as text", card("<pre>" + escaped(ir::to_text(graph)) + "</pre>"));
}

}  // namespace

void write_html(const std::string& path, Trainer& trainer, std::span<const EpochResult> history, const Options& options) {
  std::string curves = side_by_side(learning_charts(history));
  curves += folded("All epochs", card(epoch_table(history)));
  std::string body = heading(history, options.title) + section("curves", "Learning curves", curves);
  if (options.judged) body += judged_sections(trainer, options);
  body += section("model", "Model", model_section(trainer));
  body += section("profile", "Where the time went", profile_section(trainer, options));
  const ir::Graph* graph = nullptr;
  try {
    graph = &trainer.train_step().graph();
  } catch (const UserError&) {  // nothing was compiled
  }
  if (graph) {
    body += section("times", "Eager and compiled times", time_section(trainer, options));
    body += section("graph", "Compiled graph", graph_section(*graph));
  } else {
    body += section("graph", "Compiled graph",
                    paragraph("There are neither times nor a graph: the training step ran eagerly, line by line, and was not compiled."));
  }
  const std::string page =
      str("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          escaped(options.title), "</title>\n<style>", page_style, options.judged ? judged_style : "", "</style>\n</head>\n<body>\n<main>\n", body,
          "</main>\n</body>\n</html>\n");
  runtime::write_file(path, page);
}

}  // namespace sinter::report

namespace sinter::callback {

Report::Report(std::string path, report::Options options) : path_(std::move(path)), options_(std::move(options)) {
  if (path_.empty()) throw UserError("Report", "the path is empty; give the name of the page, such as report.html");
  const runtime::AtomicFile probe(path_);  // reports errors in the path before training
}

void Report::on_epoch_end(Trainer&, const EpochResult& result) { history_.push_back(result); }

void Report::on_train_end(Trainer& trainer) {
  if (!history_.empty()) report::write_html(path_, trainer, history_, options_);
}

}  // namespace sinter::callback
