// sinter doctor: what Sinter finds on this machine, and what stands in its way.
#include <sinter/sinter.h>

#include <iostream>

#include "cli/commands.h"

namespace sinter::cli {

void add_doctor(CLI::App& app) {
  struct Settings {
    bool json = false, quick = false;
  };
  auto s = std::make_shared<Settings>();
  CLI::App* command = app.add_subcommand("doctor", "Tell what Sinter finds on this machine, and what to improve");
  command->add_flag("--json", s->json, "As a JSON object");
  command->add_flag("--quick", s->quick, "Measure nothing");
  command->callback([s] {
    const machine::Report report = machine::examine({.measure = !s->quick});
    if (s->json) std::cout << machine::to_json(report) << "\n";
    else std::cout << report;
  });
}

}  // namespace sinter::cli
