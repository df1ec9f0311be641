// sinter_published SERIES...: runs series of published experiments and prints their figures as JSON lines. Ends with status 1 for an error and for an
// assertion that does not hold, with 2 for an unknown series.
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/pin.h"
#include "bench/published/published.h"

namespace {

using namespace sinter;
using namespace sinter::published;

const std::vector<Series>& all_series() {
  static const std::vector<Series> series{{"perceptron", perceptron}, {"regression", regression},   {"rosetta", rosetta},
                                          {"lenet", lenet},           {"eager_graph", eager_graph}, {"fraud", fraud}};
  return series;
}

const Series* find(const std::string& name) {
  for (const Series& series : all_series())
    if (series.name == name) return &series;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names, modes{"default", "best", "eager"};
  RunSettings settings;
  bool list = false;
  CLI::App app{"Runs experiments of published articles and prints what bench/published/run makes a page of"};
  app.add_option("series", names, "names of series");
  app.add_flag("--list", list, "print the names and exit");
  app.add_flag("--quick", settings.quick, "fewer epochs, steps and samples");
  app.add_flag("--full", settings.full, "all epochs and steps of the articles, for hours")->excludes("--quick");
  app.add_option("--cli", settings.cli, "the program sinter, for what the command line can do")->check(CLI::ExistingFile);
  app.add_option("--data", settings.data, "folder with mnist/ and so on")->check(CLI::ExistingDirectory);
  app.add_flag("--generated", settings.generated, "generated data in place of files");
  app.add_option("--threads", settings.threads)->capture_default_str()->check(CLI::Range(1, 256));
  app.add_option("--mode", modes, "columns to fill")->delimiter(',')->check(CLI::IsMember(modes));
  CLI11_PARSE(app, argc, argv);
  settings.modes = {modes.begin(), modes.end()};
  std::string known;
  for (const Series& series : all_series()) known += (known.empty() ? "" : " ") + series.name;
  if (list) {
    for (const Series& series : all_series()) std::cout << series.name << "\n";
    return 0;
  }
  if (names.empty()) {
    std::cerr << "name a series; there are " << known << "\n";
    return 2;
  }
  for (const std::string& name : names)
    if (!find(name)) {
      std::cerr << "no series '" << name << "'; there are " << known << "\n";
      return 2;
    }
  bench::pin(settings.threads);
  bool ok = true;
  try {
    for (const std::string& name : names) {
      Report report(name);
      find(name)->run(settings, report);
      ok = ok && report.ok();
    }
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  if (!ok) std::cerr << "an assertion does not hold: see the lines with \"ok\":false\n";
  return ok ? 0 : 1;
}
