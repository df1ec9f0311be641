// The inside of Trainer, for the files that implement it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/compile/step_times.h"
#include "frontend/train/results.h"
#include "frontend/train/trainer.h"
#include "runtime/file/container.h"

namespace sinter {

/// Those of a trainer's step.
inline StepOptions step_options(const TrainerOptions& of, std::string name, std::vector<InputKind> kinds = {}) {
  return {.name = std::move(name),
          .mode = of.mode,
          .threads = of.threads,
          .force = of.force,
          .kinds = std::move(kinds),
          .log = of.log,
          .without = of.without};
}

/// Of the data of a Trainer; no dimension of an array is a length.
inline bool is_of_sequences(const Type& type) { return type.shape.rank() > 1 && type.shape[1].is_length(); }

struct Trainer::Impl {
  static constexpr std::int64_t default_block = 1024;  ///< samples that evaluate and predict take at a time
  TrainerOptions options;
  std::vector<NamedMetric> metrics;
  std::shared_ptr<StepCore> train, evaluate, predict, predict_floats;
  // train, evaluate: what BatchInputs gives -> as ResultLayout says; predict: what prediction_inputs() gives -> outputs; predict_floats: x ->
  // outputs, for predict_one, where x has u8 features and a single sample has floats
  Parameter learning_rate;
  std::vector<Parameter> loaded;      ///< all states, when loaded from a file
  std::shared_ptr<nn::Module> model;  ///< null when loaded from a file
  std::shared_ptr<optim::Optimizer> optimizer;
  std::optional<Losses> losses;                 ///< none when loaded from a file
  std::map<std::string, std::string> metadata;  ///< the user's
  std::optional<data::Vocabulary> vocabulary;   ///< that of the metadata, as soon as it was read
  std::int64_t epoch = 0;
  bool weighted = false;  ///< a step has had weights: all later ones have
  bool stopped = false;
  bool outputs_are_judged = false;                               ///< by warn_of_outputs()
  std::vector<std::string> value_prefixes = {"val_", "train_"};  ///< of the names of values of sets that the last fit evaluates
  bool returns_predictions = false;                              ///< whether train and evaluate do, for metrics
  float scale = 1.0f;                                            ///< of u8 features
  /// Of the data seen first, leading dimension aside; empty before. Those of sequences have T for their lengths.
  std::vector<Type> x_types, y_types;
  std::vector<bool> x_are_sequences;  ///< of each x, as soon as any data was seen, also by predict
  std::vector<bool> are_masked;       ///< of each output, see OutputTypes
  ResultLayout layout;                ///< known with them
  Tensor rows;                        ///< 0, 1, 2, … for unshuffled batches
  StepTimes* times = nullptr;         ///< while profile() runs: where training steps spend their time
  /// While averages are in place of parameters: the statistics of batch normalization that belong to the parameters, and whether those of the
  /// averages are still to be computed.
  std::vector<std::pair<Parameter, Tensor>> own_statistics;
  bool statistics_are_stale = false;

  /// Fixes the types at the first data and checks all further data against them.
  void accept(const Dataset& data, const char* where);
  /// Features as the model takes them: u8 ones scaled.
  Tensor as_feature(const Tensor& x) const;
  /// x as the model takes it: arrays as sequences of one length, where the first data had sequences. Throws UserError unless they are of as many
  /// and have the element types of the features seen first, if there were any.
  Columns taken_as_features(const Columns& x, const char* where);
  /// Throws UserError unless a batch of so many samples may be trained on: see TrainerOptions::fixed_batch.
  void require_batch(std::int64_t samples, const char* where) const;
  /// Throws UserError for data without a whole batch, where there are only whole ones.
  void require_whole_batch(const Dataset& data, const char* where) const;
  /// Before the first step on this data: throws UserError if the memory of a step on so many samples is more than this process can have, and warns if
  /// it is more than 80 % of what it could get now. Of what was found to fit once, nothing is asked again.
  void require_memory(const Piece& piece, std::int64_t samples);
  struct Fits {
    std::size_t compiles = 0;  ///< of the step for which it was asked
    std::int64_t samples = 0, bytes = 0;
  } fits;
  /// Row numbers first, first + 1, … as i32 [count].
  static Tensor row_numbers(std::int64_t first, std::int64_t count);
  /// Throws UserError before any data.
  void require_known(const char* where) const;
  std::vector<Spec> table_specs() const;
  /// How many inputs a training step has besides weights.
  std::size_t unweighted_inputs() const;
  std::vector<Spec> predict_specs() const;
  bool takes_sequences() const;
  bool has_byte_features() const { return x_types.size() == 1 && x_types[0].dtype == DType::u8 && !takes_sequences(); }
  /// What predict_floats takes.
  Spec float_spec() const { return {{DType::f32, x_types[0].shape.with(0, Dim::batch())}, InputKind::batch}; }
  /// The weights that a step on this data takes: ones, if it takes any and there are none.
  Tensor step_weights(const Dataset& data, const Tensor& weights);
  /// Warns, once, if statistics_are_stale.
  void warn_of_statistics(const char* where);
  /// Warns, once, if a loss takes probabilities and the model's outputs for a batch of this data are none.
  void warn_of_outputs(const Dataset& data, std::int64_t batch_size);
  /// What a step of features, as `predict` is one, returns for some samples.
  static std::vector<Tensor> call_on_rows(StepCore& step, const Columns& x, std::span<const std::int32_t> samples);
  /// Which x are of sequences: `predict` takes them with masks from now on.
  void take_sequences(const Columns& x);
  /// Which inputs of `predict` are [N, T, ...].
  std::vector<std::size_t> inputs_in_steps() const;
  /// The model's outputs for what prediction_inputs() gives, and which of them have masks. Where it takes sequences, what such outputs have in steps
  /// that do not exist is 0.
  std::vector<Tensor> forward(std::span<const Tensor> in, std::vector<bool>* have_masks = nullptr) const;
  /// Whether each output of `predict` has a row for each sample of such data. What was asked last is remembered.
  bool gives_a_row_each(const Columns& x);
  struct RowEach {
    std::vector<Spec> of;
    bool is_so = false;
  } row_each;
  /// What `predict` returns for data of the known types, and what is known of its targets.
  std::vector<OutputTypes> output_types();
  /// Throws UserError if the model's forward pass reads a trainable parameter that is not the model's.
  void require_registered(const Traced& forward) const;

  /// What save() writes to the file `path`.
  runtime::Archive archive(const std::string& path);

  using NextPiece = std::function<std::optional<Piece>()>;
  /// Which pieces of a run come next.
  struct From {
    std::int64_t epoch, last_epoch;  ///< from 1, over all calls of fit
    std::int64_t piece, steps;       ///< of the epoch: the first piece, the steps before it
  };
  using Pieces = std::function<NextPiece(const From&)>;
  /// What is known of the data of a run before it begins.
  struct Extent {
    std::int64_t samples, steps;       ///< of an epoch, and of all epochs; 0 if not known
    const Dataset *data, *validation;  ///< null if a generator makes it, if there is none
    std::int64_t steps_per_pass = 0;   ///< over the data, where epochs are shorter; else 0
  };
  /// fit() over epochs whose pieces `pieces` gives.
  std::vector<EpochResult> run(Trainer& self, const Pieces& pieces, const Extent& extent, const FitOptions& options);
};

}  // namespace sinter
