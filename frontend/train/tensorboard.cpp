#include "frontend/train/tensorboard.h"

#include <filesystem>
#include <set>

#include "frontend/train/trainer.h"

namespace sinter::callback {

TensorBoard::TensorBoard(std::string folder, TensorBoardOptions options) : folder_(std::move(folder)), options_(options) {
  if (folder_.empty()) throw UserError("TensorBoard", "the folder's name is empty; give the folder that tensorboard --logdir gets");
  if (options_.histograms_every < 0)
    throw UserError("TensorBoard", str("histograms_every must be 0 (none) or a number of epochs, got ", options_.histograms_every));
}

void TensorBoard::on_epoch_end(Trainer& trainer, const EpochResult& result) {
  const std::filesystem::path folder(folder_);
  const std::string prefix = "val_";
  std::set<std::string> written;  // a metric may have the name of another value: the first wins, as in EpochResult::value
  for (const auto& [name, value] : result.values()) {
    if (!written.insert(name).second) continue;
    const bool validates = name.starts_with(prefix);
    std::optional<runtime::EventFile>& file = validates ? validation_ : train_;
    if (!file) file.emplace(folder / (validates ? "validation" : "train"));
    file->scalar("epoch_" + (validates ? name.substr(prefix.size()) : name), result.epoch, value);
  }
  if (options_.histograms_every && result.epoch % options_.histograms_every == 0)
    for (const Parameter& p : trainer.parameters())
      if (p.type().dtype == DType::f32 && p.name().find('/') == std::string::npos)  // those of the optimizer are named optimizer/…
        train_->histogram(p.name(), result.epoch, p.read().to_vector<float>());
  train_->flush();
  if (validation_) validation_->flush();
}

}  // namespace sinter::callback
