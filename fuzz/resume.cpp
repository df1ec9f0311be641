#include "fuzz/resume.h"

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "frontend/nn/dense.h"
#include "frontend/nn/dropout.h"
#include "frontend/nn/loss.h"
#include "frontend/nn/sequential.h"
#include "frontend/train/trainer.h"

namespace sinter::fuzz {

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "sinter_fuzz_XXXXXX") {
  if (!mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), "mkdtemp");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void fit_with_checkpoints(const std::string& folder) {
  seed(3);
  nn::Sequential model{nn::Dense(3, 4, Activation::relu), nn::Dropout(0.25f), nn::Dense(4, 2)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 0.1f}),
                  {.mode = Mode::eager, .metrics = {metric::accuracy()}, .log = [](const std::string&) {}});
  const Dataset data{Tensor({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}), Tensor(std::vector<std::int32_t>{0, 1, 0}, {3})};
  FitOptions options{.epochs = 2, .batch_size = 2, .validation = data, .verbose = false};
  options.callbacks = {std::make_shared<callback::EarlyStopping>(callback::EarlyStoppingOptions{.patience = 5, .restore_best = true}),
                       std::make_shared<callback::ReduceOnPlateau>()};
  options.checkpoint = {.folder = folder, .every_steps = 1, .keep = 100};
  if (trainer.fit(data, options).empty()) throw Finding("a run has no results");
}

void resume_from(Bytes bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/checkpoint-000000000001.sinter", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  fit_with_checkpoints(folder.path());
}

}  // namespace sinter::fuzz
