#include "frontend/serve/scorer.h"

#include <cstring>
#include <utility>

#include "frontend/core/counted.h"

namespace sinter::serve {

namespace {

/// Values in memory of their own: those of a loaded trainer lie in the pages of its file, and would go with them when another model is written there.
void take_out_of_file(Trainer& trainer) {
  for (const std::shared_ptr<Cell>& cell : trainer.predict_step().cells()) {
    runtime::Buffer own = runtime::Buffer::allocate(cell->buffer.bytes());
    std::memcpy(own.data(), cell->buffer.data(), cell->buffer.bytes());
    cell->set({std::move(own), cell->version});
  }
}

std::shared_ptr<const ServedModel> loaded(const std::string& path, std::int64_t generation, const ScorerOptions& options) {
  Trainer trainer = Trainer::load(path, {.mode = options.mode, .threads = options.threads, .log = options.log});
  take_out_of_file(trainer);
  return std::make_shared<const ServedModel>(trainer, path, generation, options);
}

std::shared_ptr<const ServedModel> published(Trainer& trainer, const ScorerOptions& options) {
  trainer.publish();
  return std::make_shared<const ServedModel>(trainer, "scorer", 1, options);
}

/// "no columns", or their names.
std::string columns_of(const ServedModel& model) {
  if (!model.encoder()) return "no columns";
  std::string text;
  for (const std::string& name : model.encoder()->columns_read()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string classes_of(const ServedModel& model) {
  if (model.classes().empty()) return "numbers";
  std::string text;
  for (const std::string& name : model.classes()) text += (text.empty() ? "the classes " : ", ") + name;
  return text;
}

void require_alike(const ServedModel& now, const ServedModel& next, const std::string& path) {
  if (next.inputs() != now.inputs() || next.outputs() != now.outputs())
    throw UserError(path, str("takes ", counted(next.inputs(), "number"), " and gives ", next.outputs(), ", but the model that is served takes ",
                              now.inputs(), " and gives ", now.outputs(), "; it stays"));
  if (classes_of(next) != classes_of(now))
    throw UserError(path, str("predicts ", classes_of(next), ", but the model that is served ", classes_of(now), "; it stays"));
  if (columns_of(next) != columns_of(now))
    throw UserError(path, str("reads ", columns_of(next), ", but the model that is served ", columns_of(now), "; it stays"));
}

}  // namespace

Scorer::Scorer(const std::string& path, ScorerOptions options) : options_(std::move(options)), model_(loaded(path, 1, options_)) {}
Scorer::Scorer(Trainer& trainer, ScorerOptions options) : options_(std::move(options)), model_(published(trainer, options_)) {}

void Scorer::swap(const std::string& path) {
  const std::lock_guard one(swapping_);
  const std::shared_ptr<const ServedModel> now = model();
  std::shared_ptr<const ServedModel> next = loaded(path, now->generation() + 1, options_);
  require_alike(*now, *next, path);
  const std::lock_guard lock(changing_);
  model_.swap(next);  // the old one ends after the lock, unless calls still use it
}

std::shared_ptr<const ServedModel> Scorer::model() const {
  const std::lock_guard lock(changing_);
  return model_;
}

}  // namespace sinter::serve
