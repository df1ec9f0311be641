// sinter evaluate: how well a saved model predicts targets that are known.
#include <sinter/sinter.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/reading.h"

namespace sinter::cli {

namespace {

void run(const ReadingSettings& s) {
  Trainer trainer = Trainer::load(s.model);
  const Reading reading = read_for(trainer, s);
  if (!reading.truth.defined() && !reading.is_self)
    throw UserError(s.data, trainer.has_metadata("encoder") ? str("has no usable targets in a column '", reading.target, "' to judge by")
                                                            : std::string("has no targets to judge by; give --labels"));
  const Tensor prediction = predictions_of(trainer, reading, s);
  std::cout << counted(reading.x[0].size(), "sample") << "\n";
  reading.judge(prediction, std::cout);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto s = std::make_shared<ReadingSettings>();
  CLI::App* command = app.add_subcommand("evaluate", "Judge a model by data with known targets");
  add_reading_options(*command, *s);
  command->callback([s] {
    if (s->data.empty()) throw CLI::RequiredError("--data");
    run(*s);
  });
}

}  // namespace sinter::cli
