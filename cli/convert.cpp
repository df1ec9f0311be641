// sinter convert: weights from one file format to another.
#include <sinter/sinter.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/output.h"

namespace sinter::cli {

namespace {

struct ConvertSettings {
  std::string in, out;
  bool optimizer_state = false;
};

void run(const ConvertSettings& s) {
  check_outputs({.files = {{"--out", s.out}}}, {s.in});
  weights::StateDict tensors;
  if (s.in.ends_with(".sinter")) {
    const Trainer trainer = Trainer::load(s.in);
    for (const Parameter& p : trainer.parameters())
      if (s.optimizer_state || !is_of_optimizer(p)) tensors.emplace_back(p.name(), p);
  } else {
    tensors = weights::read(s.in);
  }
  weights::write(s.out, tensors);
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : tensors) numbers += tensor.elements();
  std::cout << counted(tensors.size(), "tensor") << ", " << counted(numbers, "number") << ": " << s.out << "\n";
}

}  // namespace

void add_convert(CLI::App& app) {
  auto s = std::make_shared<ConvertSettings>();
  CLI::App* command = app.add_subcommand("convert", "Write the weights of a file in another format");
  command->add_option("in", s->in, "Model (.sinter) or weights (.safetensors, .npz, .h5 and .hdf5 of Keras)")->required()->check(file_name());
  command->add_option("out,-o,--out", s->out, "Weights file to write: .safetensors or .npz")->required()->check(file_name());
  command->add_flag("--optimizer-state", s->optimizer_state, "Also what the optimizer of a model keeps: moments, steps, the learning rate");
  command->callback([s] { run(*s); });
}

}  // namespace sinter::cli
