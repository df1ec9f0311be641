// The target `command_line`: what the commands of `sinter` say to a model file.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/run.h"
#include "frontend/data/npy.h"
#include "frontend/train/trainer.h"
#include "fuzz/resume.h"
#include "fuzz/targets.h"

namespace sinter::fuzz {

namespace {

/// Standard output and standard error, while it lives.
class Output {
 public:
  Output() : out_(std::cout.rdbuf(text_.rdbuf())), err_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~Output() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf *out_, *err_;
};

/// Runs a command. Throws UserError if it refuses, as it may.
void run_command(const std::vector<std::string>& arguments) {
  const Output output;
  const int status = cli::run(arguments);
  const std::string text = output.text();
  if (status > 1 || text.find("bug in Sinter") != text.npos) throw Finding(str("sinter ", arguments[0], " ends with ", status, ": ", text));
  if (status == 1) throw UserError(text);
}

/// The files that commands read and write beside the model.
struct Files {
  Files() {
    std::ofstream(table) << table_of_seeds;
    data::write_npy(samples, {DType::u8, {3, 16}, std::vector<std::byte>(48, std::byte{7})});
  }
  const TemporaryFolder folder;
  const std::string model = folder.path() + "/model.sinter", table = folder.path() + "/table.csv", samples = folder.path() + "/samples.npy",
                    weights = folder.path() + "/weights.npz", predictions = folder.path() + "/predictions.csv";
};

}  // namespace

void run_command_line(Bytes bytes) {
  setenv("SINTER_CACHE", "off", 1);
  static const Files files;
  constexpr std::int64_t samples = 3;
  std::ofstream(files.model, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  run_command({"inspect", files.model});
  run_command({"inspect", files.model, "--graph"});
  run_command({"convert", files.model, files.weights});
  {  // a file may ask for more memory and time than there is
    Trainer trainer = Trainer::load(files.model, {.mode = Mode::eager});
    for (StepCore* step : {&trainer.predict_step(), &trainer.train_step()})
      if (!is_small(step->traced_graph(), samples, samples)) return;
    const std::string& data = trainer.has_metadata("encoder") ? files.table : files.samples;
    setenv("SINTER_MODE", is_compiled(bytes) ? "graph" : "eager", 1);
    run_command({"predict", files.model, "--data", data});
    run_command({"predict", files.model, "--data", data, "-o", files.predictions});
    unsetenv("SINTER_MODE");
  }
  if (is_compiled(bytes)) run_command({"verify", files.model, "--batch-size", std::to_string(samples)});
}

}  // namespace sinter::fuzz
