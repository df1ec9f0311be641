#include "frontend/checkpoint/checkpoints.h"

#include <cstring>
#include <set>

#include "frontend/core/warn.h"
#include "frontend/file/model_file.h"

namespace sinter {

namespace {

/// Prefixes of the names of arrays: lists of numbers (f64 as bytes) and tensors.
const std::string numbers_prefix = "saved.numbers/", tensors_prefix = "saved.tensor/";

void append(runtime::Archive& archive, const SavedState& saved) {
  for (const auto& [name, numbers] : saved.all_numbers()) {
    const std::size_t size = numbers.size() * sizeof(double);
    const runtime::Buffer memory = runtime::Buffer::allocate(size);
    if (size) std::memcpy(memory.data(), numbers.data(), size);
    archive.arrays.push_back({numbers_prefix + name, DType::u8, {static_cast<std::int64_t>(size)}, {memory.data(), size}, memory});
  }
  for (const auto& [name, tensor] : saved.all_tensors()) archive.arrays.push_back(to_array(tensors_prefix + name, tensor));
}

SavedState saved_of(const runtime::Archive& archive) {
  SavedState saved;
  for (const runtime::NamedArray& array : archive.arrays) {
    if (array.name.starts_with(tensors_prefix)) saved.set(array.name.substr(tensors_prefix.size()), to_tensor(array));
    if (!array.name.starts_with(numbers_prefix)) continue;
    std::vector<double> numbers(array.bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), array.bytes.data(), numbers.size() * sizeof(double));
    saved.set(array.name.substr(numbers_prefix.size()), std::move(numbers));
  }
  return saved;
}

std::string callback_prefix(std::size_t i) { return str("callback.", i, "."); }

}  // namespace

Checkpoints::Checkpoints(Trainer& trainer, Trainer::Impl& impl, const FitOptions& options, const Trainer::Impl::Extent& extent)
    : trainer_(trainer),
      impl_(impl),
      options_(options),
      identity_(trainer, impl, options, extent),
      folder_(options.checkpoint.folder, [this](const std::string& message) { warn(message); }) {}

void Checkpoints::warn(const std::string& message) const { sinter::warn(impl_.options.log, message); }

// ---- resume ----

void Checkpoints::restore_parameters(const runtime::Archive& archive) const {
  (void)impl_.train->record(impl_.table_specs());  // creates the optimizer's slots
  std::set<std::string> names;
  std::vector<std::pair<Parameter, Tensor>> values;
  for (const Parameter& p : trainer_.parameters()) {
    const std::string& name = p.name_in_file([&](const std::string& its) { return archive.find_array(its) != nullptr; });
    names.insert(name);
    const runtime::NamedArray* array = archive.find_array(name);
    if (!array) throw UserError(str("the checkpoint has no '", p.name(), "'; it is of another model or optimizer"));
    const Type stored{array->dtype, Shape::fixed(array->shape)};
    if (stored != p.type()) throw UserError(str("'", p.name(), "' is ", p.type(), ", in the checkpoint ", stored, "; it is of another model"));
    values.emplace_back(p, to_tensor(*array));
  }
  for (const runtime::NamedGraph& graph : archive.graphs)
    for (const ir::StateSpec& state : graph.graph.states())
      if (!names.contains(state.name))
        throw UserError(str("the checkpoint has '", state.name, "', which the trainer lacks; it is of another model or optimizer"));
  identity_.check_graphs(archive, [&](const std::string& message) { warn(message); });
  for (const auto& [parameter, value] : values) parameter.assign(value);
}

RunState Checkpoints::resume(RunState fresh) {
  const std::optional<CheckpointFolder::Found> found = folder_.newest();
  if (!found) return fresh;
  try {
    const SavedState saved = saved_of(found->archive);
    identity_.check(saved.part("settings."));
    RunState state = RunState::restore(saved.part("run."));
    if (state.first_epoch != fresh.first_epoch)
      throw UserError(str("the checkpoint is of a fit that began after epoch ", state.first_epoch, ", this one begins after epoch ",
                          fresh.first_epoch, "; use a separate folder for each call of fit"));
    if (state.epoch - state.first_epoch > options_.epochs)
      throw UserError(str("the checkpoint is of epoch ", state.epoch - state.first_epoch, " but FitOptions::epochs is ", options_.epochs));
    restore_parameters(found->archive);
    impl_.epoch = state.epoch;
    callbacks_ = saved.part("callback.");
    return state;
  } catch (const UserError& error) {
    throw UserError(found->path.string(), error.message());  // errors above name no place
  }
}

void Checkpoints::restore_callbacks() const {
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) try {
      options_.callbacks[i]->restore(callbacks_.part(str(i, ".")));
    } catch (const UserError& error) {
      throw UserError("checkpoint", str("was made with other callbacks (number ", i + 1, ": ", error.message(),
                                        "); use the same callbacks, or a folder of its own for this run"));
    }
}

// ---- save ----

void Checkpoints::save(const RunState& state) {
  finish();
  SavedState saved;
  saved.add("settings.", identity_.save());
  saved.add("run.", state.save());
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    SavedState of_callback;
    options_.callbacks[i]->save(of_callback);
    saved.add(callback_prefix(i), of_callback);
  }
  const std::filesystem::path path = folder_.path_of(state.step);
  runtime::Archive archive = impl_.archive(path.string());
  archive.metadata["step"] = std::to_string(state.step);
  RunIdentity::mark_version(archive);
  std::set<std::string> names;
  for (const runtime::NamedArray& array : archive.arrays) names.insert(array.name);
  for (const Parameter& p : trainer_.parameters())  // also those that no graph uses at present
    if (names.insert(p.name()).second) archive.arrays.push_back(to_array(p.name(), Tensor(p.type(), p.cell()->buffer)));
  append(archive, saved);
  pending_ = std::async(std::launch::async, [this, step = state.step, archive = std::move(archive)]() mutable {
    const runtime::Archive written = std::move(archive);  // its memory is freed when it is written, not with the next checkpoint
    folder_.write(step, written, options_.checkpoint.keep);
  });
}

void Checkpoints::finish() {
  if (!pending_.valid()) return;
  try {
    pending_.get();
  } catch (const UserError& error) {
    if (options_.checkpoint.on_write_error == OnWriteError::fail) throw;
    warn(str("this checkpoint is skipped, training continues: ", error.what()));
  }
}

}  // namespace sinter
