#include "frontend/train/tensorboard.h"

#include <filesystem>
#include <set>

#include "frontend/train/epoch_result.h"

namespace sinter::callback {

TensorBoard::TensorBoard(std::string folder, TensorBoardOptions options) : folder_(std::move(folder)), options_(options) {
  if (folder_.empty()) throw UserError("TensorBoard", "the folder's name is empty; give the folder that tensorboard --logdir gets");
  if (options_.histograms_every < 0)
    throw UserError("TensorBoard", str("histograms_every must be 0 (none) or a number of epochs, got ", options_.histograms_every));
}

void TensorBoard::on_epoch_end(Trainer& trainer, const EpochResult& result) {
  const std::filesystem::path folder(folder_);
  const auto file = [&](const std::string& subfolder) -> runtime::EventFile& {
    return files_.try_emplace(subfolder, folder / subfolder).first->second;
  };
  for (ValuesOfSet& set : result.sets()) {
    if (set.prefix.empty()) set.values.insert(set.values.end(), {{"learning_rate", result.learning_rate}, {"seconds", result.seconds}});
    const std::string subfolder = set.prefix.empty()                  ? "train"
                                  : set.prefix == "val_"              ? "validation"
                                  : set.prefix == training_set_prefix ? "training_set"
                                                                      : "validation_" + set.set;
    std::set<std::string> written;  // a metric may have the name of another value: the first wins, as in EpochResult::value
    for (const auto& [name, value] : set.values)
      if (written.insert(name).second) file(subfolder).scalar("epoch_" + name, result.epoch, value);
  }
  if (options_.histograms_every && result.epoch % options_.histograms_every == 0)
    for (const Parameter& p : trainer.parameters())
      if (p.type().dtype == DType::f32 && p.name().find('/') == std::string::npos)  // those of the optimizer are named optimizer/…
        file("train").histogram(p.name(), result.epoch, p.read().to_vector<float>());
  for (auto& [subfolder, events] : files_) events.flush();
}

}  // namespace sinter::callback
